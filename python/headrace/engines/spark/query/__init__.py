"""Queries whose rows are read by Spark tasks."""
