"""Queries whose rows Spark tasks read: strategies, task queries, joins, shuffles."""
