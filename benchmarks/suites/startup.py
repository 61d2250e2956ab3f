"""The time that headrace takes to start."""

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
from benchmarks.suite import Settings, Suite


def build(_settings: Settings) -> Benchmark:
    """Start everything that should start quickly."""
    question = Question(
        "start and end",
        (
            program("headrace --version", HEADRACE, "--version", outcome=nothing),
            program("python -c pass", sys.executable, "-c", "pass", outcome=nothing),
            program("headrace --help", HEADRACE, "--help", outcome=nothing),
            program(
                "from headrace import open",
                sys.executable,
                "-c",
                "from headrace import open",
                outcome=nothing,
            ),
        ),
    )
    version, python = (
        Ref(question.label, each.name) for each in question.candidates[:2]
    )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (question,),
        metric="cpu",
        targets=(AtMostAbove(version, python, "cpu", 0.03),),
    )


SUITE = Suite("startup", "Start, say the version, end; CPU time.", build)
