"""Indexes that the same tasks of Spark build on one core, and on two.

They run in sessions of one and of two cores, which `benchmarks.spark_server` holds. Answers have
the hash of the whole index: the bytes do not depend on who builds it.
"""

from __future__ import annotations

import hashlib
import tempfile
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from benchmarks import spark_server
from benchmarks.candidate import (
    AtLeast,
    AtMostTimes,
    Benchmark,
    Candidate,
    Question,
    Ref,
    probe,
)
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Outcome
from benchmarks.spark_server import SparkMeter
from benchmarks.suite import Settings, Suite
from benchmarks.units import bytes_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Kind: TypeAlias = Literal["keys", "compact keys", "edges"]

KINDS: tuple[Kind, ...] = ("keys", "compact keys", "edges")
TWO, ONE, HERE = "two cores", "one core", "local threads"
TASKS = 8
TIMES_AS_FAST = 1.3
STEPS = (16, 4, 1)
# Four times the rows may take this much more time: they are cut into whole tasks.
GROWTH = 4.6


def build_index(spark: SparkSession, path: str, kind: Kind, name: str) -> Outcome:
    """Build an index of a file of rows."""
    from headrace import GraphIndex, KeyIndex

    options: dict[str, object] = {}
    if name != HERE:
        most = -(-Path(path).stat().st_size // TASKS)
        options = {"engine": "spark", "master": spark.sparkContext.master}
        options["partition_bytes"] = max(most, 1)
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        file = Path(folder) / "index"
        options["index"] = file
        with SparkMeter() as meter:
            if kind == "edges":
                GraphIndex.build(path, "id", None, "latency", **options)  # type: ignore[arg-type]
            else:
                version = 2 if kind == "compact keys" else 1
                KeyIndex.build(path, "id", index_version=version, **options)  # type: ignore[arg-type]
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        written = file.stat().st_size
    return Outcome(
        f"{written} bytes, {digest}", {**meter.figures, "bytes_written": written}
    )


def spark_candidate(name: str, path: Path, kind: Kind) -> Candidate:
    """Make a candidate of the function that gets the session."""
    return probe(
        name,
        spark_server.ask,
        1 if name == ONE else spark_server.CORES,
        f"{__name__}:build_index",
        path,
        kind,
        name,
        modules=("pyspark", "pyarrow"),
    )


def building(label: str, path: Path, kind: Kind, names: tuple[str, ...]) -> Question:
    """Build the index of one file."""
    candidates = tuple(spark_candidate(name, path, kind) for name in names)
    return Question(label, candidates, path.stat().st_size)


def build(settings: Settings) -> Benchmark:
    """Build everything in two sessions."""
    if find_spec("pyspark") is not None and find_spec("pyarrow") is not None:
        spark_server.start()
        spark_server.start(cores=1)
    path = data_file("narrow", Extent(settings.size))
    size = bytes_text(settings.size)
    kinds = [
        building(f"index of {kind}, {size}", path, kind, (TWO, ONE, HERE))
        for kind in KINDS
    ]
    steps = [
        building(
            f"index of keys, {bytes_text(settings.size // share)}, as it grows",
            data_file("narrow", Extent(settings.size // share)),
            "keys",
            (TWO,),
        )
        for share in STEPS
    ]
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (*kinds, *steps),
        targets=(
            *(
                AtLeast(Ref(each.label, TWO), Ref(each.label, ONE), TIMES_AS_FAST)
                for each in kinds
            ),
            *(
                AtMostTimes(Ref(more.label, TWO), Ref(less.label, TWO), "time", GROWTH)
                for less, more in pairwise(steps)
            ),
        ),
    )


SUITE = Suite(
    "spark-index", "Build indexes in tasks of Spark, on one core and on two.", build
)
