"""Candidates, questions, targets and benchmarks, as plain data.

A *question* is one task on one file; all of its candidates must return the same
answer. A *candidate* is one program that solves it, always a command line:
either a tool or a probe (see `benchmarks.probe`). A *benchmark* is questions
measured together and the *targets* for their figures.

All of it is frozen data; `benchmarks.runner` does the measuring.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from benchmarks.probe import Outcome, digest, value_digest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
HEADRACE = Path(sys.executable).with_name("headrace")

# The costs of a run; less is better for all of them.
Metric: TypeAlias = Literal["time", "cpu", "peak_rss", "bytes_read", "bytes_written"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to answer a question; `outcome` reads it from stdout.

    What a program prints goes to the file `written`, if there is one; `outcome` then
    finds the answer there. `modules` are those that it or its `outcome` needs.
    """

    name: str
    argv: tuple[str, ...]
    outcome: Callable[[bytes], Outcome]
    modules: tuple[str, ...] = ()
    written: Path | None = None

    def missing(self) -> str | None:
        """Return the name of a program or module that is not installed, or None."""
        if shutil.which(self.argv[0]) is None:
            return Path(self.argv[0]).name
        absent = (module for module in self.modules if find_spec(module) is None)
        return next(absent, None)

    def shown(self) -> str:
        """Return the command line without installation paths."""
        program = Path(self.argv[0]).name
        rest = " ".join(self.argv[1:])
        return f"{program} {rest}".replace(f"{ROOT}/", "")


class Ref(NamedTuple):
    """A candidate within a benchmark: by the label of its question and its name."""

    question: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Question:
    """One task; `size` is the size of its file if candidates read all of it."""

    label: str
    candidates: tuple[Candidate, ...]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least `ratio` times the throughput of another."""

    subject: Ref
    reference: Ref
    ratio: float


@dataclass(frozen=True, slots=True)
class AtMost:
    """No more than a fixed amount."""

    subject: Ref
    metric: Metric
    limit: float


@dataclass(frozen=True, slots=True)
class AtMostAbove:
    """No more than another takes and an allowance."""

    subject: Ref
    reference: Ref
    metric: Metric
    allowance: float


@dataclass(frozen=True, slots=True)
class AtMostTimes:
    """At most `ratio` times the cost of another."""

    subject: Ref
    reference: Ref
    metric: Metric
    ratio: float


Target: TypeAlias = AtLeast | AtMost | AtMostAbove | AtMostTimes


@dataclass(frozen=True, slots=True)
class Overview:
    """A table with a row for each question and a column for each of these candidates."""

    metric: Metric
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Questions measured together; `metric` is the one to compare."""

    name: str
    doc: str
    questions: tuple[Question, ...]
    metric: Metric = "time"
    targets: tuple[Target, ...] = field(default=())
    overviews: tuple[Overview, ...] = field(default=())


def number(stdout: bytes) -> Outcome:
    """Read the answer of a program that counts, such as ``wc -l``."""
    return Outcome(int(stdout.strip().partition(b" ")[0]))


def printed_rows(stdout: bytes) -> Outcome:
    """Read the answer of a program that prints rows."""
    return Outcome(digest(stdout.removesuffix(b"\n").split(b"\n")))


def printed_values(stdout: bytes) -> Outcome:
    """Read the answer of a program that prints rows, when others print values."""
    return Outcome(value_digest(map(json.loads, stdout.splitlines())))


def nothing(_stdout: bytes) -> Outcome:
    """Read the answer of a program that is only started."""
    return Outcome("")


def from_probe(stdout: bytes) -> Outcome:
    """Read the output of `benchmarks.probe`."""
    return Outcome(**json.loads(stdout))


def program(
    name: str,
    *argv: str | int | Path,
    outcome: Callable[[bytes], Outcome] = number,
    modules: tuple[str, ...] = (),
    written: Path | None = None,
) -> Candidate:
    """Make a candidate of a command line."""
    return Candidate(name, tuple(map(str, argv)), outcome, modules, written)


def probe(
    name: str,
    function: Callable[..., Outcome],
    *arguments: object,
    modules: tuple[str, ...] = (),
) -> Candidate:
    """Make a candidate of a function; it must stand at the top of its module."""
    plain = [str(each) if isinstance(each, Path) else each for each in arguments]
    where = f"{function.__module__}:{function.__name__}"
    command = (sys.executable, "-m", "benchmarks.probe", where, json.dumps(plain))
    return Candidate(name, command, from_probe, modules)
