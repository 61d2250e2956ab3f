"""A pipeline run: inputs, jobs, the Spark session."""
