"""Writing compressed rows in seekable blocks, compared with tools that write one stream.

Headrace takes whole lines, about 1 MiB of them at a time. The cost of reading them
and passing them on without compression is measured separately. Its files are
synced to the disk before they are renamed, which the tools do not do.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmarks.candidate import (
    HEADRACE,
    AtLeast,
    AtMostTimes,
    Benchmark,
    Question,
    Ref,
    probe,
    program,
)
from benchmarks.compressed import (
    CODECS,
    MAX_BYTES,
    kept_file,
    kept_plain,
    kept_set,
    output,
    whole_lines,
)
from benchmarks.generate import KIB, Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.suite import Settings, Suite
from benchmarks.units import threads_text

if TYPE_CHECKING:
    from benchmarks.candidate import Candidate, Target

OURS = "headrace write_lines"
OURS_TWO = "headrace write_lines, 2 threads"
OURS_CHECKED = "headrace write_lines, validated"
BLOCK = 256 * KIB
# As fast as a tool, with an allowance for noise, and for the sequential work with two threads.
SPEED, SCALING = 0.95, 1.8


def scratch(path: str) -> tempfile.TemporaryDirectory[str]:
    """Make a folder beside a file for what a probe writes; it goes away with the probe."""
    return tempfile.TemporaryDirectory(dir=Path(path).parent)


def headrace_write(
    path: str,
    codec: str,
    block_bytes: int = BLOCK,
    threads: int = 1,
    check: Literal["trusted", "validated"] = "trusted",
) -> Outcome:
    """Write one file, its sidecar included."""
    from headrace import LineWriter

    with scratch(path) as folder:
        file = Path(folder) / "rows"
        with (
            Meter() as meter,
            LineWriter(
                file,
                codec=codec,
                block_bytes=block_bytes,
                validate=check == "validated",
                threads=threads,
            ) as writer,
        ):
            for lines in whole_lines(path):
                writer.write_lines(lines)
        kept = kept_plain(file) if codec == "none" else kept_file(file, codec)
    return Outcome(kept.answer, {**kept.figures, **meter.figures})


def module_write(path: str, codec: str) -> Outcome:
    """Write one stream with a module, of the same pieces."""
    with scratch(path) as folder:
        file = Path(folder) / "rows"
        with Meter() as meter, CODECS[codec].write(file) as stream:
            for lines in whole_lines(path):
                stream.write(lines)
        kept = kept_file(file, codec)
    return Outcome(kept.answer, {**kept.figures, **meter.figures})


def read_only(path: str) -> Outcome:
    """Take the pieces and do nothing with them."""
    with Meter() as meter:
        size = sum(map(len, whole_lines(path)))
    return Outcome(size, meter.figures)


def shard_write(path: Path, codec: str, threads: int) -> Candidate:
    """Write a set with the command; it looks for the rows itself."""
    folder = output(path, f"shard-write-{codec}-set")
    return program(
        f"headrace shard write, {threads_text(threads)}",
        HEADRACE,
        "shard",
        "write",
        path,
        "--out",
        folder,
        "--codec",
        codec,
        "--max-bytes",
        MAX_BYTES,
        "--threads",
        threads,
        "--trusted",
        "--quiet",
        outcome=partial(kept_set, folder, codec),
        modules=(CODECS[codec].module,),
    )


def question(path: Path, codec: str) -> Question:
    """Write the rows with a codec, with every candidate."""
    peer = CODECS[codec]
    modules = ("headrace", peer.module)
    file = output(path, f"shard-write-{codec}.out")

    def ours(name: str, threads: int, check: str) -> Candidate:
        return probe(
            name, headrace_write, path, codec, BLOCK, threads, check, modules=modules
        )

    return Question(
        f"narrow rows as {codec}",
        (
            ours(OURS, 1, "trusted"),
            ours(OURS_TWO, 2, "trusted"),
            ours(OURS_CHECKED, 1, "validated"),
            shard_write(path, codec, 1),
            shard_write(path, codec, 2),
            program(
                " ".join(peer.compress[:2]),
                *peer.compress,
                path,
                outcome=partial(kept_file, file, codec),
                modules=(peer.module,),
                written=file,
            ),
            probe(
                f"Python {peer.module}",
                module_write,
                path,
                codec,
                modules=(peer.module,),
            ),
        ),
        path.stat().st_size,
    )


def targets(question: Question, codec: str) -> tuple[Target, ...]:
    """Compare one thread with the tool, and two threads with one."""
    ours, two = Ref(question.label, OURS), Ref(question.label, OURS_TWO)
    peer = Ref(question.label, " ".join(CODECS[codec].compress[:2]))
    return (
        AtMostTimes(ours, peer, "cpu", 1 / SPEED),
        AtLeast(ours, peer, SPEED),
        AtLeast(two, ours, SCALING),
    )


def build(settings: Settings) -> Benchmark:
    """Measure each codec, and the work besides compression."""
    path = data_file("narrow", Extent(settings.size))
    file = output(path, "shard-write-plain.out")
    size = path.stat().st_size
    compressed = {codec: question(path, codec) for codec in CODECS}
    plain = Question(
        "narrow rows as they are",
        (
            probe(OURS, headrace_write, path, "none", modules=("headrace",)),
            program(
                "cat", "cat", path, outcome=partial(kept_plain, file), written=file
            ),
        ),
        size,
    )
    reading = Question(
        "narrow rows, only read", (probe("whole lines", read_only, path),), size
    )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (*compressed.values(), plain, reading),
        targets=tuple(
            target
            for codec, question in compressed.items()
            for target in targets(question, codec)
        ),
    )


SUITE = Suite("shard-write", "Write rows in compressed blocks.", build)
