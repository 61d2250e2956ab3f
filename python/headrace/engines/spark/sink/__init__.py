"""`df.write.format("headrace")`."""
