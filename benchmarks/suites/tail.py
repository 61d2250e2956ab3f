"""The last rows of a file without an index."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.candidate import (
    HEADRACE,
    AtMost,
    Benchmark,
    Question,
    Ref,
    printed_rows,
    probe,
    program,
)
from benchmarks.generate import KIB, MIB, Extent, data_file
from benchmarks.probe import Meter, Outcome, digest
from benchmarks.suite import Settings, Suite

LAST = 100


def headrace_tail(path: str) -> Outcome:
    """Open, take the last rows, and stop."""
    from headrace import open as open_rows

    with Meter() as meter, open_rows(path, index=False) as rows:
        last = rows.raw.tail(LAST)
    return Outcome(digest(last), meter.figures)


def python_tail(path: str) -> Outcome:
    """Read backwards in blocks until there are enough newlines."""
    with Meter() as meter, Path(path).open("rb", buffering=0) as file:
        start, data = file.seek(0, os.SEEK_END), b""
        while start > 0 and data.count(b"\n") <= LAST:
            length = min(start, 64 * KIB)
            start = file.seek(start - length)
            data = file.read(length) + data
        last = data.removesuffix(b"\n").split(b"\n")[-LAST:]
    return Outcome(digest(last), meter.figures)


def build(settings: Settings) -> Benchmark:
    """Read the end of a very large file."""
    path = data_file("sparse", Extent(settings.large))
    ours = probe("headrace ds.tail", headrace_tail, path, modules=("headrace",))
    question = Question(
        f"last {LAST} rows of the sparse file",
        (
            ours,
            program(
                "headrace tail",
                HEADRACE,
                "tail",
                "-n",
                LAST,
                path,
                outcome=printed_rows,
            ),
            program("tail", "tail", "-n", LAST, path, outcome=printed_rows),
            probe("plain Python", python_tail, path),
        ),
    )
    target = AtMost(Ref(question.label, ours.name), "bytes_read", MIB)
    return Benchmark(SUITE.name, SUITE.doc, (question,), targets=(target,))


SUITE = Suite("tail", "Take the last rows of a very large file.", build)
