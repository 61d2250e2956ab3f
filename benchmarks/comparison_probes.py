"""The probes of the comparison: DuckDB, Polars, Spark and Headrace, each for each case.

Every probe uses the reader as its manual shows it, with the defaults; the keyword
arguments that `benchmarks.comparison` passes are the reader's own options.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from benchmarks.candidate import HEADRACE
from benchmarks.probe import Meter, Outcome
from benchmarks.spark_server import SparkMeter

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars
    from pyspark.sql import DataFrame, SparkSession

Options = dict[str, Any]


def canonical(rows: list[dict[str, object]], *fields: str) -> str:
    """Return rows as JSON that can be compared: sorted keys, chosen fields only."""
    chosen = [{f: row[f] for f in fields} if fields else row for row in rows]
    return json.dumps(chosen, sort_keys=True)


def duckdb_table(path: str, options: Options) -> str:
    """Return the SQL of a file as a table."""
    extra = "".join(f", {name}={json.dumps(value)}" for name, value in options.items())
    return f"read_ndjson('{path}'{extra})"


def duckdb_values(path: str, options: Options) -> Outcome:
    """Count the rows, and those that have a number in `ms`."""
    import duckdb

    select = f"select count(*), count(ms) from {duckdb_table(path, options)}"
    ((rows, values),) = duckdb.execute(select).fetchall()
    return Outcome(f"{rows} {values}")


def duckdb_rows(path: str, options: Options, ids: str, *fields: str) -> Outcome:
    """Read whole rows by their number."""
    import duckdb

    table = duckdb_table(path, options)
    select = f"select to_json(t) from {table} t where number in ({ids})"
    rows = [json.loads(text) for (text,) in duckdb.execute(select).fetchall()]
    return Outcome(canonical(rows, *fields))


def duckdb_sum(path: str) -> Outcome:
    """Sum one field."""
    import duckdb

    select = f"select sum(latency) from read_ndjson('{path}')"
    ((total,),) = duckdb.execute(select).fetchall()
    return Outcome(f"{total:.6g}")


def duckdb_second(path: str, first: int, second: int) -> Outcome:
    """Look one row up by its id, then another."""
    import duckdb

    connection = duckdb.connect()

    def look_up(key: int) -> str:
        select = f"select msg from read_ndjson('{path}') where id = {key}"
        return str((connection.execute(select).fetchone() or ("",))[0])

    return second_time(look_up, first, second)


def second_time(
    look_up: Callable[[int], str],
    first: int,
    second: int,
    meter: Meter | SparkMeter | None = None,
) -> Outcome:
    """Measure the second of two look-ups in one process, or one session of Spark."""
    look_up(first)
    with meter or Meter() as meter:
        found = look_up(second)
    return Outcome(found, meter.figures)


def polars_frame(path: str, options: Options) -> polars.LazyFrame:
    """Scan a file."""
    import polars

    return polars.scan_ndjson(path, **options)


def polars_values(path: str, options: Options) -> Outcome:
    """Count the rows, and those that have a number in `ms`."""
    import polars

    counted = polars_frame(path, options).select(
        polars.len(), polars.col("ms").count().alias("values")
    )
    rows, values = counted.collect().row(0)
    return Outcome(f"{rows} {values}")


def polars_rows(path: str, options: Options, ids: str, *fields: str) -> Outcome:
    """Read whole rows by their number."""
    import polars

    wanted = [int(each) for each in ids.split(",")]
    found = (
        polars_frame(path, options).filter(polars.col("number").is_in(wanted)).collect()
    )
    return Outcome(canonical(found.to_dicts(), *fields))


def polars_sum(path: str) -> Outcome:
    """Sum one field."""
    import polars

    total = polars_frame(path, {}).select(polars.col("latency").sum()).collect().item()
    return Outcome(f"{total:.6g}")


def polars_second(path: str, first: int, second: int) -> Outcome:
    """Look one row up by its id, then another."""
    import polars

    def look_up(key: int) -> str:
        frame = polars.scan_ndjson(path).filter(polars.col("id") == key)
        return str(frame.select("msg").collect().item())

    return second_time(look_up, first, second)


def spark_session() -> SparkSession:
    """Start Spark on two cores, in a session of processes that `SparkMeter` measures."""
    from pyspark.sql import SparkSession

    os.setsid()
    builder = SparkSession.builder.master("local[2]").config(
        "spark.ui.enabled", "false"
    )
    return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def spark_frame(path: str, options: Options) -> DataFrame:
    """Read a file."""
    return spark_session().read.options(**options).json(path)


def spark_values(path: str, options: Options) -> Outcome:
    """Count the rows, and those that have a number in `ms`."""
    found = spark_frame(path, options).selectExpr("count(*)", "count(ms)").collect()
    return Outcome(f"{found[0][0]} {found[0][1]}")


def spark_rows(path: str, options: Options, ids: str, *fields: str) -> Outcome:
    """Read whole rows by their number."""
    found = spark_frame(path, options).where(f"number in ({ids})").toJSON().collect()
    return Outcome(canonical([json.loads(text) for text in found], *fields))


def spark_sum(path: str) -> Outcome:
    """Sum one field."""
    spark = spark_session()
    with SparkMeter() as meter:
        total = spark.read.json(path).selectExpr("sum(latency)").collect()[0][0]
    return Outcome(f"{total:.6g}", meter.figures)


def spark_second(path: str, first: int, second: int) -> Outcome:
    """Look one row up by its id, then another, in one session."""
    spark = spark_session()
    schema = spark.read.json(path).schema

    def look_up(key: int) -> str:
        frame = spark.read.schema(schema).json(path).where(f"id = {key}")
        return str(frame.select("msg").collect()[0][0])

    return second_time(look_up, first, second, SparkMeter())


def headrace_second(path: str, first: int, second: int) -> Outcome:
    """Look one row up by its id with a query, then another."""
    import headrace

    with headrace.open(path) as dataset:

        def look_up(key: int) -> str:
            (found,) = dataset.query(f"$.rows().filter(id == {key}).map(msg)").to_list()
            return str(found)

        return second_time(look_up, first, second)


def headrace_on_spark(path: str) -> Outcome:
    """Run one query on both engines and compare the bytes."""
    query = [str(HEADRACE), "query", "$.rows().count_by(ms)", path]
    local = subprocess.check_output(query)
    spark = subprocess.check_output([*query, "--engine", "spark"])
    return Outcome("same" if local and local == spark else "different")
