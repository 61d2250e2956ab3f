"""Key indexes: building them, and looking keys up.

The classes that are imported here are the core's own. What a key is, and the format of the
file: docs/formats/key-index.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace._native import (
    KernelError,
    KeyCandidates,
    KeyIndex,
    KeyPackets,
    KeyRequest,
    KeyRuns,
    KeyScan,
    WantedKeys,
    rows_at,
    write_key_index,
)
from headrace.errors import DuplicateKeyError, HeadraceError, UsageError
from headrace.kernel.index_meta import IndexMeta, Lines, MadeOf, parsed_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace._native import File

__all__ = [
    "FewBitsError",
    "Kept",
    "Key",
    "KeyCandidates",
    "KeyIndex",
    "KeyPackets",
    "KeyRequest",
    "KeyRuns",
    "KeyScan",
    "Meta",
    "Plan",
    "Scalar",
    "Skipped",
    "WantedKeys",
    "Written",
    "meta_of",
    "request",
    "request_of_json",
    "rows_at",
    "skipped_by",
    "write_index",
]

_FEW_DIGITS = 10**100
"""Integers that are keys as they are written."""

Scalar: TypeAlias = "str | int | float | Decimal"
Key: TypeAlias = "Scalar | Sequence[Scalar]"
"""A value to look for; of a composite key a value for each field."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta(IndexMeta):
    """What a key index is of.

    How many `keys` a base and its delta have together is not always known.
    """

    key: tuple[str, ...]
    mode: str
    records: int
    keys: int | None
    plain_numbers: bool


def meta_of(text: str) -> Meta:
    """Return what an index is of, from what it says."""
    found = parsed_fields(json.loads(text))
    return Meta(**found | {"key": tuple(found["key"])})


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

    `hashes` are those of whole blocks, and one more for the rest. `plain_numbers`: numbers
    that are the same double have the same key.
    """

    fields: Sequence[str]
    unique: bool
    version: int | None
    lines: Lines
    plain_numbers: bool
    made_of: MadeOf
    hashes: Sequence[int]


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
    """Write the index of `runs`, and of `kept` if given, to the empty file `path`.

    `line_of` returns the line number of a row, for the error of two rows with one key. Raises
    `FewBitsError` if the index that is continued has too few bits of its keys.
    """
    try:
        return Written(*write_key_index(runs, path, plan, kept))
    except KernelError as error:
        match error.args:
            case ("duplicate", bytes(key), first, second):
                lines = line_of(first), line_of(second)
                raise DuplicateKeyError(source, key.decode(), *lines) from None
            case ("no_room", why):
                problem = f"version 1 has no room for it ({why})"
                advice = "let the version be chosen"
                raise UsageError(f"{source}: {problem}; {advice}") from None
            case ("no_bits",):
                raise FewBitsError(source) from None
            case _:
                raise


class FewBitsError(HeadraceError):
    """Never shown: a compact index has outgrown its buckets, and is built anew."""

    WHAT = "{source}"

    source: str
