"""Data sets to measure on, made again byte for byte from a seed.

A *data set* is a kind of rows, an *extent* is how much of it is wanted. Only
`data_file` touches the disk: it finds the file made earlier or makes it, and
the name of the file holds everything its bytes depend on.
`benchmarks.rows` makes the rows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, BinaryIO, Literal

from benchmarks import rows as made

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent / "data"

# Part of every file name: raise it when a data set changes, or files made
# before the change would pass for the new ones.
REVISION = 1

LONGEST_NARROW = 110
KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a data set: a number of bytes, rounded up to a row, or of rows."""

    amount: int
    unit: Literal["bytes", "rows"] = "bytes"

    def __str__(self) -> str:
        return f"{self.amount}{self.unit}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """One kind of rows; `row_bytes` is their usual length with the newline."""

    name: str
    doc: str
    row_bytes: int
    write: Callable[[BinaryIO, Extent, Random, int], None]


def encoded(rows: list[str]) -> bytes:
    """Join rows to the bytes of a file."""
    return ("\n".join(rows) + "\n").encode() if rows else b""


def rows_within(rows: list[str], limit: int) -> list[str]:
    """Take rows until they fill `limit` bytes, the one that crosses it included."""
    taken = []
    for row in rows:
        if limit <= 0:
            break
        taken.append(row)
        limit -= len(row.encode()) + 1
    return taken


def write_rows(
    shape: made.Shape, file: BinaryIO, extent: Extent, random: Random, row_bytes: int
) -> None:
    """Write rows one after the other until there are enough."""
    by_rows = extent.unit == "rows"
    expected = extent.amount if by_rows else extent.amount // row_bytes
    missing = extent.amount
    for block in shape(random, expected):
        if by_rows:
            rows = block[:missing]
            missing -= len(rows)
            file.write(encoded(rows))
        else:
            data = encoded(block)
            if len(data) > missing:
                data = encoded(rows_within(block, missing))
            missing -= len(data)
            file.write(data)
        if missing <= 0:
            return


def islands(
    starts: range, length: int, file: BinaryIO, size: int, random: Random
) -> None:
    """Write `length` bytes of rows at every one of `starts`, and holes in between.

    A hole reads as NUL bytes and becomes a line of its own, since every piece
    of rows begins and ends with a newline. So does the file: `wc -l` counts
    newlines and would not see an unterminated line.
    """
    rows = (row for block in made.narrow(random, 0) for row in block)
    for start in starts:
        piece = encoded(list(islice(rows, length // LONGEST_NARROW)))
        if start > 0:
            piece = (b"\n" + piece).rjust(length, b"\0")
        file.seek(start)
        file.write(piece)
    file.truncate(size)
    file.seek(size - 1)
    file.write(b"\n")


def bytes_wanted(extent: Extent) -> int:
    """Read the extent of a sparse file, which is not made of rows."""
    if extent.unit != "bytes":
        raise ValueError("a sparse file has a size in bytes, not in rows")
    return extent.amount


def write_sparse(
    file: BinaryIO, extent: Extent, random: Random, _row_bytes: int
) -> None:
    """Write rows at the front and at the end of one hole."""
    size = bytes_wanted(extent)
    length = min(MIB, size // 4)
    islands(range(0, size, size - length), length, file, size, random)


def write_sparse_rows(
    file: BinaryIO, extent: Extent, random: Random, _row_bytes: int
) -> None:
    """Write rows at intervals, so that every part of the file has rows to count."""
    size = bytes_wanted(extent)
    length = min(64 * KIB, size // 4)
    islands(range(0, size - length, 4 * MIB), length, file, size, random)


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "customers",
            "The customers `orders` of the same extent refer to: one for ten orders.",
            120,
            partial(write_rows, made.customers),
        ),
        Dataset(
            "edges",
            "A graph with power-law degrees: from, pred, to.",
            45,
            partial(write_rows, made.edges),
        ),
        Dataset(
            "events",
            "A log of users: rows of about 90 bytes with six fields.",
            90,
            partial(write_rows, made.events),
        ),
        Dataset(
            "narrow",
            "A log: rows of about 100 bytes with six fields.",
            100,
            partial(write_rows, made.narrow),
        ),
        Dataset(
            "nested",
            "An event store: rows of about 2 KB, six levels deep.",
            2000,
            partial(write_rows, made.nested),
        ),
        Dataset(
            "orders",
            "Orders that refer to `customers` of the same extent by customer_id.",
            120,
            partial(write_rows, made.orders),
        ),
        Dataset(
            "sparse",
            "Rows at the front and at the end; the hole between is one long line.",
            100,
            write_sparse,
        ),
        Dataset(
            "sparse-rows",
            "64 KiB of rows every 4 MiB, holes in between.",
            100,
            write_sparse_rows,
        ),
        Dataset(
            "tweets",
            "Statuses of a social network: nested rows of 2 KB to 5 KB, texts of many alphabets.",
            3700,
            partial(write_rows, made.tweets),
        ),
        Dataset(
            "users",
            "The users of `events`, each once if there are 54,000 rows.",
            60,
            partial(write_rows, made.users),
        ),
        Dataset(
            "wide",
            "A table: rows of about 1 KB with 50 fields.",
            1000,
            partial(write_rows, made.wide),
        ),
    )
}


def data_file(name: str, extent: Extent, *, seed: int = 1, folder: Path = DATA) -> Path:
    """Find the file with this content, or make it.

    It gets its name only when it is complete, so that an interrupted run
    leaves nothing that a later one would take for data.
    """
    path = folder / f"{name}-{extent}-seed{seed}-v{REVISION}.jsonl"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    dataset = DATASETS[name]
    with unfinished.open("wb") as file:
        # The name is part of the seed: two data sets should not share one sequence.
        dataset.write(file, extent, Random(f"{name} {seed}"), dataset.row_bytes)
    return unfinished.rename(path)


def main(arguments: list[str] | None = None) -> None:
    """Make one file and print its path."""
    # A probe, which only finds existing files, needs neither module.
    import argparse

    from benchmarks.units import size

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.generate",
        description="Make a data set, or find the one made earlier.",
        epilog="\n".join(f"{each.name:12} {each.doc}" for each in DATASETS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=DATASETS, metavar="NAME")
    amount = parser.add_mutually_exclusive_group(required=True)
    amount.add_argument("--bytes", type=size, metavar="SIZE", help="such as 1GB")
    amount.add_argument("--rows", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=DATA, metavar="FOLDER")
    wanted = parser.parse_args(arguments)

    extent = Extent(wanted.rows, "rows") if wanted.rows else Extent(wanted.bytes)
    try:
        path = data_file(wanted.name, extent, seed=wanted.seed, folder=wanted.out)
    except ValueError as error:
        sys.exit(f"{wanted.name}: {error}")
    print(path)


if __name__ == "__main__":
    main()
