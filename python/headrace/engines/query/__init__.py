"""A query over the rows of files."""
