"""The Spark source and sink beside Spark's own reader and writer of JSON.

All run in one session, which `benchmarks.spark_server` holds. Answers are a count and a
hash of all columns of all rows, so that nothing can be left out; sums of doubles are
rounded to what any order of adding gives.
"""

from __future__ import annotations

import gzip
import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from benchmarks import spark_server
from benchmarks.candidate import (
    AtLeast,
    AtMostTimes,
    Benchmark,
    Candidate,
    Question,
    Ref,
    Target,
    probe,
)
from benchmarks.columns import COLUMNS
from benchmarks.compressed import shards_of
from benchmarks.generate import DATA, MIB, Extent, data_file
from benchmarks.probe import Outcome
from benchmarks.spark_server import SparkMeter
from benchmarks.suite import Settings, Suite
from benchmarks.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from benchmarks.columns import Type

Task: TypeAlias = Literal["rare", "sum", "full"]
Form: TypeAlias = Literal["headrace", "spark", "query"]

LABELS: dict[Task, str] = {
    "rare": "1 % of the rows, all fields",
    "sum": "sum of one field",
    "full": "all fields of all rows",
}
TIMES_AS_FAST: dict[Task, float] = {"rare": 3, "sum": 3, "full": 1}
NAMES: dict[Form, str] = {
    "headrace": "headrace source",
    "query": "headrace query",
    "spark": "spark.read.json",
}
KINDS = ("narrow", "wide")
STEPS = (16, 4, 1)
# Four times the rows may take this much more time: they are cut into whole tasks.
GROWTH = 4.6
PARTITION = 64 * MIB
WRITTEN = "spark-written"


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of rows; in 1 % of them the `field` is at least `rare`."""

    columns: Mapping[str, Type]
    field: str
    rare: float


SHAPES = {
    "narrow": Shape(COLUMNS["narrow"], "latency", 99.05),
    "wide": Shape(COLUMNS["wide"], "col_05", 990_000_000),
}


def number_text(value: float) -> str:
    """Round so that sums of doubles agree in any order."""
    return f"{value:.6g}"


def spark_type(kind: Type) -> str:
    """Write a type as Spark does."""
    match kind:
        case str():
            names = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN"}
            return names.get(kind, "STRING")
        case list():
            return f"ARRAY<{spark_type(kind[0])}>"
        case _:
            fields = (f"`{key}`: {spark_type(of)}" for key, of in kind.items())
            return f"STRUCT<{', '.join(fields)}>"


def schema_of(shape: Shape, task: Task) -> str:
    """Return the columns that a task needs."""
    wanted = [shape.field] if task == "sum" else list(shape.columns)
    return ", ".join(f"`{name}` {spark_type(shape.columns[name])}" for name in wanted)


def frame_of(
    spark: SparkSession, path: str, shape: Shape, task: Task, form: Form
) -> DataFrame:
    """Read a file with the fastest settings of each reader."""
    schema = schema_of(shape, task)
    if form == "spark":
        frame = spark.read.schema(schema).json(path)
        return (
            frame.filter(f"{shape.field} >= {shape.rare}D") if task == "rare" else frame
        )
    reader = spark.read.format("headrace").schema(schema)
    if task == "rare":
        reader = reader.option("where", f"{shape.field} >= {shape.rare}")
    return reader.load(path)


def reduced(frame: DataFrame, task: Task, field: str) -> str:
    """Make an answer of all rows of a frame."""
    if task == "sum":
        (total,) = frame.selectExpr(f"sum({field})").first()
        return number_text(total)
    columns = ", ".join(f"`{name}`" for name in frame.columns)
    count, mixed = frame.selectExpr("count(*)", f"bit_xor(xxhash64({columns}))").first()
    return f"{count} rows, {mixed or 0:x}"


def read(spark: SparkSession, path: str, kind: str, task: Task, form: Form) -> Outcome:
    """Go through a file."""
    shape = SHAPES[kind]
    with SparkMeter() as meter:
        if form == "query":
            answer = query_sum(path, shape)
        else:
            answer = reduced(
                frame_of(spark, path, shape, task, form), task, shape.field
            )
    return Outcome(answer, meter.figures)


def query_sum(path: str, shape: Shape) -> str:
    """Run a query with Spark tasks."""
    from headrace import open as open_rows

    with open_rows(path, index=False) as rows:
        result = rows.query(
            f"$.rows().sum({shape.field})", engine="spark", master=spark_server.master()
        )
        (total,) = result.to_list()
    return number_text(total)


def write(spark: SparkSession, table: str, form: Form, codec: str) -> Outcome:
    """Write the rows of a table as compressed JSON; what was written is read afterwards."""
    folder = DATA / WRITTEN
    shutil.rmtree(folder, ignore_errors=True)
    frame = spark.read.parquet(table)
    with SparkMeter() as meter:
        if form == "spark":
            frame.write.option("compression", codec).json(str(folder))
        else:
            writer = frame.write.format("headrace").mode("append")
            writer.option("codec", codec).save(str(folder))
    found = frame_of(spark, str(folder), SHAPES["narrow"], "full", form)
    answer = reduced(found, "full", "")
    written = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    shutil.rmtree(folder)
    return Outcome(answer, {**meter.figures, "bytes_written": written})


def make_table(spark: SparkSession, path: str, table: str) -> Outcome:
    """Keep rows as Parquet, so that reading them is the least part of writing them."""
    schema = schema_of(SHAPES["narrow"], "full")
    frame = spark.read.format("headrace").schema(schema).load(path)
    frame.write.mode("overwrite").parquet(table)
    return Outcome("")


def spark_candidate(
    name: str, function: str, *arguments: str | int | Path
) -> Candidate:
    """Make a candidate of a function of this module that gets the session."""
    where = f"{__name__}:{function}"
    return probe(
        name,
        spark_server.ask,
        spark_server.CORES,
        where,
        *arguments,
        modules=("pyspark", "pyarrow"),
    )


def reading(label: str, path: Path, kind: str, task: Task, *, query: bool) -> Question:
    """Read one file."""
    forms: list[Form] = ["headrace", *(["query"] if query else []), "spark"]  # type: ignore[list-item]
    return Question(
        label,
        tuple(
            spark_candidate(NAMES[form], "read", path, kind, task, form)
            for form in forms
        ),
        path.stat().st_size,
    )


def gzipped(path: Path) -> Path:
    """Compress a file as one stream."""
    packed = path.with_name(f"{path.name}.gz")
    if not packed.exists():
        unfinished = packed.with_suffix(".unfinished")
        with path.open("rb") as plain, gzip.open(unfinished, "wb", 6) as file:
            shutil.copyfileobj(plain, file, MIB)
        unfinished.rename(packed)
    return packed


def splitting(path: Path) -> Question:
    """Read a set of shards, and the same rows as one file that cannot be split."""
    one, shards = gzipped(path), shards_of(path, "zstd")
    return Question(
        "sum of one field, compressed narrow rows",
        (
            spark_candidate(
                "headrace, zstd shards", "read", shards, "narrow", "sum", "headrace"
            ),
            spark_candidate(
                "headrace, one .gz", "read", one, "narrow", "sum", "headrace"
            ),
            spark_candidate(
                "spark.read.json, one .gz", "read", one, "narrow", "sum", "spark"
            ),
        ),
        path.stat().st_size,
    )


def writing(path: Path) -> Question:
    """Write what a table holds."""
    table = path.with_suffix(".parquet")
    return Question(
        "write narrow rows",
        (
            spark_candidate("headrace, gzip", "write", table, "headrace", "gzip"),
            spark_candidate("headrace, zstd", "write", table, "headrace", "zstd"),
            spark_candidate("df.write.json, gzip", "write", table, "spark", "gzip"),
        ),
        path.stat().st_size,
    )


def tasks_text(count: int) -> str:
    """Return the number of headrace's tasks."""
    return "1 task" if count == 1 else f"{count} tasks"


