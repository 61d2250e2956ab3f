"""The fixed cost of a query on Spark, beyond Spark's own start."""

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
from benchmarks.spark_server import master
from benchmarks.suite import Settings, Suite

ALLOWANCE = 2.0
"""Seconds."""

BARE = f"import headrace.spark; spark = headrace.spark.session({master()!r})"
# The cost of a first job without headrace.
JOB = f"{BARE}; spark.range(3).selectExpr('sum(id)').first()"


def build(_settings: Settings) -> Benchmark:
    """Start Spark for one row, and for none."""
    path = data_file("narrow", Extent(1, "rows"))
    query = ("query", "--engine", "spark", "--master", master())
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
            *(
                program(
                    name, sys.executable, "-c", code, outcome=nothing, modules=needed
                )
                for name, code in (
                    ("a session", BARE),
                    ("a session and a job of Spark's own", JOB),
                )
            ),
        ),
    )
    ours, bare, _job = (Ref(question.label, each.name) for each in question.candidates)
    target = AtMostAbove(ours, bare, "time", ALLOWANCE)
    return Benchmark(SUITE.name, SUITE.doc, (question,), targets=(target,))


SUITE = Suite("spark-start", "Start Spark for a query, and for nothing.", build)
