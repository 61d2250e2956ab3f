"""Memory while shards are written and read: it should not depend on how many rows there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.candidate import AtMostTimes, Benchmark, Candidate, Question, Ref, probe
from benchmarks.compressed import CODECS, MAX_BYTES, shards_of, whole_lines
from benchmarks.generate import Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.suite import Settings, Suite
from benchmarks.suites.shard_read import headrace_rows
from benchmarks.suites.shard_write import scratch
from benchmarks.units import bytes_text, threads_text

if TYPE_CHECKING:
    from pathlib import Path

THREADS = (1, 2)
# The same file gives peaks this far apart from one run to the next.
NOISE = 1.05


def written_rows(path: str, codec: str, threads: int) -> Outcome:
    """Write a set of shards and say how many rows are in it."""
    from headrace import ShardWriter

    with scratch(path) as folder, Meter() as meter:
        with ShardWriter(
            folder, codec=codec, max_bytes=MAX_BYTES, threads=threads
        ) as writer:
            for lines in whole_lines(path):
                writer.write_lines(lines)
        count = writer.records
    return Outcome(count, meter.figures)


def decoded_rows(folder: str, threads: int) -> Outcome:
    """Count the newlines in what a set decodes to."""
    from headrace.kernel.rows import Decoding
    from headrace.store.files.opened import decoded
    from headrace.store.files.source import expand

    with Meter() as meter:
        count = sum(
            piece.count(b"\n")
            for source in expand(folder)
            for piece in decoded(source, decoding=Decoding(threads))
        )
    return Outcome(count, meter.figures)


def candidates(path: Path, codec: str) -> list[Candidate]:
    """Write a set and read one, each with one thread and with two."""
    folder = shards_of(path, codec)
    ours = ("headrace",)
    return [
        *(
            probe(
                f"write {codec}, {threads_text(n)}",
                written_rows,
                path,
                codec,
                n,
                modules=ours,
            )
            for n in THREADS
        ),
        *(
            probe(
                f"decode {codec}, {threads_text(n)}",
                decoded_rows,
                folder,
                n,
                modules=ours,
            )
            for n in THREADS
        ),
        probe(f"rows of {codec}", headrace_rows, folder, modules=ours),
    ]


def question(size: int) -> Question:
    """Run every candidate that writes or reads rows; the answer is their number."""
    path = data_file("narrow", Extent(size))
    measured = [each for codec in CODECS for each in candidates(path, codec)]
    return Question(f"rows of {bytes_text(size)}", tuple(measured), path.stat().st_size)


def build(settings: Settings) -> Benchmark:
    """Measure a tenth of the rows, and all."""
    small, large = question(settings.size // 10), question(settings.size)
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (small, large),
        metric="peak_rss",
        targets=tuple(
            AtMostTimes(
                Ref(large.label, each.name),
                Ref(small.label, each.name),
                "peak_rss",
                NOISE,
            )
            for each in large.candidates
        ),
    )


SUITE = Suite(
    "shard-rss", "Write and read shards of some rows, and of ten times as many.", build
)
