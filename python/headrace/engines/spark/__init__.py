"""The Spark engine: fragments become the tasks of a Spark scan.

A Spark read passes four stages, each a module that can be tested without the
next: `options` (what was asked, as plain data), `splits` (which fragments, in
which partitions; runs once, on the driver), `batches` and `records` (a fragment's
lines, or typed rows, as Arrow; run in every task) and `source` (the classes PySpark
calls). `java` and `session` start Spark; nothing else here does.

Only `source` and `session` import PySpark, so that a driver without it can
still be told what is missing.
"""
