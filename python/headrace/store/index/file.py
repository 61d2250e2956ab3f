"""Indexes on disk: whether a file is one, and whether it fits its source.

An index is used only if the source is proven to be what it was made of: by size,
times, identity and both ends, and where one of these differs, or is too fresh to
tell, by the hashes of all its blocks. Reading them takes less than the scan that it
saves. A source that only grew is *grown*: the index answers for what it has seen,
and the rest is scanned. An index that was updated has a *delta* beside it, which is used
only if it continues this very index; otherwise it is as if it were not there. What is not
ours is never touched, and who reads deletes nothing.

There are kinds of indexes, each a class of `Stored`: `store/index/key.py`,
`store/index/graph.py`.
"""

from __future__ import annotations

import shlex
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
)

from headrace.errors import (
    KeyIndexError,
    KeyIndexLockedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.kernel.index_meta import IndexMeta, SealedIndex, SourceMark
from headrace.kernel.rows import SidecarError, reading
from headrace.store.files import system
from headrace.store.files.atomic import remove_temporary
from headrace.store.files.lock import FileLock
from headrace.store.index.key_names import delta_of, lock_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source

Fault: TypeAlias = Literal["corrupt", "newer", "foreign", "stale", "missing"]
"""Why there is no index that we can read; a delta may be one of the past."""

_FAULTS: dict[str, Fault] = {
    "do not know": "newer",
    "not a key index": "foreign",
    "not a graph index": "foreign",
    "the delta of another": "stale",
}
"""What the core says of files that are whole."""

State: TypeAlias = Literal["fresh", "grown", "stale"]

_NEWEST = 2
_ATTEMPTS = 8
"""How often an index may be replaced while it is being opened."""
_TOO_FRESH_NS = 50_000_000
"""A change this soon before an index was written may not show in the times of a file."""


X = TypeVar("X", bound=SealedIndex)
M = TypeVar("M", bound=IndexMeta)


@dataclass(frozen=True, slots=True)
class Where:
    """Where indexes are: in one file, in one directory, or in any place for sidecars."""

    path: str | None = None
    directory: str | None = None


def place_options(where: Where) -> str:
    """Return the options of `headrace index build` for an index in such a place."""
    named = (("--out", where.path), ("--index-dir", where.directory))
    return "".join(f" {flag} {shlex.quote(to)}" for flag, to in named if to is not None)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file where an index should be, or nothing."""

    path: Path
    fault: Fault
    reason: str


@dataclass(frozen=True, slots=True)
class Delta(Generic[M]):
    """The file of what was appended to a source since its index was built."""

    path: Path
    meta: M
    version: int
    size: int


@dataclass(frozen=True, slots=True)
class Stored(Generic[X, M]):
    """An index that was opened, with its delta if it has one that can be used.

    `path` and `meta` are those of the base. `unused` is a delta that cannot be used.
    `alone` is the base without its delta, from the same moment.
    """

    NAME: ClassVar[str]
    ERROR: ClassVar[type[KeyIndexError]]

    path: Path
    index: X
    meta: M
    delta: Delta[M] | None = None
    unused: Unreadable | None = None
    alone: X | None = None

    @staticmethod
    def begins(head: bytes) -> bool:
        """Whether the first bytes of a file are those of such an index."""
        raise NotImplementedError

    @staticmethod
    def opened(path: Path, delta: Path | None = None) -> X:
        """Have the core open files."""
        raise NotImplementedError

    @staticmethod
    def meta_of(text: str) -> M:
        """Return what an index is of, from what it says."""
        raise NotImplementedError

    @property
    def fields(self) -> tuple[str | None, ...]:
        """The fields that the index is of."""
        raise NotImplementedError

    @property
    def whole(self) -> M:
        """The description of base and delta together."""
        raise NotImplementedError

    @property
    def newest(self) -> M:
        """What is known of the source as it was last."""
        return self.meta if self.delta is None else self.delta.meta

    @property
    def newest_path(self) -> Path:
        """The file that says so."""
        return self.path if self.delta is None else self.delta.path

    def changed_ns(self, location: str) -> int:
        """Return when the index of a file was written; raises if it was removed since."""
        # The delta may have become one with the base meanwhile.
        for path in (self.newest_path, self.path):
            with suppress(FileNotFoundError):
                return path.stat().st_mtime_ns
        reason = "it was removed after it was opened"
        raise self.ERROR(location, str(self.path), "missing", reason)

    def without_delta(self) -> Self:
        """Return the base alone."""
        if self.alone is not None:
            return type(self)(self.path, self.alone, self.meta)
        with reading(str(self.path)):
            return type(self)(self.path, self.opened(self.path), self.meta)


AnyStored: TypeAlias = "Stored[Any, Any]"
S = TypeVar("S", bound="Stored[Any, Any]")


@dataclass(frozen=True, slots=True)
class Freshness:
    """Whether an index fits a source, and why not."""

    state: State
    reason: str = ""


def read(path: Path, kind: type[S]) -> S | Unreadable | None:
    """Open an index, with its delta if that is one of it; None if there is nothing.

    Readers need no lock: an update that replaces a file while both are opened is noticed,
    and both are opened again.
    """
    before = _identities(path)
    for _attempt in range(_ATTEMPTS):
        found = _read(path, kind)
        after = _identities(path)
        if after == before:
            return found
        before = after
    # Both were opened whole, if not of one moment: the base answers for what it has seen.
    return _read(path, kind)


def _identities(path: Path) -> list[tuple[int, int, int] | None]:
    """Tell apart the files that one name stood for at different times, of base and delta."""
    found: list[tuple[int, int, int] | None] = []
    for file in (path, delta_of(path)):
        try:
            looks = file.stat()
        except OSError:
            found.append(None)
        else:
            found.append((looks.st_ino, looks.st_size, looks.st_mtime_ns))
    return found


def _read(path: Path, kind: type[S]) -> S | Unreadable | None:
    base = _opened(path, kind)
    if base is None or isinstance(base, Unreadable):
        return base
    place = delta_of(path)
    both = _opened(place, kind, base=path)
    if both is None or isinstance(both, Unreadable):
        return kind(path, base, kind.meta_of(base.meta), unused=both)
    assert both.delta is not None
    text, version, size = both.delta
    delta = Delta(place, kind.meta_of(text), version, size)
    alone = base if base.build_id == both.build_id else None
    return kind(path, both, kind.meta_of(both.meta), delta, alone=alone)


def _opened(
    path: Path, kind: type[S], base: Path | None = None
) -> SealedIndex | Unreadable | None:
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
    if not head:
        return Unreadable(path, "corrupt", "it is empty")
    if len(head) < 8 or not kind.begins(head):
        return Unreadable(path, "foreign", f"not a {kind.NAME}")
    if int.from_bytes(head[4:], "little") > _NEWEST:
        reason = f"a version of {kind.NAME} that we do not know"
        return Unreadable(path, "newer", reason)
    try:
        with reading(str(path)):
            files = (path,) if base is None else (base, path)
            index: SealedIndex = kind.opened(*files)
            return index
    except SourceNotFoundError:
        # Another process removed it after its first bytes were read.
        return None
    except SidecarError as error:
        known = [fault for said, fault in _FAULTS.items() if said in error.reason]
        return Unreadable(path, [*known, "corrupt"][0], error.damage)


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
    stored: S, source: Source, opened: OpenedFile, *, prove: bool = True
) -> tuple[S, Freshness]:
    """Compare a source with what its index was made of.

    Unless it is to `prove` it by reading the source, what times do not tell is stale. If a
    delta does not fit, the base may: the index to be used is returned too. Raises
    `KeyIndexError` where it is damaged.
    """
    damaged = None
    try:
        found = _freshness(stored, source, opened, prove=prove)
        if stored.delta is None or found.state != "stale":
            return stored, found
    except SidecarError as error:
        said = error.damage
        if stored.delta is None:
            raise stored.ERROR(
                source.location, str(stored.path), "corrupt", said
            ) from None
        damaged = Unreadable(stored.delta.path, "corrupt", said)
    base = replace(stored.without_delta(), unused=damaged)
    return fitting(base, source, opened, prove=prove)


def _freshness(
    stored: AnyStored,
    source: Source,
    opened: OpenedFile,
    *,
    prove: bool,
) -> Freshness:
    made, now = stored.newest.source, mark_of(source, opened)
    if made.codec != now.codec:
        return Freshness("stale", "source_replaced")
    plain = made.codec == "none"
    least = stored.newest.coverage_end if plain else made.size
    if now.size < least:
        grew = _size_of(source) >= least
        return Freshness("stale", "index_newer" if grew else "source_truncated")
    if not plain and now.size > made.size:
        return Freshness("stale", "source_modified")
    settled = now.ctime_ns + _TOO_FRESH_NS < stored.changed_ns(source.location)
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


def _size_of(source: Source) -> int:
    """Return the size of a file as it is now; `source` has that of when it was opened."""
    with reading(source.location):
        return Path(source.location).stat().st_size


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


def remove_delta(path: Path, kind: type[S]) -> None:
    """Remove the delta of an index, which there is no use for any more."""
    match _opened(delta_of(path), kind, base=path):
        case None | Unreadable(fault="foreign" | "newer"):
            pass
        case _:
            system.unlink_if_exists(delta_of(path))


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
            f"{source.location}: only files that can be entered in the middle have "
            "indexes; run `headrace recompress`"
        )
