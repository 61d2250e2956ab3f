"""The demonstration that `headrace demo` runs, on sample data that it makes."""
