"""Checks and statistics of a log."""
