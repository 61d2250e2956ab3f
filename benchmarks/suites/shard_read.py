"""Reading all of a set of shards: its bytes, and its rows one by one.

Everyone writes what it decodes to a file, which is compared, and once more to where
it is thrown away: that is held against the targets, for writing to a file takes
everyone the same and would make those who decode slowly look better.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.candidate import (
    HEADRACE,
    AtLeast,
    AtMostTimes,
    Benchmark,
    Question,
    Ref,
    nothing,
    probe,
    program,
)
from benchmarks.compressed import (
    CODECS,
    kept_plain,
    output,
    part_paths,
    shards_of,
)
from benchmarks.generate import MIB, Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.suite import Settings, Suite

if TYPE_CHECKING:
    from benchmarks.candidate import Candidate, Target

OURS = "headrace, decoded"
NOWHERE = Path(os.devnull)
# As fast as a tool, with an allowance for noise.
SPEED = 0.95


def kept(to: Path, stdout: bytes = b"") -> Outcome:
    """Return the answer for the written output, unless it was discarded."""
    return nothing(stdout) if to == NOWHERE else kept_plain(to)


def headrace_decoded(folder: str, threads: int, to: str) -> Outcome:
    """Decode all parts with `threads` threads."""
    from headrace.kernel.rows import Decoding
    from headrace.store.files.opened import decoded
    from headrace.store.files.source import expand

    with Path(to).open("wb", buffering=0) as file, Meter() as meter:
        for source in expand(folder):
            file.writelines(decoded(source, decoding=Decoding(threads)))
    return Outcome(kept(Path(to)).answer, meter.figures)


def module_decoded(folder: str, codec: str, to: str) -> Outcome:
    """Decode all parts with a module."""
    parts = part_paths(Path(folder))
    with Path(to).open("wb", buffering=0) as file, Meter() as meter:
        for part in parts:
            with CODECS[codec].read(part) as stream:
                while piece := stream.read(MIB):
                    file.write(piece)
    return Outcome(kept(Path(to)).answer, meter.figures)


def headrace_rows(folder: str) -> Outcome:
    """Take the rows one by one, as bytes."""
    from headrace import open as open_rows

    with Meter() as meter, open_rows(folder, raw=True) as rows:
        count = sum(1 for _row in rows)
    return Outcome(count, meter.figures)


def module_rows(folder: str, codec: str) -> Outcome:
    """Take the rows one by one with a module."""
    import io

    parts, count = part_paths(Path(folder)), 0
    with Meter() as meter:
        for part in parts:
            with io.BufferedReader(CODECS[codec].read(part), MIB) as rows:  # type: ignore[type-var]
                count += sum(1 for _row in rows)
    return Outcome(count, meter.figures)


def decoding(folder: Path, codec: str, size: int, to: Path) -> Question:
    """Decode a set with every candidate, to a file or to nothing."""
    peer = CODECS[codec]

    def ours(name: str, threads: int) -> Candidate:
        return probe(name, headrace_decoded, folder, threads, to, modules=("headrace",))

    def cat(name: str, *command: str | Path) -> Candidate:
        return program(name, *command, outcome=partial(kept, to), written=to)

    where = "thrown away" if to == NOWHERE else "in a file"
    return Question(
        f"{codec} shards decoded, {where}",
        (
            ours(OURS, 1),
            ours(f"{OURS}, 2 threads", 2),
            cat("headrace shard cat", HEADRACE, "shard", "cat", folder),
            cat(peer.decompress, peer.decompress, *part_paths(folder)),
            probe(
                f"Python {peer.module}",
                module_decoded,
                folder,
                codec,
                to,
                modules=("headrace", peer.module),
            ),
        ),
        size,
    )


def taking_rows(folder: Path, codec: str, size: int) -> Question:
    """Read the rows of a set."""
    module = CODECS[codec].module
    return Question(
        f"rows of {codec} shards",
        (
            probe("headrace, raw", headrace_rows, folder, modules=("headrace",)),
            probe(
                f"Python {module}",
                module_rows,
                folder,
                codec,
                modules=("headrace", module),
            ),
        ),
        size,
    )


def targets(question: Question, codec: str) -> tuple[Target, ...]:
    """Compare one thread with the tool."""
    ours, peer = (
        Ref(question.label, OURS),
        Ref(question.label, CODECS[codec].decompress),
    )
    return AtMostTimes(ours, peer, "cpu", 1 / SPEED), AtLeast(ours, peer, SPEED)


def build(settings: Settings) -> Benchmark:
    """Read the bytes and the rows of sets with both codecs."""
    path = data_file("narrow", Extent(settings.size))
    size = path.stat().st_size
    questions: list[Question] = []
    held: list[Target] = []
    for codec in CODECS:
        folder = shards_of(path, codec)
        thrown_away = decoding(folder, codec, size, NOWHERE)
        in_a_file = decoding(
            folder, codec, size, output(path, f"shard-read-{codec}.out")
        )
        questions += [thrown_away, in_a_file, taking_rows(folder, codec, size)]
        held += targets(thrown_away, codec)
    return Benchmark(SUITE.name, SUITE.doc, tuple(questions), targets=tuple(held))


SUITE = Suite("shard-read", "Decode a set of shards, and take its rows.", build)
