"""The index of a set of shards: a directory of segments and a manifest."""
