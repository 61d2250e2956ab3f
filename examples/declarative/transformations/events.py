"""Rows of NDJSON files as tables of a Spark Declarative Pipeline.

Spark finds the format "headrace" by itself. Where the files are is a setting of the
pipeline (`configuration` in spark-pipeline.yml), so that the same code runs anywhere.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count

spark = SparkSession.active()


@dp.materialized_view
def events() -> DataFrame:
    """Return the good rows of all files, each with its file and line."""
    return (
        spark.read.format("headrace")
        .schema("id long, level string, ms double, _file string, _line long")
        .option("mode", "DROPMALFORMED")
        .load(spark.conf.get("events.path"))
    )


@dp.materialized_view
def levels() -> DataFrame:
    """Count the events of each level."""
    return spark.table("events").groupBy("level").agg(count("*").alias("events"))
