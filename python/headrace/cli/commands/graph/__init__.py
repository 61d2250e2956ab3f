"""The commands on graphs: ``headrace graph``."""
