"""Streaming from a log to shards, compared with one batch job and with Spark's own stream.

All run in the session of `benchmarks.spark_server`. A query reads the current content in
batches of a fixed number of bytes, and ends. Answers are a count and a sum of hashes of all columns.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, TypeAlias

from benchmarks import spark_server
from benchmarks.candidate import AtMost, Benchmark, Candidate, Question, Ref, probe
from benchmarks.generate import DATA, MIB
from benchmarks.probe import Outcome
from benchmarks.spark_server import SparkMeter
from benchmarks.suite import Settings, Suite
from benchmarks.suites.log_write import RECORD, kept_log

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

Form: TypeAlias = Literal["lines", "columns", "job", "spark"]

NAMES: dict[Form, str] = {
    "lines": "headrace stream, lines as they are",
    "columns": "headrace stream, typed columns",
    "job": "headrace job, lines as they are",
    "spark": "readStream.json to writeStream.json",
}
RECORDS_A_SECOND = 100_000
BATCHES = 5
SCHEMA = "id long, ms long, pad string"
LINES = "_raw binary"
STREAMED = "spark-streamed"


def stream(spark: SparkSession, log: str, form: Form, batch_bytes: int) -> Outcome:
    """Copy a log into shards, and read the output afterwards."""
    folder = DATA / STREAMED
    shutil.rmtree(folder, ignore_errors=True)
    out = str(folder / "out")
    with SparkMeter() as meter:
        match form:
            case "job":
                lines = spark.read.format("headrace").schema(LINES).load(log)
                lines.write.format("headrace").mode("append").save(out)
            case "spark":
                reader = spark.readStream.schema(SCHEMA)
                run(reader.json(f"{log}/*.jsonl"), "json", out)
            case _:
                reader = spark.readStream.format("headrace")
                reader = reader.schema(LINES if form == "lines" else SCHEMA)
                reader = reader.option("maxBytesPerTrigger", batch_bytes)
                run(reader.load(log), "headrace", out)
    written = spark.read.format("headrace" if form != "spark" else "json")
    answer = reduced(written.schema(SCHEMA).load(out))
    shutil.rmtree(folder)
    return Outcome(answer, meter.figures)


def run(frame: DataFrame, kind: str, out: str) -> None:
    """Write the current content of a stream."""
    writer = frame.writeStream.format(kind)
    writer = writer.option("checkpointLocation", f"{out}-checkpoint")
    if kind == "json":
        writer = writer.option("compression", "gzip")
    writer.trigger(availableNow=True).start(out).awaitTermination()


def reduced(frame: DataFrame) -> str:
    """Make an answer of all rows of a frame, of which many are equal."""
    hashed = "CAST(xxhash64(id, ms, pad) AS DECIMAL(38, 0))"
    count, total = frame.selectExpr("count(*)", f"sum({hashed})").first()
    return f"{count} rows, {total}"


def spark_candidate(form: Form, log: Path, batch_bytes: int) -> Candidate:
    """Make a candidate that gets the session."""
    return probe(
        NAMES[form],
        spark_server.ask,
        spark_server.CORES,
        f"{__name__}:stream",
        log,
        form,
        batch_bytes,
        modules=("pyspark", "pyarrow"),
    )


def build(settings: Settings) -> Benchmark:
    """Stream a log in a few batches."""
    log = kept_log(settings.size)
    if find_spec("pyspark") is not None and find_spec("pyarrow") is not None:
        spark_server.start()
    count = settings.size // RECORD
    batch_bytes = max(settings.size // BATCHES, MIB)
    question = Question(
        f"{count:,} records from a log to shards",
        tuple(spark_candidate(form, log, batch_bytes) for form in NAMES),
        settings.size,
    )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (question,),
        targets=tuple(
            AtMost(Ref(question.label, NAMES[form]), "time", count / RECORDS_A_SECOND)
            for form in ("lines", "columns")
        ),
    )


SUITE = Suite("spark-stream", "Stream a log into shards in one Spark session.", build)
