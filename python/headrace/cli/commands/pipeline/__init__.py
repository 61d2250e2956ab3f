"""The commands on pipelines: ``headrace pipeline``."""
