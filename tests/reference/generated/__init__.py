"""Generated queries and rows that fit each other."""
