"""The size of blocks, compared with one stream of the same library and of others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.candidate import (
    AtMostTimes,
    Benchmark,
    Question,
    Ref,
    probe,
    program,
)
from benchmarks.compressed import CODECS, kept_file, output
from benchmarks.generate import Extent, data_file
from benchmarks.suite import Settings, Suite
from benchmarks.suites.shard_write import headrace_write

if TYPE_CHECKING:
    from pathlib import Path

# One block is in memory at a time; this size shows the full effect.
LARGEST = 100_000_000
IN_BLOCKS, WHOLE = "headrace, 256 KiB blocks", "headrace, one block"
# For gzip, whose window is small; zstd has a large window, so its cost has no target.
ALLOWED = 1.02


def question(path: Path, codec: str) -> Question:
    """Compress the rows in blocks, and as one stream."""
    peer, size = CODECS[codec], path.stat().st_size
    modules = ("headrace", peer.module)
    file = output(path, f"shard-size-{codec}.out")
    return Question(
        f"narrow rows as {codec}",
        (
            probe(IN_BLOCKS, headrace_write, path, codec, modules=modules),
            probe(WHOLE, headrace_write, path, codec, size + 1, modules=modules),
            program(
                " ".join(peer.compress[:2]),
                *peer.compress,
                path,
                outcome=partial(kept_file, file, codec),
                modules=(peer.module,),
                written=file,
            ),
        ),
        size,
    )


def build(settings: Settings) -> Benchmark:
    """Measure each codec; only gzip has a target."""
    path = data_file("narrow", Extent(min(settings.size, LARGEST)))
    questions = {codec: question(path, codec) for codec in CODECS}
    label = questions["gzip"].label
    in_blocks, whole = Ref(label, IN_BLOCKS), Ref(label, WHOLE)
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        tuple(questions.values()),
        metric="bytes_written",
        targets=(AtMostTimes(in_blocks, whole, "bytes_written", ALLOWED),),
    )


SUITE = Suite(
    "shard-size", "Write rows in blocks and in one piece; bytes on disk.", build
)
