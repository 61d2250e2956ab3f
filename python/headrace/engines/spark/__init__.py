"""The Spark engine: fragments become the tasks of a Spark scan.

A Spark read passes four stages, each a module that can be tested without the
next: `options` (what was asked, as plain data), `splits` (which fragments, in
which partitions; runs once, on the driver), `batches` and `records` (a fragment's
lines, or typed rows, as Arrow; run in every task) and `source` (the classes PySpark
calls). A write passes `sink_options`, `column_lines` (Arrow as lines of JSON; runs in
every task) and `sink`.

A query passes `query` (what the driver makes of what tasks give), `jobs` (sends
tasks out, takes in their chunks) and `asking` (the rows of a fragment asked; runs
in every task). `java`, `interrupts` and `session` start Spark; nothing else here does.

Only `source`, `sink`, `session`, `totals` and `jobs` import PySpark, so that a driver
without it can still be told what is missing (`extra`).
"""
