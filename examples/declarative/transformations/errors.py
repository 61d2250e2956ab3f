"""Streams of a Spark Declarative Pipeline: files that grow, to a table and to a set of shards."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


@dp.table
def seen() -> DataFrame:
    """Return every line as it is, with where it comes from."""
    return (
        spark.readStream.format("headrace")
        .schema("_file string, _offset long, _raw binary")
        .load(spark.conf.get("events.path"))
    )


dp.create_sink("shards", "headrace", {"path": spark.conf.get("errors.path")})


@dp.append_flow(target="shards")
def errors() -> DataFrame:
    """Write the events that are errors to a set of shards, each once."""
    return (
        spark.readStream.format("headrace")
        .schema("id long, level string, ms double")
        .option("mode", "DROPMALFORMED")
        .load(spark.conf.get("events.path"))
        .where("level = 'error'")
    )
