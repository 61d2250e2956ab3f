"""Sample data: the same bytes on every machine, with every kind of odd line.

`write_sample` returns what it wrote as `SampleFile`, which tests compare with what a reader finds.
"""

import gzip
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from headrace.errors import UsageError
from headrace.store.files.atomic import write_atomically

Kind: TypeAlias = Literal["record", "blank", "bad", "too_long"]

MAX_LINE = 64 << 10
"""The limit to read the sample with: its one long line is longer."""

LEAST_ROWS = 100

_SEED = 20_260_101
_FIRST_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_CUSTOMERS = 200
_GZIP_MEMBERS = 5
_MARKER = ".headrace-sample"


@dataclass(frozen=True, slots=True)
class OddLine:
    """An odd line, and the value that a reader should return for it."""

    kind: Kind
    content: bytes


ODD_LINES = {
    "truncated": OddLine("bad", b'{"id": "E1", "level": "inf'),
    "blank": OddLine("blank", b""),
    "trailing comma": OddLine("bad", b'{"id": "E2",}'),
    "single quotes": OddLine("bad", b"{'id': 'E3'}"),
    "white space": OddLine("blank", b" \t "),
    "duplicate key": OddLine(
        "record", b'{"id": "E4", "level": "warn", "level": "info"}'
    ),
    "two values": OddLine("bad", b'{"id": "E5"} {"id": "E6"}'),
    "not a number": OddLine("bad", b'{"id": "E7", "ms": NaN}'),
    "huge integer": OddLine("record", b'{"id": "E8", "n": 1' + b"0" * 40 + b"}"),
    "not UTF-8": OddLine("bad", b'{"id": "E9", "note": "M\xfcnchen"}'),
    "lone surrogate": OddLine("bad", b'{"id": "E10", "note": "\\ud800"}'),
    "blank again": OddLine("blank", b""),
    "too deep": OddLine("bad", b"[" * 300 + b"]" * 300),
    "not an object": OddLine("record", b'"a string alone is a record"'),
    "too long": OddLine(
        "too_long", b'{"id": "E11", "blob": "' + b"x" * (2 * MAX_LINE) + b'"}'
    ),
}
"""The odd lines of ``events.jsonl``, in their order, by name."""


@dataclass(frozen=True, slots=True)
class SampleFile:
    """One file and its contents.

    `content_bytes` counts the lines that are not too long, without line ends.
    """

    path: Path
    lines: int
    records: int
    blank: int
    bad: int
    too_long: int
    content_bytes: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The files of a sample."""

    events: SampleFile
    events_gzip: SampleFile
    customers: SampleFile
    orders: SampleFile

    @property
    def files(self) -> tuple[SampleFile, ...]:
        """All files, in the order they were written."""
        return (self.events, self.events_gzip, self.customers, self.orders)


def write_sample(directory: Path, rows: int, *, force: bool = False) -> Sample:
    """Write a sample with `rows` events into `directory`.

    A directory that holds anything else is refused unless `force`; even then
    only files of the sample's own names are replaced.
    """
    if rows < LEAST_ROWS:
        raise UsageError(f"a sample has at least {LEAST_ROWS} rows, not {rows}")
    _claim(directory, force=force)
    events = list(_events(rows))
    return Sample(
        events=_write(directory / "events.jsonl", events),
        events_gzip=_write(directory / "events.jsonl.gz", events, _gzipped),
        customers=_write(directory / "customers.jsonl", list(_customers())),
        orders=_write(directory / "orders.jsonl", list(_orders(rows // 10))),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    kind: Kind
    content: bytes
    ending: bytes = b"\n"


def _claim(directory: Path, *, force: bool) -> None:
    marker = directory / _MARKER
    directory.mkdir(parents=True, exist_ok=True)
    if not (force or marker.exists()) and next(directory.iterdir(), None) is not None:
        raise UsageError(
            f"{directory} has files that are not a sample: "
            "choose another directory, or --force to write beside them"
        )
    marker.touch()


def _events(rows: int) -> Iterator[_Line]:
    """Yield the events: odd lines spread evenly, a stretch of CRLF, no last line end."""
    chance = random.Random(_SEED)
    odd_every = rows // (len(ODD_LINES) + 1)
    odd_lines = iter(ODD_LINES.values())
    crlf = range(rows * 2 // 5, rows // 2)
    for row in range(rows):
        ending = b"\r\n" if row in crlf else b"\n" if row < rows - 1 else b""
        odd = next(odd_lines, None) if row and row % odd_every == 0 else None
        if odd is None:
            yield _Line("record", _json(_event(row, chance)), ending)
        else:
            yield _Line(odd.kind, odd.content, ending)


def _event(row: int, chance: random.Random) -> dict[str, object]:
    return {
        "id": f"E{row:08}",
        "time": (_FIRST_TIME + timedelta(seconds=row)).isoformat(),
        "level": _pick(chance, ("info", "info", "info", "warn", "error")),
        "customer_id": _customer_id(chance),
        "action": _pick(chance, ("view", "search", "add", "buy", "zurück", "検索")),
        "ms": round(chance.random() * 900, 3),
        "device": {"os": _pick(chance, ("linux", "mac", "windows")), "v": row % 7},
        "tags": ["t" * (1 + row % 5)] * (row % 4),
    }


def _customers() -> Iterator[_Line]:
    chance = random.Random(_SEED + 1)
    for number in range(_CUSTOMERS):
        customer = {
            "customer_id": f"C{number:04}",
            "name": _pick(chance, ("Ada", "Björn", "Chloé", "Dmitri", "恵美")),
            "country": _pick(chance, ("DE", "FR", "GB", "JP", "US")),
        }
        yield _Line("record", _json(customer))


def _orders(rows: int) -> Iterator[_Line]:
    chance = random.Random(_SEED + 2)
    for number in range(rows):
        order = {
            "order_id": f"O{number:06}",
            "customer_id": _customer_id(chance),
            "total": round(chance.random() * 500, 2),
        }
        yield _Line("record", _json(order))


def _customer_id(chance: random.Random) -> str:
    return f"C{int(chance.random() * _CUSTOMERS):04}"


def _pick(chance: random.Random, among: tuple[str, ...]) -> str:
    # Only `random()` gives the same numbers in every version of Python.
    return among[int(chance.random() * len(among))]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _gzipped(text: bytes) -> bytes:
    """Compress in several members, as a log that was appended to would be."""
    size = len(text) // _GZIP_MEMBERS + 1
    parts = (text[start : start + size] for start in range(0, len(text), size))
    return b"".join(gzip.compress(part, mtime=0) for part in parts)


def _write(
    path: Path, lines: list[_Line], encode: Callable[[bytes], bytes] = bytes
) -> SampleFile:
    text = b"".join(line.content + line.ending for line in lines)
    write_atomically(path, [encode(text)])
    kinds = Counter(line.kind for line in lines)
    return SampleFile(
        path=path,
        lines=len(lines),
        records=kinds["record"],
        blank=kinds["blank"],
        bad=kinds["bad"],
        too_long=kinds["too_long"],
        content_bytes=sum(
            len(line.content) for line in lines if line.kind != "too_long"
        ),
    )
