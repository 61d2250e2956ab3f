"""Building a key index, compared with key-value stores that load keys and offsets.

Headrace reads the file, checks every row and takes its key. The others find all of
that ready in memory, so that only their loading is timed.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.candidate import AtLeast, AtMost, Benchmark, Question, Ref, probe
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.suite import Settings, Suite
from benchmarks.units import threads_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.candidate import Candidate

# The keys and offsets for the stores are in memory.
SIZE = 100_000_000
ROWS_PER_SECOND = 1_000_000
SCALING = 1.7
FIELD = "id"


def keys_of(path: str) -> Iterator[tuple[bytes, int]]:
    """Yield the key of each row, and where the row begins."""
    offset = 0
    with Path(path).open("rb") as file:
        for line in file:
            yield str(json.loads(line)[FIELD]).encode(), offset
            offset += len(line)


def headrace_build(path: str, version: Literal[1, 2], threads: int) -> Outcome:
    """Build an index of a version."""
    from headrace import KeyIndex

    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        file = Path(folder) / "keys.jnx"
        with Meter() as meter:
            built = KeyIndex.build(
                path, FIELD, index_version=version, threads=threads, index=file
            )
        size = file.stat().st_size
    return Outcome(built.written.records, {**meter.figures, "bytes_written": size})


def load_sqlite(file: Path, pairs: list[tuple[bytes, int]]) -> None:
    """Load a table that is its own index."""
    with sqlite3.connect(file) as store:
        store.execute(
            "create table rows(key blob primary key, offset integer) without rowid"
        )
        store.executemany("insert into rows values (?, ?)", pairs)
    store.close()


def load_lmdb(file: Path, pairs: list[tuple[bytes, int]]) -> None:
    """Load a store in the order of its keys, which is its fastest way."""
    import lmdb

    # More than there will be; the file has holes.
    size = 1 << 32
    found = ((key, offset.to_bytes(8, "little")) for key, offset in pairs)
    with (
        lmdb.open(str(file), map_size=size, subdir=False) as store,
        store.begin(write=True) as transaction,
    ):
        transaction.cursor().putmulti(found, append=True)


LOADS = {"SQLite": load_sqlite, "LMDB": load_lmdb}


def store_load(path: str, store: str) -> Outcome:
    """Load keys that are ready."""
    pairs = list(keys_of(path))
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        file = Path(folder) / "store"
        with Meter() as meter:
            LOADS[store](file, sorted(pairs))
        size = file.stat().st_blocks * 512
    return Outcome(len(pairs), {**meter.figures, "bytes_written": size})


def ours(path: Path, version: int, threads: int) -> Candidate:
    """Build with `threads` threads."""
    name = f"headrace version {version}, {threads_text(threads)}"
    return probe(name, headrace_build, path, version, threads, modules=("headrace",))


def build(settings: Settings) -> Benchmark:
    """Build both versions, with one thread and with two."""
    path = data_file("narrow", Extent(min(settings.size, SIZE)))
    with path.open("rb") as file:
        rows = sum(1 for _ in file)
    builds = {
        (version, threads): ours(path, version, threads)
        for version in (1, 2)
        for threads in (1, 2)
    }
    question = Question(
        f"an index of {FIELD} of narrow rows",
        (
            *builds.values(),
            probe("SQLite, keys given", store_load, path, "SQLite"),
            probe("LMDB, keys given", store_load, path, "LMDB", modules=("lmdb",)),
        ),
        path.stat().st_size,
    )
    refs = {each: Ref(question.label, made.name) for each, made in builds.items()}
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (question,),
        targets=tuple(
            target
            for version in (1, 2)
            for target in (
                AtMost(refs[version, 1], "time", rows / ROWS_PER_SECOND),
                AtLeast(refs[version, 2], refs[version, 1], SCALING),
            )
        ),
    )


SUITE = Suite("key-index", "Build an index of a field.", build)
