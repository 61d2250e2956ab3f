"""Spark sessions with the format "headrace".

    import headrace.spark

    spark = headrace.spark.session()
    spark.read.format("headrace").load("events/*.jsonl.gz").show()

PySpark is an extra, imported when one of these functions is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.spark.session.java import ensure_java
from headrace.engines.spark.session.master import chosen_master, needing_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ensure_java", "register", "session"]


def session(
    master: str | None = None, app_name: str = "headrace", **conf: object
) -> SparkSession:
    """Start a quiet Spark session with the format "headrace".

    The default master is that of the session of this process, else ``local[*,4]``: all cores of
    this machine, and four attempts for each task. A cluster is another URL. `conf` is
    settings of Spark,
    ``**{"spark.driver.memory": "4g"}``.
    """
    with needing_pyspark():
        from headrace.engines.spark.session.session import session as start
    return start(chosen_master(master), app_name, conf)


def register(spark: SparkSession) -> None:
    """Register the format "headrace" in an existing session."""
    with needing_pyspark():
        from headrace.engines.spark.session.session import register as register_format
    register_format(spark)
