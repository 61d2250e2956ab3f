"""Measuring candidates: first whether they agree, then how long they take.

The only place where a candidate is started. A *round* runs every candidate of
a benchmark once, in order, so that whatever disturbs the machine disturbs all
of them alike, and the runs of one round can be compared with each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING

from benchmarks.candidate import ROOT, Benchmark, Candidate, Question, Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    from benchmarks.probe import Answer, Outcome

LAUNCH = Path(__file__).with_name("launch.py")
# Compiled modules are kept, as they are for a user: otherwise every start would compile them.
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": ""}


class BenchmarkError(Exception):
    """The measurement cannot continue; the text has the reason."""


class CandidateFailedError(BenchmarkError):
    """A candidate failed to answer."""

    def __init__(self, name: str, code: int, stderr: str) -> None:
        super().__init__(name, code, stderr)
        self.name = name
        self.code = code
        self.stderr = stderr

    def __str__(self) -> str:
        how = Signals(-self.code).name if self.code < 0 else f"exit code {self.code}"
        return f"{self.name}: ended with {how}\n{self.stderr.strip()}"


class DisagreementError(BenchmarkError):
    """Two candidates, or two runs of one, gave different answers."""

    def __init__(self, question: str, answers: Mapping[str, Answer]) -> None:
        super().__init__(question, answers)
        self.question = question
        self.answers = answers

    def __str__(self) -> str:
        lines = [f"  {name}: {answer}" for name, answer in self.answers.items()]
        return "\n".join(
            [f"{self.question}: the answers differ, so nothing is compared", *lines]
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one candidate.

    `figures` holds every metric known of it. `floor` is the memory below which
    a peak cannot be distinguished from any other.
    """

    answer: Answer
    figures: Mapping[str, float]
    floor: int


@dataclass(frozen=True, slots=True)
class Result:
    """All timed runs of a benchmark, one per round, and the candidates that were left out."""

    benchmark: Benchmark
    runs: Mapping[Ref, tuple[Run, ...]]
    left_out: Mapping[Ref, str]


def run_once(candidate: Candidate) -> Run:
    """Run a candidate in a separate process.

    Figures from a probe replace those of its process: its time is then without
    the start of the interpreter, and that is what is compared.
    """
    reading, writing = os.pipe()
    with ExitStack() as opened:
        report = opened.enter_context(os.fdopen(reading, "rb"))
        stdout: int | BinaryIO = subprocess.PIPE
        if candidate.written is not None:
            stdout = opened.enter_context(candidate.written.open("wb"))
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", LAUNCH, str(writing), *candidate.argv],
                check=False,
                cwd=ROOT,
                env=os.environ | ENVIRONMENT,
                pass_fds=[writing],
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
            )
        finally:
            os.close(writing)
        line = report.read()
    stderr = done.stderr.decode(errors="replace")
    if not line:
        raise CandidateFailedError(candidate.name, done.returncode, stderr)
    record: dict[str, float | None] = json.loads(line)
    code, floor = int(record.pop("exit") or 0), int(record.pop("floor") or 0)
    if code != 0:
        raise CandidateFailedError(candidate.name, code, stderr)
    try:
        outcome: Outcome = candidate.outcome(done.stdout or b"")
    except ValueError as error:
        raise CandidateFailedError(
            candidate.name, code, f"{error}\n{stderr}"
        ) from error
    figures = {metric: value for metric, value in record.items() if value is not None}
    return Run(outcome.answer, figures | dict(outcome.figures), floor)


def first_answers(
    question: Question, present: list[Candidate], say: Callable[[str], None]
) -> dict[str, Answer]:
    """Run every candidate once, which also warms the caches; raise if answers differ."""
    answers: dict[str, Answer] = {}
    for candidate in present:
        say(f"{question.label}: asking {candidate.name}")
        answers[candidate.name] = run_once(candidate).answer
    if len(set(answers.values())) > 1:
        raise DisagreementError(question.label, answers)
    return answers


def run(
    benchmark: Benchmark, rounds: int, say: Callable[[str], None] = lambda _line: None
) -> Result:
    """Measure a benchmark.

    Nothing is timed before all questions have one answer each, and a run that
    gives another one later ends the measuring.
    """
    left_out: dict[Ref, str] = {}
    present: dict[Ref, Candidate] = {}
    answers: dict[Ref, Answer] = {}
    for question in benchmark.questions:
        measured = []
        for candidate in question.candidates:
            ref = Ref(question.label, candidate.name)
            if (absent := candidate.missing()) is None:
                present[ref] = candidate
                measured.append(candidate)
            else:
                left_out[ref] = absent
        for name, answer in first_answers(question, measured, say).items():
            answers[Ref(question.label, name)] = answer

    runs: dict[Ref, list[Run]] = {ref: [] for ref in present}
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        for ref, candidate in present.items():
            timed = run_once(candidate)
            if timed.answer != answers[ref]:
                before = {"the first run": answers[ref], "a later one": timed.answer}
                raise DisagreementError(f"{ref.question}, {ref.candidate}", before)
            runs[ref].append(timed)
    return Result(benchmark, {ref: tuple(each) for ref, each in runs.items()}, left_out)
