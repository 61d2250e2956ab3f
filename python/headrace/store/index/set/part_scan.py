"""Key scan of one part of a set, through the index of the set.

The part must be the one that was indexed; the other parts of the set do not matter. A look-up
finds the rows of all parts, and is cached for the next part.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from headrace.store.index.key_scan import (
    KeyRows,
    PartPlace,
    limits,
    looked_up,
    places,
    warn,
)
from headrace.store.index.set.manifest import FILE_NAME
from headrace.store.index.set.stored import SetStored, read
from headrace.store.index.stored_index import Unreadable
from headrace.store.rows.demand import IndexEstimate, IndexPolicy, Keys
from headrace.store.shards.names import part_of_set

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.kernel.key_index import KeyCandidates
    from headrace.store.rows.row_file import RowFile

_REMEMBERED = 8


def offers(
    file: RowFile, keys: Keys, max_depth: int, policy: IndexPolicy
) -> Iterator[KeyRows | IndexEstimate]:
    """Yield, for each key index of the set of a part, the matching rows, or why it cannot be used.

    Yields nothing if the file is no part of a set. It is opened when its rows are read.
    """
    found = part_of_set(file.source.location)
    if found is None:
        return
    (names, path), options = found, file.options
    for index in _indexes(names.text, keys, options.keeping.directory, policy):
        if isinstance(index, IndexEstimate):
            yield index
            continue
        index_path = str(index.stored.path)
        if (at := index.places.get(path)) is None:
            yield IndexEstimate(index_path, refusal="the part is newer than the index")
            continue
        meta = replace(index.stored.whole, lines=at.part.lines)
        if reason := limits(meta, options.max_line, max_depth):
            yield IndexEstimate(index_path, refusal=reason)
            continue
        some = index.candidates.within(at.start, at.end)
        yield KeyRows(file, index.stored, some, at)


class _Lookup:
    """Keys to look up, as a key of a cache.

    Compared by identity: `1` and `True` are equal in Python, but different keys.
    """

    def __init__(self, keys: Keys, policy: IndexPolicy) -> None:
        self.keys, self.policy = keys, policy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Lookup) and self.keys is other.keys

    def __hash__(self) -> int:
        return id(self.keys)


class _Index(NamedTuple):
    """The result of a look-up in an index, for all parts."""

    stored: SetStored
    candidates: KeyCandidates
    places: dict[str, PartPlace]


def _indexes(
    location: str, keys: Keys, directory: str | None, policy: IndexPolicy
) -> Iterator[_Index | IndexEstimate]:
    for path in places(location, keys, directory):
        try:
            seen = (path / FILE_NAME).stat()
        except OSError:
            continue
        looks = (seen.st_mtime_ns, seen.st_ino)
        found = _remembered(path, looks, location, _Lookup(keys, policy))
        if found is not None:
            yield found


@lru_cache(_REMEMBERED)
def _remembered(
    path: Path,
    _looks: tuple[int, int],
    location: str,
    lookup: _Lookup,
) -> _Index | IndexEstimate | None:
    keys, policy = lookup.keys, lookup.policy
    match read(path):
        case Unreadable(fault="corrupt", reason=reason):
            warn(f"{location}: {path}: {reason}")
            return IndexEstimate(str(path), refusal=reason)
        case SetStored() as stored if set(stored.whole.key) <= set(keys.names):
            candidates = looked_up(location, stored, keys, policy)
            if isinstance(candidates, IndexEstimate):
                return candidates
            return _Index(stored, candidates, _places(stored))
        case _:
            return None


def _places(stored: SetStored) -> dict[str, PartPlace]:
    parts = stored.manifest.parts
    ends = accumulate(part.logical_bytes for part in parts)
    return {
        part.path: PartPlace(part, end - part.logical_bytes, end)
        for part, end in zip(parts, ends, strict=True)
    }
