"""The commands on indexes: ``headrace index``."""
