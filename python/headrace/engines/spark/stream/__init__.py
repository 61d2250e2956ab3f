"""`readStream` and `writeStream` with the format "headrace"."""
