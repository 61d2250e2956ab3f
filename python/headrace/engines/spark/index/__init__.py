"""Index builds and row counts by Spark tasks."""
