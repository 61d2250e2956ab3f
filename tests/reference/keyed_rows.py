"""Elements with keys as plain Python values, and rows to sort, deduplicate and join."""

import random
import struct
from itertools import pairwise
from typing import NamedTuple

from headrace.kernel.rows import RowBatch
from headrace.physical.query_plan import row_program

VALUES = [
    b"null",
    b"true",
    b"false",
    b"0",
    b"-0.0",
    b"1",
    b"1.0",
    b"-7",
    b"0.5",
    b"9007199254740993",
    b"9007199254740992.0",
    b"1e400",
    b"-1e400",
    b"100000000000000000001",
    b"1e20",
    b'""',
    b'"a"',
    b'"a\\u0000"',
    b'"\xc3\xa4"',
    b"[]",
    b"[1]",
    b"[1, 2]",
    b"[null]",
    b"{}",
    b'{"a": 1, "b": 2}',
    b'{"b": 2.0, "a": 1}',
]
"""Keys of all kinds, equal ones among them."""


class Element(NamedTuple):
    """One element: the position of its row, its line, its key, the byte of its row."""

    position: int
    line: bytes
    key: bytes
    offset: int = 0


def code(query):
    """Return the compiled code of a row query."""
    return row_program(query).code


def batch_of(*rows):
    """Return rows as a batch."""
    return RowBatch.of_contents(0, list(rows))


def elements(keyed):
    """Return the elements of the core as `Element`."""
    positions = struct.unpack(f"<{keyed.length}i", keyed.positions)
    offsets = struct.unpack(f"<{keyed.length}q", keyed.offsets)
    parts = positions, _texts(keyed.lines), _texts(keyed.keys), offsets
    return [Element(*each) for each in zip(*parts, strict=True)]


def _texts(texts):
    ends = struct.unpack(f"<{len(texts.ends) // 4}i", texts.ends)
    assert ends[0] == 0
    assert ends[-1] == len(texts.data)
    return [texts.data[start:end] for start, end in pairwise(ends)]


def rows_with_keys(count, seed, *, hot=0.0):
    """Return lines with a key ``k`` of any kind, the share `hot` of them with the same."""
    chance = random.Random(seed)
    return [
        b'{"k": %s, "n": %d}'
        % (b'"hot"' if chance.random() < hot else chance.choice(VALUES), number)
        for number in range(count)
    ]
