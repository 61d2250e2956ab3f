"""The demonstration: a sample read in several ways, whose answers must agree.

Each part is a *step*: a command, its output, and the checks that must hold. The caller shows
steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.api.open import open as open_dataset
from headrace.demo.sample import MAX_LINE, ODD_LINES, Sample, SampleFile
from headrace.pipeline.report.report import Report, accounts
from headrace.pipeline.spec import Pipeline
from headrace.store.files.atomic import write_atomically
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


_SHOWN_CHARACTERS = 60
_SHOWN_BAD_LINES = 3
_SPLITS = 8

_PIPELINE = f"""\
# The same events twice, plain and compressed: checked, joined, deduped, sorted, sharded.
name = "events"
directory = "pipeline"

[source]
paths = ["events.jsonl", "events.jsonl.gz"]
max_line = {MAX_LINE}
partition_bytes = "1MiB"

[names]
customers = "customers.jsonl"

[[stage]]
kind = "validate"
required = ["id", "time"]
types = {{ time = "timestamp", ms = "number", device = "object" }}
rules = ["ms >= 0"]

[[stage]]
kind = "transform"
query = "{{id, time, level, customer_id, action, ms, os: device.os}}"

[[stage]]
kind = "join"
with = "customers"
on = "customer_id"
how = "lookup"

[[stage]]
kind = "dedupe"
key = "id"

[[stage]]
kind = "sort"
by = "time"

