"""Single rows of a file of compressed blocks by number, in no order."""

from __future__ import annotations

import io
import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.candidate import AtMost, Benchmark, Question, Ref, probe
from benchmarks.compressed import CODECS, whole_lines
from benchmarks.generate import MIB, Extent, data_file
from benchmarks.runner import BenchmarkError
from benchmarks.suite import Settings, Suite
from benchmarks.suites.random_row import FEW, MANY, SCAN_SIZE, line_count, timed

if TYPE_CHECKING:
    from benchmarks.probe import Outcome

LIMIT = 1e-3


def headrace_row(path: str) -> Outcome:
    """Open the file with its sidecar; what is timed is the access alone."""
    from headrace import open as open_rows

    with open_rows(path) as rows:
        return timed(rows.__getitem__, len(rows), MANY)


def headrace_raw_row(path: str) -> Outcome:
    """Take the bytes and leave the parsing to the standard library."""
    from headrace import open as open_rows

    with open_rows(path) as rows:
        return timed(lambda number: json.loads(rows.raw[number]), len(rows), MANY)


def module_row(path: str, codec: str, total: int) -> Outcome:
    """Decode up to each row, as files without blocks have it."""

    def row(number: int) -> object:
        with io.BufferedReader(CODECS[codec].read(Path(path)), MIB) as rows:  # type: ignore[type-var]
            return json.loads(next(islice(rows, number, None)))

    return timed(row, total, FEW)


def block_file(path: Path, codec: str) -> Path:
    """Write the rows of a file in blocks, as this headrace does it."""
    from headrace import LineWriter

    file = path.with_name(f"{path.stem}-{codec}-blocks")
    with LineWriter(file, codec=codec, validate=False) as writer:
        for lines in whole_lines(str(path)):
            writer.write_lines(lines)
    if not file.with_name(f"{file.name}.ckpt").exists():
        raise BenchmarkError(f"{file.name}: its sidecar was not written")
    return file


def build(settings: Settings) -> Benchmark:
    """Read rows of a large file, and with scanning candidates of a smaller one."""
    path = data_file("narrow", Extent(settings.size))
    smaller = data_file("narrow", Extent(min(settings.size, SCAN_SIZE)))
    total = line_count(smaller)
    seeking, scanning = [], []
    for codec, peer in CODECS.items():
        large, small = block_file(path, codec), block_file(smaller, codec)
        ours = probe("headrace ds[i]", headrace_row, large, modules=("headrace",))
        raw = probe(
            "headrace ds.raw[i]", headrace_raw_row, large, modules=("headrace",)
        )
        seeking.append(Question(f"one row of {codec} blocks", (ours, raw)))
        scanning.append(
            Question(
                f"one row of a smaller file of {codec} blocks",
                (
                    probe("headrace ds[i]", headrace_row, small, modules=("headrace",)),
                    probe(
                        f"Python {peer.module}",
                        module_row,
                        small,
                        codec,
                        total,
                        modules=(peer.module,),
                    ),
                ),
            )
        )
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (*seeking, *scanning),
        targets=tuple(
            AtMost(Ref(each.label, "headrace ds[i]"), "time", LIMIT) for each in seeking
        ),
    )


SUITE = Suite("shard-row", "Take single rows of compressed blocks, in no order.", build)
