"""Sets of shards: reading, checking and writing them."""
