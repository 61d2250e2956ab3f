"""Key indexes on disk: which file is that of a source, and whether it fits.

An index is used only if the source is proven to be what it was made of: by size,
times, identity and both ends, and where one of these differs, or is too fresh to
tell, by the hashes of all its blocks. Reading them takes less than the scan that it
saves. A source that only grew is *grown*: the index answers for what it has seen,
and the rest is scanned. What is not ours is never touched, and nothing is deleted.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import KeyIndexError, UsageError
from headrace.kernel.key_index import KeyIndex, SourceMark, meta_of
from headrace.kernel.rows import SidecarError, reading
from headrace.store.key_names import SUFFIX, suffix_of
from headrace.store.sidecars import sidecar_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.key_index import Meta
    from headrace.store.opened import OpenedFile
    from headrace.store.source import Source

Fault: TypeAlias = Literal["corrupt", "newer", "foreign"]
"""Why a file that is there is no index that we can read."""

State: TypeAlias = Literal["fresh", "grown", "stale"]

_NEWEST = 2
_TOO_FRESH_NS = 50_000_000
"""A change this soon before an index was written may not show in the times of a file."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where indexes are: in one file, in one directory, or in any place for sidecars."""

    path: str | None = None
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """An index that was opened."""

    path: Path
    index: KeyIndex
    meta: Meta

    def changed_ns(self) -> int:
        """Return when it was written."""
        return self.path.stat().st_mtime_ns


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file where an index should be."""

    path: Path
    fault: Fault
    reason: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether an index fits a source, and why not."""

    state: State
    reason: str = ""


def read(path: Path) -> Stored | Unreadable | None:
    """Open an index; None if there is nothing."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return Unreadable(path, "foreign", "not a file")
        with path.open("rb") as file:
            head = file.read(8)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Unreadable(path, "foreign", f"cannot be read: {error.strerror}")
    if head[:3] != b"JNX" or len(head) < 8 or head[3:4] == b"G":
        return Unreadable(path, "foreign", "not a key index")
    if int.from_bytes(head[4:], "little") > _NEWEST:
        return Unreadable(path, "newer", "a version of key index that we do not know")
    try:
        with reading(str(path)):
            index = KeyIndex(path)
        return Stored(path, index, meta_of(index))
    except SidecarError as error:
        _path, offset, reason = error.args
        # Something that we do not know, with the right checksums, is no damage.
        fault: Fault = "newer" if "do not know" in reason else "corrupt"
        return Unreadable(path, fault, f"{reason} (byte {offset})")


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
    if len(found) > 1:
        keys = " ".join(",".join(key) for key in found)
        raise UsageError(f"{source.location}: has several indexes; name one of: {keys}")
    return next(iter(found.values()), unreadable)


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
                if name.startswith(prefix) and not name.endswith(".graph")
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


def mark_of(source: Source, opened: OpenedFile) -> SourceMark:
    """Return what a source looks like, to be kept in its index."""
    size, mtime_ns, ctime_ns = opened.stat()
    with reading(source.location):
        named = Path(source.location).stat()
    same = (named.st_size, named.st_mtime_ns) == (size, mtime_ns)
    if not same or (size, mtime_ns) != (source.size, source.mtime_ns):
        # It has grown meanwhile. A time that no file has makes the next user look closer.
        ctime_ns = 0
    return SourceMark(
        source.size,
        source.mtime_ns,
        ctime_ns,
        named.st_dev,
        named.st_ino,
        *source.ends,
        source.codec,
    )


def freshness(stored: Stored, source: Source, opened: OpenedFile) -> Freshness:
    """Compare a source with what its index was made of."""
    made, now = stored.meta.source, mark_of(source, opened)
    if made.codec != now.codec:
        return Freshness("stale", "source_replaced")
    if now.size < made.size:
        return Freshness("stale", "source_truncated")
    grown = now.size > made.size
    if grown and made.codec != "none":
        return Freshness("stale", "source_modified")
    settled = now.ctime_ns + _TOO_FRESH_NS < stored.changed_ns()
    if made == now and now.ctime_ns and settled:
        return Freshness("fresh")
    with reading(str(stored.path)):
        same = stored.index.is_of(opened.file, grown)
    if not same:
        return Freshness("stale", "source_modified")
    if grown:
        return Freshness("grown", "source_grown")
    return Freshness("fresh")


def unusable(source: Source, fields: Sequence[str] | None) -> KeyIndexError:
    """Say that there is no index."""
    path = next(sidecar_places(source.location, SUFFIX))
    of_key = f" for {','.join(fields)}" if fields else ""
    reason = f"there is no key index{of_key}"
    return KeyIndexError(source.location, str(path), "missing", reason)


def refuse_unless_seekable(source: Source) -> None:
    """Raise if the rows of a source have no places."""
    if source.kind != "file" or not source.seekable:
        raise UsageError(
            f"{source.location}: only files that can be entered anywhere have key "
            "indexes; save it to a file, or run `headrace recompress`"
        )
