"""Graph expansion by Spark tasks."""
