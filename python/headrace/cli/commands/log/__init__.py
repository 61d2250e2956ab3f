"""The commands on logs: ``headrace log``."""
