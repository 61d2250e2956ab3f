"""A resolved query, encoded as a program for the core."""
