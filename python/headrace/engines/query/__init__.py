"""Runs of queries over the rows of files: scans, joins, counts, errors."""
