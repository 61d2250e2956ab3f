"""Rows of a source by number, and the row index that finds them."""
