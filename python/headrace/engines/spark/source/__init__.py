"""`spark.read.format("headrace")`."""
