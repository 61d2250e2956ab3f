"""The append log: write, read, replay, maintain."""
