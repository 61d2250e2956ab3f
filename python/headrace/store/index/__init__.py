"""Index files on disk, and whether they fit their source."""
