"""Rows by key, in random order: from Python, in a process with open files.

Times are medians of single calls. The stores lead to an offset; the row is read and
parsed as it is by headrace.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.candidate import AtMost, Benchmark, Question, Ref, probe
from benchmarks.generate import DATA, Extent, data_file
from benchmarks.probe import Outcome, value_digest
from benchmarks.suite import Settings, Suite
from benchmarks.suites.key_index import FIELD, LOADS, SIZE, keys_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.candidate import Candidate, Metric
    from headrace.kernel.rows import RowBatch

FEW, COLD, MANY = 3, 200, 20_000
LIMIT = 10e-6
# Cached blocks of the index, and the memory for reading.
HELD = 8 << 20


def wanted(total: int, count: int) -> list[int]:
    """Choose keys, the same for every candidate."""
    random = Random("keys")
    return [int(random.random() * total) for _ in range(count)]


def anonymous() -> int:
    """Return the anonymous memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def forget(*files: Path) -> None:
    """Drop the pages of files from the cache of the system."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def timed(
    get: Callable[[int], Any],
    total: int,
    *cold: Path,
    count: int | None = None,
    seen: Callable[[Any], object] = lambda found: found,
) -> Outcome:
    """Give the median of single calls; with `cold` files, each after forgetting them.

    `seen` makes rows of what a call gives, for the answer.
    """
    keys = wanted(total, count or MANY)
    answer = value_digest(seen(get(key)) for key in keys[:FEW])
    before, taken = anonymous(), []
    for key in keys:
        forget(*cold)
        began = time.perf_counter_ns()
        get(key)
        taken.append(time.perf_counter_ns() - began)
    figures = {"time": median(taken) / 1e9, "peak_rss": anonymous() - before}
    return Outcome(answer, figures)


def headrace_get(path: str, index: str, total: int) -> Outcome:
    """Take the values of rows."""
    from headrace import KeyIndex

    with KeyIndex(path, FIELD, index=index, require_index=True) as keys:
        return timed(keys.get, total)


def cold_get(path: str, index: str, total: int) -> Outcome:
    """Take the values of rows when nothing of the files is in memory."""
    from headrace import KeyIndex

    with KeyIndex(path, FIELD, index=index, require_index=True) as keys:
        return timed(keys.get, total, Path(path), Path(index), count=COLD)


def native_get(path: str, index: str, total: int) -> Outcome:
    """Take the lines of rows, and leave out what Python does besides."""
    from headrace.kernel.key_index import KeyIndex, request
    from headrace.kernel.rows import File
    from headrace.kernel.values import DEEPEST

    rows, keys, size = File(path), KeyIndex(index), Path(path).stat().st_size
    requests = {key: request(key, (FIELD,)) for key in wanted(total, MANY)}

    def found(key: int) -> RowBatch:
        batch, _ = keys.get(
            rows, requests[key], size=size, below=size, max_bytes=1 << 20
        )
        return batch

    return timed(found, total, seen=lambda batch: batch.values(DEEPEST)[0])


def row_at(file: int, offset: int) -> list[object]:
    """Read the row that begins at an offset."""
    line, _, _ = os.pread(file, 1024, offset).partition(b"\n")
    return [json.loads(line)]


def sqlite_get(path: str, store: str, total: int) -> Outcome:
    """Look the offset up with a prepared statement."""
    rows = os.open(path, os.O_RDONLY)
    connection = sqlite3.connect(store)

    def get(key: int) -> object:
        found = connection.execute(
            "select offset from rows where key = ?", (str(key).encode(),)
        )
        return row_at(rows, found.fetchone()[0])

    return timed(get, total)


def lmdb_get(path: str, store: str, total: int) -> Outcome:
    """Look the offset up in an open transaction; the store is mapped."""
    import lmdb

    rows = os.open(path, os.O_RDONLY)
    with (
        lmdb.open(store, subdir=False, readonly=True, lock=False) as opened,
        opened.begin() as reading,
    ):

        def get(key: int) -> object:
            found = reading.get(str(key).encode())
            return row_at(rows, int.from_bytes(found, "little"))

        return timed(get, total)


def loaded(path: Path, store: str) -> Path:
    """Load a store, unless that has been done."""
    file = DATA / f"{path.stem}.{store.lower()}"
    if not file.exists():
        new = file.with_name(f"{file.name}.new")
        new.unlink(missing_ok=True)
        LOADS[store](new, sorted(keys_of(str(path))))
        new.replace(file)
    return file


def candidates(path: Path) -> list[Candidate]:
    """Build the stores and indexes of all candidates."""
    from importlib.util import find_spec

    from headrace import KeyIndex

    with path.open("rb") as file:
        total = sum(1 for _ in file)
    made = []
    for version in (1, 2):
        index = DATA / f"{path.stem}.v{version}.jnx"
        KeyIndex.build(path, FIELD, index_version=version, index=index)
        for name, function in [
            ("", headrace_get),
            (", native part", native_get),
            (", cold", cold_get),
        ]:
            named = f"headrace version {version}{name}"
            made.append(
                probe(named, function, path, index, total, modules=("headrace",))
            )
    made.append(probe("SQLite", sqlite_get, path, loaded(path, "SQLite"), total))
    if find_spec("lmdb") is not None:
        made.append(
            probe(
                "LMDB", lmdb_get, path, loaded(path, "LMDB"), total, modules=("lmdb",)
            )
        )
    return made


def build(settings: Settings) -> Benchmark:
    """Read rows by a key that every row has."""
    path = data_file("narrow", Extent(min(settings.size, SIZE)))
    question = Question(f"one row of narrow rows by {FIELD}", tuple(candidates(path)))
    limits: dict[Metric, float] = {"time": LIMIT, "peak_rss": HELD}
    targets = [
        AtMost(Ref(question.label, f"headrace version {version}"), metric, limit)
        for version in (1, 2)
        for metric, limit in limits.items()
    ]
    return Benchmark(SUITE.name, SUITE.doc, (question,), targets=tuple(targets))


SUITE = Suite("key-get", "Take rows by the value of a field, in no order.", build)
