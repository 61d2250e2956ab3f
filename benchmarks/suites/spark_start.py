"""What a query on Spark takes, whatever it asks, above Spark's own start."""

from __future__ import annotations

import sys

from benchmarks.candidate import (
    HEADRACE,
    AtMostAbove,
    Benchmark,
    Question,
    Ref,
    nothing,
    program,
)
from benchmarks.generate import Extent, data_file
from benchmarks.spark_server import MASTER
from benchmarks.suite import Settings, Suite

ALLOWANCE = 2.0
"""Seconds."""

BARE = f"import headrace.spark; headrace.spark.session({MASTER!r})"


def build(_settings: Settings) -> Benchmark:
    """Start Spark for one row, and for none."""
    path = data_file("narrow", Extent(1, "rows"))
    query = ("query", "--engine", "spark", "--master", MASTER)
    needed = ("pyspark", "pyarrow")
    question = Question(
        "start Spark and end",
        (
            program(
                "headrace query of one row",
                HEADRACE,
                *query,
                "$.rows().sum(latency)",
                path,
                outcome=nothing,
                modules=needed,
            ),
            program(
                "a session", sys.executable, "-c", BARE, outcome=nothing, modules=needed
            ),
        ),
    )
    ours, bare = (Ref(question.label, each.name) for each in question.candidates)
    target = AtMostAbove(ours, bare, "time", ALLOWANCE)
    return Benchmark(SUITE.name, SUITE.doc, (question,), targets=(target,))


SUITE = Suite("spark-start", "Start Spark for a query, and for nothing.", build)
