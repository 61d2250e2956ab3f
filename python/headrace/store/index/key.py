"""Key indexes on disk: which file is that of a source and a key.

Whether it fits is said by `store/index/file.py`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from headrace.errors import KeyIndexError
from headrace.kernel.key_index import KeyIndex, Meta, meta_of
from headrace.store.files.sidecars import sidecar_places
from headrace.store.index import file as index_file
from headrace.store.index.file import Unreadable, Where, place_options
from headrace.store.index.key_names import SUFFIX, is_index_name, only_one, suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.store.files.source import Source


@dataclass(frozen=True, slots=True)
class Stored(index_file.Stored[KeyIndex, Meta]):
    """A key index that was opened."""

    NAME: ClassVar = "key index"
    ERROR: ClassVar = KeyIndexError

    @staticmethod
    def begins(head: bytes) -> bool:
        """Whether the first bytes of a file are those of a key index."""
        return head[:3] == b"JNX" and head[3:4] != b"G"

    @staticmethod
    def opened(path: Path, delta: Path | None = None) -> KeyIndex:
        """Have the core open files."""
        return KeyIndex(path, delta)

    @staticmethod
    def meta_of(text: str) -> Meta:
        """Return what an index is of, from what it says."""
        return meta_of(text)

    @property
    def whole(self) -> Meta:
        """What base and delta are of together."""
        if self.delta is None:
            return self.meta
        lines = self.meta.covered_lines.plus(self.delta.meta.lines)
        keys = lines.records if self.meta.mode == "unique" else None
        return replace(
            self.delta.meta,
            lines=lines,
            records=lines.records,
            keys=keys,
            base=None,
            covers=0,
        )


def read(path: Path) -> Stored | Unreadable | None:
    """Open a key index, with its delta if that is one of it; None if there is nothing."""
    return index_file.read(path, Stored)


def find(
    source: Source, fields: Sequence[str] | None, where: Where
) -> Stored | Unreadable | None:
    """Return the index of a key, or what is in its place; without `fields`, the only one."""
    unreadable = None
    found: dict[tuple[str, ...], Stored] = {}
    for path in _candidates(source, fields, where):
        match read(path):
            case Stored(meta=meta) as stored if fields in (None, list(meta.key)):
                found.setdefault(meta.key, stored)
            case Unreadable() as wrong:
                unreadable = unreadable or wrong
            case _:
                pass
    return only_one(source.location, found) or unreadable


def _candidates(
    source: Source, fields: Sequence[str] | None, where: Where
) -> Iterator[Path]:
    if where.path is not None:
        yield Path(where.path)
        return
    if fields is not None:
        suffixes = [suffix_of(fields), SUFFIX]
        for suffix in suffixes:
            yield from sidecar_places(source.location, suffix, where.directory)
        return
    for place in sidecar_places(source.location, SUFFIX, where.directory):
        yield place
        if place.parent.is_dir():
            prefix = f"{place.name}."
            names = sorted(path.name for path in place.parent.iterdir())
            yield from (
                place.with_name(name)
                for name in names
                if name.startswith(prefix) and is_index_name(name.removeprefix(prefix))
            )


def destinations(
    source: Source, fields: Sequence[str], where: Where, *, force: bool
) -> Iterator[Path]:
    """List where a new index of a key may go, the best place first.

    It takes the place of an index of the same key, or of one that is damaged; with
    `force`, also that of an index of another key.
    """
    if where.path is not None:
        path = Path(where.path)
        if _may_replace(path, fields) or (force and _is_ours(path)):
            yield path
        return
    plain = sidecar_places(source.location, SUFFIX, where.directory)
    named = sidecar_places(source.location, suffix_of(fields), where.directory)
    for place, other in zip(plain, named, strict=True):
        if isinstance(read(other), Stored):
            yield other
        elif _may_replace(place, fields) or (force and _is_ours(place)):
            yield place
        elif _may_replace(other, fields):
            yield other


def taken(source: Source, where: Where) -> KeyIndexError:
    """Say that an index has no place to go."""
    place = where.path or next(sidecar_places(source.location, SUFFIX, where.directory))
    reason = "something else is in its place"
    return KeyIndexError(source.location, str(place), "foreign", reason)


def _is_ours(path: Path) -> bool:
    return isinstance(read(path), Stored)


def _may_replace(path: Path, fields: Sequence[str]) -> bool:
    match read(path):
        case None:
            return True
        case Stored(meta=meta):
            return meta.key == tuple(fields)
        case Unreadable(fault=fault):
            return fault == "corrupt"


def unusable(
    source: Source, fields: Sequence[str] | None, where: Where
) -> KeyIndexError:
    """Say that there is no index."""
    path = where.path or next(sidecar_places(source.location, SUFFIX, where.directory))
    of_key = f" for {','.join(fields)}" if fields else ""
    reason = f"there is no key index{of_key}"
    build = KeyIndexError.build if fields is None else build_options(fields, where)
    return KeyIndexError(source.location, str(path), "missing", reason, build)


def build_options(fields: Sequence[str], where: Where) -> str:
    """Return the options of `headrace index build` for an index of a key.

    >>> build_options(["id"], Where()), build_options(["a b", "c"], Where(path="x.jnx"))
    ('--on id', "--on 'a b,c' --out x.jnx")
    """
    return f"--on {shlex.quote(','.join(fields))}{place_options(where)}"