[output]
max_bytes = "1MiB"
partition_by = "level"
"""


@dataclass(frozen=True, slots=True)
class Check:
    """Two numbers that must be the same."""

    claim: str
    found: int
    expected: int

    @property
    def holds(self) -> bool:
        """Whether they are the same."""
        return self.found == self.expected


@dataclass(frozen=True, slots=True)
class Step:
    """One part of the demonstration."""

    title: str
    shown: tuple[str, ...]
    checks: tuple[Check, ...] = ()


def local_steps(sample: Sample) -> Iterator[Step]:
    """Show the files that were written, and read them through a `Dataset`."""
    yield Step(
        f"sample data in {sample.events.path.parent}",
        tuple(
            f"{file.path.name:<16}{file.lines:>10,} lines"
            f"{format_size(file.path.stat().st_size):>12}"
            for file in sample.files
        ),
    )
    for file in (sample.events, sample.events_gzip):
        yield _rows(file)
        yield _kinds(file)


def spark_steps(sample: Sample, spark: SparkSession) -> Iterator[Step]:
    """Read the events with Spark, in several splits if they are seekable."""
    from pyspark.sql import functions

    from headrace.engines.spark.source.data_source import HeadraceSource

    for file in (sample.events, sample.events_gzip):
        size = file.path.stat().st_size
        lines = (
            spark.read.format(HeadraceSource.name())
            .option("maxPartitionBytes", size // _SPLITS + 1)
            .option("maxLineBytes", MAX_LINE)
            .load(str(file.path.absolute()))
        )
        count, distinct, too_long, content_bytes = lines.select(
            functions.count("*"),
            functions.count_distinct("_file", "_row"),
            functions.count_if(functions.isnull("_raw")),
            functions.sum(functions.octet_length("_raw")),
        ).first()
        yield Step(
            f"{file.path.name} with Spark",
            (f"{count:,} lines, splits: {lines.rdd.getNumPartitions()}",),
            (
                Check("lines Spark found", count, file.lines),
                Check("different (_file, _row)", distinct, file.lines),
                Check("too long, so _raw is null", too_long, file.too_long),
                Check("bytes in _raw", content_bytes, file.content_bytes),
            ),
        )


def pipeline_steps(sample: Sample, spark: SparkSession) -> Iterator[Step]:
    """Run a pipeline over the events twice, and read its output."""
    directory = sample.events.path.parent
    path = directory / "events.toml"
    write_atomically(path, [_PIPELINE.encode()])
    pipeline = Pipeline.from_toml(path)
    yield Step(
        f"headrace pipeline explain {path}", tuple(pipeline.explain().split("\n"))
    )
    report = pipeline.run(spark=spark)
    yield Step(
        f"headrace pipeline run {path}",
        tuple(accounts(report).split("\n")),
        tuple(_accounted(sample, report)),
    )
    again = pipeline.run(spark=spark)
    yield Step(
        "the same again",
        tuple(f"{each.title}: {each.status}" for each in again.passes),
        (
            Check(
                "passes that had to be run", sum(each.jobs for each in again.passes), 0
            ),
        ),
    )
    result = directory / pipeline.directory / "result"
    yield _made(result)
    yield _same_answers(result, str(spark.conf.get("spark.master")))


def _accounted(sample: Sample, report: Report) -> Iterator[Check]:
    """Compare the counts of a run with what was written."""
    files = (sample.events, sample.events_gzip)
    # Odd lines that are JSON, but not events.
    others = sum(line.kind == "record" for line in ODD_LINES.values())
    bad = sum(file.bad + file.too_long + others for file in files)
    counts = {
        name: count for one in report.passes for name, count in one.in_all.items()
    }
    first = counts["validate"]
    yield Check("lines read", first.read, sum(file.lines for file in files))
    yield Check("blank lines", first.blank, sum(file.blank for file in files))
    yield Check("lines rejected", report.quarantine.rows, bad)
    events = sample.events.records - others
    yield Check("events that were there twice", counts["dedupe"].filtered, events)
    yield Check("events in the result", report.result.rows, events)
    yield Check("reports that add up", int(report.adds_up), 1)


def _made(result: Path) -> Step:
    with open_dataset(result, raw=True) as dataset:
        middle = len(dataset) * 2 // 3
        return Step(
            f"rows of {result}",
            (
                f"head       {_shown(dataset.head(1)[0])}",
                f"row {middle:<6} {_shown(dataset[middle])}",
            ),
        )


def _same_answers(result: Path, master: str) -> Step:
    query = '$.rows().filter(level == "error").count_by(country)'
    with open_dataset(result) as dataset:
        here = dataset.query(query).to_list()
        there = dataset.query(query, engine="spark", master=master).to_list()
    equal = Check("answers of both engines that are equal", int(here == there), 1)
    shown = (f"here      {here[0]}", f"on Spark  {there[0]}")
    return Step(f"headrace query '{query}' {result}", shown, (equal,))


def _rows(file: SampleFile) -> Step:
    middle = file.lines * 2 // 3
    with open_dataset(file.path, raw=True, max_line=MAX_LINE) as dataset:
        count = dataset.count()
        return Step(
            f"rows of {file.path.name}",
            (
                f"count      {count:,}",
                f"head       {_shown(dataset.head(1)[0])}",
                f"row {middle:<6} {_shown(dataset[middle])}",
                f"tail       {_shown(dataset.tail(1)[0])}",
            ),
            (Check("lines counted", count, file.lines),),
        )


def _kinds(file: SampleFile) -> Step:
    with open_dataset(file.path, max_line=MAX_LINE) as dataset:
        stats = dataset.stats()
    together = stats.records + stats.blank + stats.bad + stats.too_long
    return Step(
        f"lines of {file.path.name}",
        (
            f"{stats.lines:,} lines = {stats.records:,} records + {stats.blank} blank"
            f" + {stats.bad} bad + {stats.too_long} too long",
            *(
                f"line {bad.line:,}, byte {bad.offset:,}: {bad.reason}"
                for bad in stats.first_bad[:_SHOWN_BAD_LINES]
            ),
        ),
        (
            Check("records + blank + bad + too long", together, stats.lines),
            Check("records", stats.records, file.records),
            Check("blank lines", stats.blank, file.blank),
            Check("bad lines", stats.bad, file.bad),
            Check("lines that are too long", stats.too_long, file.too_long),
        ),
    )


def _shown(row: bytes | None) -> str:
    text = (row or b"").decode(errors="replace")
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
