"""Set index: building it, and rows by key, compared with the key index of a plain file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.candidate import AtLeast, AtMost, Benchmark, Question, Ref, probe
from benchmarks.compressed import shards_of
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.suite import Settings, Suite
from benchmarks.suites.key_get import timed
from benchmarks.suites.key_index import FIELD, ROWS_PER_SECOND, SIZE

if TYPE_CHECKING:
    from benchmarks.candidate import Candidate

SCALING = 1.3
# A block has to be decoded for each row.
LIMIT = 1e-3


def index_of(path: str, threads: int) -> Outcome:
    """Build the index of a file or of a set."""
    from headrace import KeyIndex

    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        place = Path(folder) / "index"
        with Meter() as meter:
            built = KeyIndex.build(
                path, FIELD, threads=threads, index=place, index_version=2
            )
        figures = {**meter.figures, "bytes_written": built.written.size}
    return Outcome(built.written.records, figures)


def rows_by_key(path: str, total: int) -> Outcome:
    """Read rows by the index of the file or the set."""
    from headrace import KeyIndex

    with KeyIndex(path, FIELD, require_index=True) as keys:
        return timed(keys.get, total)


def ours(name: str, function: object, path: Path, *more: int) -> Candidate:
    """Make a candidate of headrace."""
    return probe(name, function, path, *more, modules=("headrace",))  # type: ignore[arg-type]


def build(settings: Settings) -> Benchmark:
    """Build the index of a set with one thread and with two, and read rows."""
    from headrace import KeyIndex

    path = data_file("narrow", Extent(min(settings.size, SIZE)))
    with path.open("rb") as file:
        rows = sum(1 for _ in file)
    shards = shards_of(path, "zstd")
    for each in (path, shards):
        KeyIndex.build(each, FIELD, index_version=2)
    made = Question(
        f"an index of {FIELD} of a set of shards",
        (
            ours("headrace, a set, 1 thread", index_of, shards, 1),
            ours("headrace, a set, 2 threads", index_of, shards, 2),
            ours("headrace, a plain file, 2 threads", index_of, path, 2),
        ),
        path.stat().st_size,
    )
    question = Question(
        f"one row by {FIELD}",
        (
            ours("headrace, a set", rows_by_key, shards, rows),
            ours("headrace, a plain file", rows_by_key, path, rows),
        ),
    )
    one, two = (Ref(made.label, each.name) for each in made.candidates[:2])
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (made, question),
        targets=(
            AtMost(one, "time", rows / ROWS_PER_SECOND),
            AtLeast(two, one, SCALING),
            AtMost(Ref(question.label, "headrace, a set"), "time", LIMIT),
        ),
    )


SUITE = Suite(
    "set-index", "Index a set of shards by a field, and take rows by it.", build
)
