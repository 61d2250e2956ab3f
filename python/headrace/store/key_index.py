"""Key indexes on disk: which file is that of a source, and whether it fits.

An index is used only if the source is proven to be what it was made of: by size,
times, identity and both ends, and where one of these differs, or is too fresh to
tell, by the hashes of all its blocks. Reading them takes less than the scan that it
saves. A source that only grew is *grown*: the index answers for what it has seen,
and the rest is scanned. An index that was updated has a *delta* beside it, which is used
only if it continues this very index; otherwise it is as if it were not there. What is not
ours is never touched, and who reads deletes nothing.
"""

from __future__ import annotations

import stat
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.errors import KeyIndexError, KeyIndexLockedError, UsageError
from headrace.kernel.key_index import KeyIndex, SourceMark, meta_of
from headrace.kernel.rows import SidecarError, reading
from headrace.store.atomic import remove_temporary
from headrace.store.key_names import SUFFIX, delta_of, is_index_name, lock_of, suffix_of
from headrace.store.lock import FileLock
from headrace.store.sidecars import sidecar_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.kernel.key_index import Meta
    from headrace.store.opened import OpenedFile
    from headrace.store.source import Source

Fault: TypeAlias = Literal["corrupt", "newer", "foreign", "stale"]
"""Why a file that is there is no index that we can read; a delta may be one of the past."""

_FAULTS: dict[str, Fault] = {
    "do not know": "newer",
    "not a key index": "foreign",
    "of another key index": "stale",
}
"""What the core says of files that are whole."""

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
class Unreadable:
    """A file where an index should be."""

    path: Path
    fault: Fault
    reason: str


@dataclass(frozen=True, slots=True)
class Delta:
    """The file of what was appended to a source since its index was built."""

    path: Path
    meta: Meta
    version: int
    size: int


@dataclass(frozen=True, slots=True)
class Stored:
    """An index that was opened, with its delta if it has one that can be used.

    `path` and `meta` are those of the base. `unused` is a delta that cannot be used.
    """

    path: Path
    index: KeyIndex
    meta: Meta
    delta: Delta | None = None
    unused: Unreadable | None = None

    @property
    def newest(self) -> Meta:
        """What is known of the source as it was last."""
        return self.meta if self.delta is None else self.delta.meta

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

    @property
    def newest_path(self) -> Path:
        """The file that says so."""
        return self.path if self.delta is None else self.delta.path

    def changed_ns(self) -> int:
        """Return when it was written."""
        return self.newest_path.stat().st_mtime_ns

    def without_delta(self) -> Stored:
        """Return the base alone."""
        with reading(str(self.path)):
            return Stored(self.path, KeyIndex(self.path), self.meta)


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether an index fits a source, and why not."""

    state: State
    reason: str = ""


def read(path: Path) -> Stored | Unreadable | None:
    """Open an index, with its delta if that is one of it; None if there is nothing."""
    base = _opened(path)
    if not isinstance(base, KeyIndex):
        return base
    place = delta_of(path)
    both = _opened(place, base=path)
    if isinstance(both, KeyIndex) and both.delta is not None:
        text, version, size = both.delta
        delta = Delta(place, meta_of(text), version, size)
        return Stored(path, both, meta_of(both.meta), delta)
    unused = both if isinstance(both, Unreadable) else None
    return Stored(path, base, meta_of(base.meta), unused=unused)


def _opened(path: Path, base: Path | None = None) -> KeyIndex | Unreadable | None:
    """Open an index, or with `base` that one with `path` as its delta."""
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
            return KeyIndex(path) if base is None else KeyIndex(base, path)
    except SidecarError as error:
        _path, offset, reason = error.args
        known = [fault for said, fault in _FAULTS.items() if said in reason]
        return Unreadable(path, [*known, "corrupt"][0], f"{reason} (byte {offset})")


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


def fitting(
    stored: Stored, source: Source, opened: OpenedFile, *, prove: bool = True
) -> tuple[Stored, Freshness]:
    """Compare a source with what its index was made of.

    Unless it is to `prove` it by reading the source, what times do not tell is stale. If a
    delta does not fit, the base may: the index to be used is returned too. Raises
    `KeyIndexError` where it is damaged.
    """
    try:
        found = _freshness(stored, source, opened, prove=prove)
        if stored.delta is None or found.state != "stale":
            return stored, found
    except SidecarError as error:
        if stored.delta is None:
            _path, offset, reason = error.args
            said = f"{reason} (byte {offset})"
            raise KeyIndexError(
                source.location, str(stored.path), "corrupt", said
            ) from None
    return fitting(stored.without_delta(), source, opened, prove=prove)


def _freshness(
    stored: Stored, source: Source, opened: OpenedFile, *, prove: bool
) -> Freshness:
    made, now = stored.newest.source, mark_of(source, opened)
    if made.codec != now.codec:
        return Freshness("stale", "source_replaced")
    plain = made.codec == "none"
    least = stored.newest.coverage_end if plain else made.size
    if now.size < least:
        return Freshness("stale", "source_truncated")
    if not plain and now.size > made.size:
        return Freshness("stale", "source_modified")
    settled = now.ctime_ns + _TOO_FRESH_NS < stored.changed_ns()
    if made == now and now.ctime_ns and settled:
        return Freshness("fresh")
    if not prove:
        return Freshness("stale", "source_unproven")
    with reading(str(stored.newest_path)):
        fit = stored.index.fit(opened.file, now.size)
    if fit == "whole":
        return Freshness("fresh")
    if fit == "covered":
        grown = now.size > made.size
        return Freshness("grown", "source_grown" if grown else "source_end_changed")
    shorter = now.size < made.size
    return Freshness("stale", "source_truncated" if shorter else "source_modified")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Be the only one who writes an index, or raise `KeyIndexLockedError`."""
    lock = FileLock(lock_of(path), partial(KeyIndexLockedError, str(path)))
    try:
        for file in (path, delta_of(path)):
            remove_temporary(file)
        yield
    finally:
        lock.release()


def remove_delta(path: Path) -> None:
    """Remove the delta of an index, which there is no use for any more."""
    match _opened(delta_of(path), base=path):
        case None | Unreadable(fault="foreign" | "newer"):
            pass
        case _:
            delta_of(path).unlink(missing_ok=True)


def unusable(source: Source, fields: Sequence[str] | None) -> KeyIndexError:
    """Say that there is no index."""
    path = next(sidecar_places(source.location, SUFFIX))
    of_key = f" for {','.join(fields)}" if fields else ""
    reason = f"there is no key index{of_key}"
    return KeyIndexError(source.location, str(path), "missing", reason)


def refuse_unless_file(source: Source) -> None:
    """Raise if the rows of a source cannot be read twice."""
    if source.kind != "file":
        raise UsageError(
            f"{source.location}: rows are looked up in files; save it to one"
        )


def refuse_unless_seekable(source: Source) -> None:
    """Raise if the rows of a source have no places."""
    refuse_unless_file(source)
    if not source.seekable:
        raise UsageError(
            f"{source.location}: only files that can be entered in the middle have key "
            "indexes; run `headrace recompress`"
        )
