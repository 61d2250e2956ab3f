"""Spark shuffles of rows by key, and what tasks do before and after."""
