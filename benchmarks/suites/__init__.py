"""One module for each suite; `benchmarks.table` lists them."""
