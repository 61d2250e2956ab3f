"""The commands on sets of shards: ``headrace shard``."""
