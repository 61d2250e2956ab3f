"""Key indexes of whole sets of shards, on disk: docs/formats/set-index.md."""
