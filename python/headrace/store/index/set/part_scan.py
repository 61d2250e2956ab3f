"""Key scan of one part of a set, through the index of the set.

The part must be the one that was indexed; the other parts of the set do not matter. A look-up
finds the rows of all parts, and is cached for the next part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from headrace.kernel.checksum import digest
from headrace.kernel.rows import File, RowBatch, reading
from headrace.store.index.file import Unreadable
from headrace.store.index.key_scan import (
    KeyRows,
    Passed,
    Proven,
    limits,
    looked_up,
    places,
    warn,
)
from headrace.store.index.set.manifest import FILE_NAME, CoveredPart
from headrace.store.index.set.stored import SetStored, read
from headrace.store.rows.demand import IndexEstimate, IndexPolicy, Keys
from headrace.store.shards.names import part_of_set

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from headrace.kernel.key_index import KeyCandidates
    from headrace.store.files.opened import OpenedFile
    from headrace.store.rows.row_file import RowFile, RowOptions

_REMEMBERED = 8


class _Place(NamedTuple):
    """The bytes of a part among those of all parts of an index."""

    part: CoveredPart
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PartRows(KeyRows):
    """The rows of a part that the index of its set leads to, in order."""

    place_in_set: _Place = field(kw_only=True)

    @property
    def proven(self) -> Proven:
        """The identity of the index and the part, with which other processes need no proof."""
        return Proven(str(self.stored.path.absolute()), (self.place_in_set.part,))

    def _rows(self, first: int, count: int, max_bytes: int) -> RowBatch:
        at = self.place_in_set
        data = File.remote(_Shifted(self.opened, at).read_at, lambda: (at.end, 0, 0))
        return self.stored.index.rows(
            data,
            self.candidates,
            size=at.end,
            first=first,
            count=count,
            max_bytes=max_bytes,
            begins=at.start,
        )

    @property
    def offsets(self) -> list[int]:
        """The offset of each row in the decoded part."""
        return [offset - self.place_in_set.start for offset in self.candidates.offsets]

    def _offset(self, number: int) -> int:
        # `super()` does not work in a dataclass with slots.
        return KeyRows._offset(self, number) - self.place_in_set.start

    def lines(self) -> Passed:
        """Return the lines of the part."""
        lines = self.place_in_set.part.lines
        return Passed(lines.lines, lines.blank)


class _Shifted:
    """A part as it lies in the whole set: after other bytes, of which the last is a newline."""

    def __init__(self, opened: OpenedFile, at: _Place) -> None:
        self._data, self._start, self._end = opened.data, at.start, at.end

    def read_at(self, offset: int, length: int) -> bytes:
        if offset < self._start:
            return b"\n"
        length = min(length, self._end - offset)
        return self._data.read_at(offset - self._start, max(length, 0))


def offers(
    file: RowFile,
    open_file: Callable[[], OpenedFile],
    options: RowOptions,
    keys: Keys,
    max_depth: int,
    policy: IndexPolicy,
) -> Iterator[PartRows | IndexEstimate]:
    """Yield, for each key index of the set of a part, the matching rows, or why it cannot be used.

    Yields nothing if the file is no part of a set. It is opened when its rows are read.
    """
    found = part_of_set(file.source.location)
    if found is None:
        return
    names, path = found
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
        yield PartRows(file, open_file, index.stored, some, place_in_set=at)


def doubt(rows: KeyRows, *, prove: bool, proven: Collection[Proven] = ()) -> str:
    """Return why an index may not be that of the part, empty if it is.

    See `headrace.store.index.key_scan.doubt`.
    """
    assert isinstance(rows, PartRows)
    if rows.proven in proven or _is_same(rows, prove=prove):
        return ""
    return "part_modified" if prove else "source_unproven"


def _is_same(rows: PartRows, *, prove: bool) -> bool:
    """Whether a part is the one that was indexed."""
    part, source = rows.place_in_set.part, rows.source
    if source.size != part.bytes:
        return False
    if source.mtime_ns == part.mtime_ns:
        return True
    with reading(source.location):
        return prove and digest(File(source.location), part.bytes) == part.digest


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
    places: dict[str, _Place]


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


def _places(stored: SetStored) -> dict[str, _Place]:
    parts = stored.manifest.parts
    ends = accumulate(part.logical_bytes for part in parts)
    return {
        part.path: _Place(part, end - part.logical_bytes, end)
        for part, end in zip(parts, ends, strict=True)
    }
