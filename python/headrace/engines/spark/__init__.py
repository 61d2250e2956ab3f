"""The Spark engine: tasks read the fragments that the local engine reads in this process.

`session` starts Spark, with a Java that it finds or installs. `tasks` runs task functions as
jobs. `source`, `sink` and `stream` are the data source that PySpark calls. `query` runs
queries, `shuffle` moves rows by their keys, `index` builds indexes and `graph` follows edges.

PySpark is an optional dependency: a driver without it gets an error that says what to install
(`session.master`), so modules that import PySpark are imported when they are needed.
"""
