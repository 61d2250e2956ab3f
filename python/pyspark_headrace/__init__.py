"""Lets Spark find the format "headrace" by itself.

Spark imports every top-level module called ``pyspark_*`` and takes its
`DefaultSource`. One such module that cannot be imported hides the sources of all
others, so this one imports as little as it can.
"""

from headrace.engines.spark.source.data_source import HeadraceSource as DefaultSource

__all__ = ["DefaultSource"]
