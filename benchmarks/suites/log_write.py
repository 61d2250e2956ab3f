"""Appending to a log: the cost of a commit beyond its bytes and its sync, and index repair.

Records have 200 bytes with their newline. Every log is a new one, which is removed again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.candidate import AtMost, AtMostTimes, Benchmark, Question, Ref, probe
from benchmarks.generate import DATA
from benchmarks.probe import Meter, Outcome
from benchmarks.suite import Settings, Suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace import LogWriter

RECORD = 200
COMMIT = 1000
COMMITS = 100
"""The number of timed calls of each kind."""

BY_HAND = "write and fdatasync"
COMMIT_RATIO = 2
RECORDS_A_SECOND = 500_000
REBUILT_A_SECOND = 500_000_000


def records(count: int) -> list[bytes]:
    """Make records that are not all the same; each has its number and a time."""
    made = []
    for number in range(count):
        head = b'{"id":%d,"ms":%d,"pad":"' % (number, 1_700_000_000_000 + number)
        made.append(head.ljust(RECORD - 3, b"x") + b'"}')
    return made


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a directory on the disk that the other data lies on."""
    DATA.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as directory:
        yield Path(directory)


def new_log(directory: Path, durability: str) -> LogWriter:
    """Begin a log of one segment."""
    from headrace import LogWriter

    return LogWriter(directory / "log", durability=durability, rotate_bytes=None)  # type: ignore[arg-type]


def size_of(directory: Path) -> int:
    """Add up the data in a log, without its indexes."""
    return sum(file.stat().st_size for file in (directory / "log").glob("*.jsonl"))


def headrace_commits(durability: str, commits: int) -> Outcome:
    """Give the median time of a commit."""
    batch, taken = records(COMMIT), []
    with scratch() as directory:
        with new_log(directory, durability) as writer:
            for _ in range(commits):
                began = time.perf_counter()
                writer.append_many(batch)
                taken.append(time.perf_counter() - began)
        return Outcome(size_of(directory), {"time": median(taken)})


def plain_commits(commits: int) -> Outcome:
    """Write the same bytes behind each other, with a sync for each batch."""
    data, taken = b"".join(line + b"\n" for line in records(COMMIT)), []
    with scratch() as directory:
        (directory / "log").mkdir()
        path = directory / "log" / "0.jsonl"
        with path.open("wb", buffering=0) as file:
            for _ in range(commits):
                began = time.perf_counter()
                file.write(data)
                os.fdatasync(file.fileno())
                taken.append(time.perf_counter() - began)
        return Outcome(size_of(directory), {"time": median(taken)})


def headrace_many(count: int) -> Outcome:
    """Append records that are there, without a sync."""
    given = records(count)
    with scratch() as directory:
        with new_log(directory, "os") as writer, Meter() as meter:
            writer.append_many(given)
        return Outcome(size_of(directory), meter.figures)


def plain_many(count: int) -> Outcome:
    """Write the same lines to a file."""
    given = records(count)
    with scratch() as directory:
        (directory / "log").mkdir()
        path = directory / "log" / "0.jsonl"
        with path.open("wb") as file, Meter() as meter:
            file.writelines(record + b"\n" for record in given)
        return Outcome(size_of(directory), meter.figures)


def kept_log(size: int) -> Path:
    """Find or make the log of one segment with `size` bytes."""
    directory = DATA / f"log-{size}"
    if not directory.exists():
        with scratch() as making:
            batch = records(COMMIT)
            with new_log(making, "os") as writer:
                for _ in range(size // (RECORD * COMMIT)):
                    writer.append_many(batch)
            (making / "log").rename(directory)
    return directory


def rebuilt(directory: str) -> Outcome:
    """Rebuild a lost index; every line is checked."""
    from headrace import Log

    with scratch() as making:
        shutil.copytree(directory, making / "log")
        for index in (making / "log").glob("*.idx"):
            index.unlink()
        with Meter() as meter:
            Log(making / "log").recover()
        return Outcome(len(Log(making / "log")), meter.figures)


def counted(directory: str) -> Outcome:
    """Read all bytes, and count the newlines among them."""
    with Meter() as meter:
        lines = sum(
            file.read_bytes().count(b"\n") for file in Path(directory).glob("*.jsonl")
        )
    return Outcome(lines, meter.figures)


def build(settings: Settings) -> Benchmark:
    """Measure commits, bulk appends and an index repair."""
    headrace = {"modules": ("headrace",)}
    commits = Question(
        f"a commit of {COMMIT:,} records",
        (
            probe("headrace, data", headrace_commits, "data", COMMITS, **headrace),
            probe("headrace, always", headrace_commits, "always", COMMITS, **headrace),
            probe("headrace, os", headrace_commits, "os", COMMITS, **headrace),
            probe(BY_HAND, plain_commits, COMMITS),
        ),
    )
    count = settings.size // RECORD // 5
    many = Question(
        f"{count:,} records at once, not synced",
        (
            probe("headrace append_many", headrace_many, count, **headrace),
            probe("plain Python", plain_many, count),
        ),
        count * RECORD,
    )
    directory = kept_log(settings.size)
    size = settings.size // (RECORD * COMMIT) * RECORD * COMMIT
    index = Question(
        "a lost index",
        (
            probe("headrace Log.recover", rebuilt, directory, **headrace),
            probe("newlines, plain Python", counted, directory),
        ),
        size,
    )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (commits, many, index),
        targets=(
            AtMostTimes(
                Ref(commits.label, "headrace, data"),
                Ref(commits.label, BY_HAND),
                "time",
                COMMIT_RATIO,
            ),
            AtMost(
                Ref(many.label, "headrace append_many"),
                "time",
                count / RECORDS_A_SECOND,
            ),
            AtMost(
                Ref(index.label, "headrace Log.recover"),
                "time",
                size / REBUILT_A_SECOND,
            ),
        ),
    )


SUITE = Suite(
    "log-write", "Append to a log, and make its index again from the data.", build
)
