"""Spark jobs of our tasks: run, cancelled, followed, explained when they fail."""
