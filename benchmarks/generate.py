"""Data sets to measure on, made again byte for byte from a seed.

A *data set* is a kind of rows, an *extent* is how much of it is wanted. Only
`data_file` touches the disk: it finds the file made earlier or makes it, and
the name of the file holds everything its bytes depend on.

Rows are put together from pools of ready pieces. A random number and a format
call for every field would take minutes for a gigabyte of wide rows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import BinaryIO, Literal, TypeAlias, TypeVar

DATA = Path(__file__).parent / "data"

# Part of every file name: raise it when a data set changes, or files made
# before the change would pass for the new ones.
REVISION = 1

BLOCK = 4096
LONGEST_NARROW = 110
KIB = 1024
MIB = 1024 * KIB

Item = TypeVar("Item")
RowBlocks: TypeAlias = Iterator[list[str]]
Shape: TypeAlias = Callable[[Random, int], RowBlocks]


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


def pick(random: Random, items: Sequence[Item]) -> Item:
    """Choose one; of `Random`, only `random()` is promised never to change."""
    return items[int(random.random() * len(items))]


def pool(make: Callable[[], str], size: int = 512) -> list[str]:
    """Make the pieces that rows are put together from."""
    return [make() for _ in range(size)]


def blocks(row: Callable[[int], str]) -> RowBlocks:
    """Hand out rows in blocks, numbered from 0 and without end."""
    for start in count(0, BLOCK):
        yield [row(number) for number in range(start, start + BLOCK)]


LEVELS = ["debug", "info", "info", "info", "warning", "error"]
WORDS = [
    "disk",
    "full",
    "retry",
    "sent",
    "cache",
    "miss",
    "login",
    "slow",
    "page",
    "ready",
    "lost",
    "open",
]
CITIES = ["Århus", "Berlin", "Kraków", "Lyon", "Osaka", "São Paulo", "Tromsø", "Wien"]
COUNTRIES = ["AT", "BR", "DE", "DK", "FR", "JP", "NO", "PL"]


def narrow(random: Random, _rows: int) -> RowBlocks:
    """Yield rows of a log: six plain fields."""

    def tail() -> str:
        level = pick(random, LEVELS)
        latency = round(random.random() * 100, 1)
        user = int(random.random() * 10_000)
        message = f"{pick(random, WORDS)} {pick(random, WORDS)}"
        return f'"level":"{level}","latency":{latency},"user":"u{user:04}","msg":"{message}"}}'

    tails = pool(tail, 4096)

    def row(number: int) -> str:
        clock = 1_700_000_000_123 + 7 * number
        return f'{{"id":{number},"ts":{clock},{tails[int(random.random() * 4096)]}'

    return blocks(row)


def wide(random: Random, _rows: int) -> RowBlocks:
    """Yield rows of a table: 50 short fields of all plain types."""

    def value(column: int) -> object:
        match column % 5:
            case 0:
                return int(random.random() * 1e9)
            case 1:
                return round(random.random() * 1e6, 4)
            case 2:
                return random.random() < 0.5
            case 3:
                return None if random.random() < 0.2 else pick(random, CITIES)
            case _:
                return (
                    f"{pick(random, WORDS)} {pick(random, WORDS)} {random.random():.6f}"
                )

    def fields(columns: range) -> str:
        return json.dumps(
            {f"col_{column:02}": value(column) for column in columns},
            ensure_ascii=False,
            separators=(",", ":"),
        )[1:-1]

    pools = [
        pool(partial(fields, range(start, start + 7))) for start in range(1, 50, 7)
    ]

    def row(number: int) -> str:
        pieces = ",".join([pick(random, pieces) for pieces in pools])
        return f'{{"id":{number},{pieces}}}'

    return blocks(row)


def nested(random: Random, _rows: int) -> RowBlocks:
    """Yield rows of an event store: objects in arrays in objects, six levels deep."""

    def text(words: int) -> str:
        return " ".join(pick(random, WORDS) for _ in range(words))

    def dump(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def user() -> str:
        return dump(
            {
                "name": f"{text(1)} {text(1)}",
                "quote": f'"{text(2)}"\n\t\\{text(2)}',
                "address": {
                    "city": pick(random, CITIES),
                    "country": pick(random, COUNTRIES),
                    "geo": {"lat": random.random() * 90, "lon": random.random() * 180},
                },
                "tags": [text(1) for _ in range(4)],
            }
        )

    def items() -> str:
        return dump(
            [
                {
                    "sku": f"{int(random.random() * 1e6):06}",
                    "price": round(random.random() * 500, 2),
                    "options": {"size": text(1), "stock": [{"shelf": text(1)}, None]},
                }
                for _ in range(14)
            ]
        )

    def trace() -> str:
        return dump({"steps": [{"at": text(2), "ok": True}] * 6, "note": text(40)})

    users, baskets, traces = pool(user), pool(items), pool(trace)

    def row(number: int) -> str:
        return (
            f'{{"id":{number},"user":{pick(random, users)},'
            f'"items":{pick(random, baskets)},"trace":{pick(random, traces)}}}'
        )

    return blocks(row)


def customer_count(rows: int) -> int:
    """Return the number of customers to which `rows` orders refer."""
    return max(1, rows // 10)


def orders(random: Random, rows: int) -> RowBlocks:
    """Yield orders; every one refers to a customer by `customer_id`."""
    customers = customer_count(rows)

    def tail() -> str:
        amount = round(random.random() * 900, 2)
        status = pick(random, ["open", "paid", "sent", "returned"])
        items = 1 + int(random.random() * 9)
        return (
            f'"amount":{amount},"currency":"EUR","status":"{status}","items":{items}}}'
        )

    tails = pool(tail, 4096)

    def row(number: int) -> str:
        customer = int(random.random() * customers)
        clock = 1_700_000_000 + number
        return (
            f'{{"order_id":{number},"customer_id":{customer},"ts":{clock},'
            f"{tails[int(random.random() * 4096)]}"
        )

    return blocks(row)


def customers(random: Random, rows: int) -> RowBlocks:
    """Yield the customers that `rows` orders refer to, each once."""

    def tail() -> str:
        return json.dumps(
            {
                "city": pick(random, CITIES),
                "country": pick(random, COUNTRIES),
                "segment": pick(random, ["home", "office", "school"]),
                "since": 2000 + int(random.random() * 25),
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )[1:]

    tails = pool(tail)

    def row(number: int) -> str:
        return (
            f'{{"customer_id":{number},"email":"c{number}@example.org",'
            f"{pick(random, tails)}"
        )

    wanted = customer_count(rows)
    for block in blocks(row):
        if wanted <= len(block):
            yield block[:wanted]
            return
        yield block
        wanted -= len(block)


def edges(random: Random, rows: int) -> RowBlocks:
    """Yield a graph whose degrees follow a power law with an exponent of 2.3.

    The fourth power of a uniform number makes the node of rank r appear in
    proportion to r**-0.75, which gives that exponent: the one of the web and
    of social networks.
    """
    nodes = max(2, rows // 10)
    predicates = ["knows", "follows", "cites", "likes"]

    def row(_number: int) -> str:
        start = int(nodes * random.random() ** 4)
        end = int(nodes * random.random() ** 4)
        return (
            f'{{"from":"n{start}","pred":"{pick(random, predicates)}","to":"n{end}"}}'
        )

    return blocks(row)


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
    shape: Shape, file: BinaryIO, extent: Extent, random: Random, row_bytes: int
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
    rows = (row for block in narrow(random, 0) for row in block)
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
            partial(write_rows, customers),
        ),
        Dataset(
            "edges",
            "A graph with power-law degrees: from, pred, to.",
            45,
            partial(write_rows, edges),
        ),
        Dataset(
            "narrow",
            "A log: rows of about 100 bytes with six fields.",
            100,
            partial(write_rows, narrow),
        ),
        Dataset(
            "nested",
            "An event store: rows of about 2 KB, six levels deep.",
            2000,
            partial(write_rows, nested),
        ),
        Dataset(
            "orders",
            "Orders that refer to `customers` of the same extent by customer_id.",
            120,
            partial(write_rows, orders),
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
            "wide",
            "A table: rows of about 1 KB with 50 fields.",
            1000,
            partial(write_rows, wide),
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

    from headrace.cli.argument import size

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
