"""A quick start of Spark's Python: compiled modules, and workers that share their imports.

Python imports this module when it starts, if this directory is in PYTHONPATH. It does two
things that would take longer in the tests than most of their tasks:

Spark puts archives with the sources of PySpark first in the path. Python would compile the
sources in each process, and read the lists of the archives again in each worker. Without them,
it finds the installed PySpark, compiled.

A daemon of Spark imports nothing before it forks, and each worker would import the same
modules. Here the daemon imports them once.
"""

import gc
import sys
from importlib import import_module

_ARCHIVES = ("/pyspark.zip", "-src.zip", ".jar")

_WRITING = (
    "headrace.engines.spark.sink.arrow_to_json",
    "headrace.engines.spark.sink.writer",
    "headrace.store.shards.write.set_writer",
)
_MODULES = {
    "pyspark.worker": (
        "pandas",
        "pyarrow.pandas_compat",
        "pyspark.sql.streaming.datasource",
        # Of functions that are sent with the name of their module.
        "pytest",
        "headrace.engines.spark.graph.edge_jobs",
        "headrace.engines.spark.index.set_segments",
        "headrace.engines.spark.query.launch",
        "headrace.engines.spark.source.record_batches",
        *_WRITING,
    ),
    "pyspark.sql.worker.commit_data_source_write": _WRITING[1:],
    "pyspark.sql.worker.plan_data_source_read": (
        "headrace.engines.spark.source.partitions",
    ),
    "pyspark.sql.worker.python_streaming_sink_runner": _WRITING,
    "pyspark.sql.worker.write_into_data_source": _WRITING,
}


def import_modules(worker):
    """Import the modules that the workers of a daemon need, before it forks."""
    for name in (
        worker,
        "headrace.engines.spark.source.data_source",
        "headrace.kernel.version",
        *_MODULES.get(worker, ()),
    ):
        import_module(name)
    # A worker collects garbage after each task: not among these modules.
    gc.collect()
    gc.freeze()


for place in [each for each in sys.path if each.endswith(_ARCHIVES)]:
    sys.path.remove(place)
    sys.path_importer_cache.pop(place, None)
if "pyspark.daemon" in sys.orig_argv:
    import_modules(sys.orig_argv[-1])