def growth(size: int) -> list[Question]:
    """Read files with a sixteenth, a quarter and all of the rows."""
    questions = []
    for share in STEPS:
        path = data_file("narrow", Extent(size // share))
        tasks = -(-path.stat().st_size // PARTITION)
        label = f"sum of one field, {bytes_text(size // share)}, {tasks_text(tasks)}"
        questions.append(reading(label, path, "narrow", "sum", query=True))
    return questions


def prepare(path: Path) -> None:
    """Make the table in the Spark server."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        return  # the candidates are left out
    spark_server.start()
    table = path.with_suffix(".parquet")
    if not (table / "_SUCCESS").exists():
        where = f"{__name__}:make_table"
        spark_server.ask(spark_server.CORES, where, str(path), str(table))


def targets(questions: dict[tuple[str, Task], Question]) -> list[Target]:
    """Require a multiple of the speed of Spark's own reader."""
    return [
        AtLeast(
            Ref(question.label, NAMES["headrace"]),
            Ref(question.label, NAMES["spark"]),
            TIMES_AS_FAST[task],
        )
        for (_kind, task), question in questions.items()
    ]


def build(settings: Settings) -> Benchmark:
    """Run all candidates in one session."""
    narrow = data_file("narrow", Extent(settings.size))
    prepare(narrow)
    tiny = data_file("narrow", Extent(1, "rows"))
    fixed = reading("sum of one field of one row", tiny, "narrow", "sum", query=True)
    read_all: dict[tuple[str, Task], Question] = {}
    for kind in KINDS:
        path = data_file(kind, Extent(settings.size))
        for task, label in LABELS.items():
            read_all[kind, task] = reading(
                f"{label}, {kind} rows", path, kind, task, query=task == "sum"
            )
    packed, written, steps = splitting(narrow), writing(narrow), growth(settings.size)
    ours, whole, theirs = (Ref(packed.label, each.name) for each in packed.candidates)
    sink, _zstd, own = (Ref(written.label, each.name) for each in written.candidates)
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (fixed, *read_all.values(), packed, written, *steps),
        targets=(
            *targets(read_all),
            AtLeast(ours, whole, 1.4),
            AtLeast(ours, theirs, 1.4),
            AtLeast(sink, own, 1),
            *(
                AtMostTimes(
                    Ref(more.label, NAMES["headrace"]),
                    Ref(less.label, NAMES["headrace"]),
                    "time",
                    GROWTH,
                )
                for less, more in pairwise(steps)
            ),
        ),
    )


SUITE = Suite(
    "spark", "Read and write in one Spark session, beside Spark's own JSON.", build
)
