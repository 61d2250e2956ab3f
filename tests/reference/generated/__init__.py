"""Queries and rows, made up so that the queries find something in the rows."""
