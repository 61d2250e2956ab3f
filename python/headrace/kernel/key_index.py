"""Key indexes, in our words.

`KeyCandidates`, `KeyIndex`, `KeyRequest`, `KeyRuns`, `KeyScan` and `WantedKeys` are the
core's own classes. What a key is, and the format of the file: docs/formats/key-index.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from headrace._native import (
    KeyCandidates,
    KeyIndex,
    KeyRequest,
    KeyRuns,
    KeyScan,
    WantedKeys,
    hash_all,
    hash_blocks,
    rows_at,
    write_key_index,
)
from headrace.errors import DuplicateKeyError, HeadraceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace._native import File

__all__ = [
    "HASH_BYTES",
    "FewBitsError",
    "Kept",
    "Key",
    "KeyCandidates",
    "KeyIndex",
    "KeyRequest",
    "KeyRuns",
    "KeyScan",
    "Lines",
    "Meta",
    "Plan",
    "Scalar",
    "Skipped",
    "SourceMark",
    "WantedKeys",
    "Written",
    "hash_all",
    "hash_blocks",
    "meta_of",
    "request",
    "request_of_json",
    "rows_at",
    "skipped_by",
    "write_index",
]

HASH_BYTES = 1 << 20
"""How many bytes of a source one hash is about."""

_FEW_DIGITS = 10**100
"""Integers that are keys as they are written."""

Scalar: TypeAlias = "str | int | float | Decimal"
Key: TypeAlias = "Scalar | Sequence[Scalar]"
"""A value to look for; of a composite key a value for each field."""


class Lines(NamedTuple):
    """Lines by kind; lines = records + blank + the others + pending.

    `pending`: half a line at the end, which may become a whole one.
    """

    lines: int = 0
    blank: int = 0
    bad: int = 0
    missing: int = 0
    null: int = 0
    nested: int = 0
    too_long: int = 0
    pending: int = 0

    def plus(self, other: Lines) -> Lines:
        """Return the lines of both."""
        return Lines(*map(sum, zip(self, other, strict=True)))

    def without(self, kind: str) -> Lines:
        """Return all but one line, which is of a kind, or a record if that is none.

        >>> Lines(lines=3, blank=1).without("blank")
        Lines(lines=2, blank=0, bad=0, missing=0, null=0, nested=0, too_long=0, pending=0)
        """
        counts = self._asdict()
        fewer = {name: counts[name] - 1 for name in ("lines", kind) if name in counts}
        return Lines(**counts | fewer)

    @property
    def skipped(self) -> dict[str, int]:
        """How many lines with something in them have no key, by cause.

        >>> Lines(lines=5, blank=1, null=2).skipped
        {'null': 2}
        """
        counts = self._asdict()
        causes = ("bad", "missing", "null", "nested", "too_long")
        return {cause: counts[cause] for cause in causes if counts[cause]}

    @property
    def records(self) -> int:
        """How many have a key."""
        return 2 * self.lines - sum(self)


class Skipped(NamedTuple):
    """A line without a key. `line` counts from 1; `offset` is where it goes wrong."""

    line: int
    offset: int
    cause: str
    reason: str


def skipped_by(scan: KeyScan) -> list[Skipped]:
    """Return the first lines without a key that a scan has seen."""
    return [
        Skipped(row + 1, offset, cause, reason)
        for row, offset, cause, reason in scan.first_skipped
    ]


class SourceMark(NamedTuple):
    """What a source on disk looked like."""

    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    head_hash: str
    tail_hash: str
    codec: str


@dataclass(frozen=True, slots=True)
class Meta:
    """What an index is of; of a delta, `base` is what it continues from `covers` on.

    How many `keys` a base and its delta have together is not always known.
    """

    key: tuple[str, ...]
    mode: str
    records: int
    keys: int | None
    lines: Lines
    plain_numbers: bool
    max_line: int
    max_depth: int
    logical_size: int
    coverage_end: int
    hashed: int
    source: SourceMark
    last: str | None = None
    base: str | None = None
    covers: int = 0

    @property
    def covered_lines(self) -> Lines:
        """Its lines, without a last one that no newline ended."""
        return self.lines if self.last is None else self.lines.without(self.last)


def meta_of(text: str) -> Meta:
    """Return what an index is of, from what it says."""
    found: dict[str, Any] = json.loads(text)
    del found["hash"]
    found["key"] = tuple(found["key"])
    found["lines"] = Lines(**found["lines"])
    found["source"] = SourceMark(**found["source"])
    return Meta(**found)


def request(key: Key, fields: Sequence[str], *, typed: bool = False) -> KeyRequest:
    """Return a key as the core looks for it.

    Text is looked for as it is, a number however it is written. Unless `typed`, the
    text ``"1"`` and the number 1 are one key.
    """
    if len(fields) == 1 and not typed:
        if isinstance(key, str):
            return _request_of_text(key)
        if type(key) is int and -_FEW_DIGITS < key < _FEW_DIGITS:
            return _request_of_text(str(key))
    try:
        return request_of_json(_json_of(key), fields, typed=typed)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{key!r} is no key: {error}") from None


def _json_of(key: Key) -> str:
    """Write a key as JSON, decimals with all their digits.

    >>> _json_of(["a", Decimal("1E+400")])
    '["a", 1E+400]'
    """
    if isinstance(key, Decimal) and key.is_finite():
        return str(key)
    if isinstance(key, list | tuple):
        return f"[{', '.join(map(_json_of, key))}]"
    return json.dumps(key, allow_nan=False)


def _request_of_text(text: str) -> KeyRequest:
    try:
        return KeyRequest.of_text(text)
    except UnicodeEncodeError as error:
        raise UsageError(f"{text!r} is no key: {error.reason}") from None


def request_of_json(text: str, fields: Sequence[str], *, typed: bool) -> KeyRequest:
    """Return a key that is written as JSON as the core looks for it."""
    try:
        return KeyRequest(text, len(fields), typed)
    except ValueError as error:
        raise UsageError(f"{text} is no key of {','.join(fields)}: {error}") from None


class Written(NamedTuple):
    """An index that was written; `why` it has not the version that is usual."""

    version: int
    why: str | None
    records: int
    keys: int
    size: int


class Plan(NamedTuple):
    """What index is to be written.

    `hashes` says how many bytes the hashes of whole blocks are about, and has one more for
    the rest. `last` is what a last row without a newline is: ``key``, or one of `Lines`.
    `plain_numbers`: numbers that are the same double have the same key.
    """

    fields: Sequence[str]
    unique: bool
    version: int | None
    lines: Lines
    last: str | None
    plain_numbers: bool
    max_line: int
    max_depth: int
    logical_size: int
    coverage_end: int
    hashes: tuple[int, Sequence[int]]
    source: SourceMark


class Kept(NamedTuple):
    """An index that is continued, and its source.

    `whole`: it becomes one index; otherwise its delta becomes a longer one.
    """

    known: KeyIndex
    file: File
    whole: bool


def write_index(
    runs: Sequence[KeyRuns],
    path: Path,
    plan: Plan,
    *,
    source: str,
    line_of: Callable[[int], int],
    kept: Kept | None = None,
) -> Written:
    """Write the index of what is in `runs`, and of what is kept, to the empty file `path`.

    `line_of` is asked for the line numbers of two rows with one key. Raises
    `FewBitsError` where what is kept knows too little of its keys.
    """
    match write_key_index(runs, path, **plan._asdict(), kept=kept):
        case ("written", version, why, records, keys, size):
            return Written(version, why, records, keys, size)
        case ("duplicate", key, first, second):
            text = key.decode()
            raise DuplicateKeyError(source, text, line_of(first), line_of(second))
        case ("no_room", why):
            raise UsageError(
                f"{source}: version 1 has no room for it ({why}); let the version be chosen"
            )
        case ("no_bits",):
            raise FewBitsError(source)


class FewBitsError(HeadraceError):
    """Never shown: a compact index has outgrown its buckets, and is built anew."""
