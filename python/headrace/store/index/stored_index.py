"""Index files: how one is opened, and whether it fits its source.

An index is used only if the source is proven to be the one it was built from: by size, times,
identity and both ends; and where one of these differs, or is too fresh to be relied on, by the
hashes of all blocks. Reading the blocks takes less than the scan that the index saves. A source
that only grew is *grown*: the index answers for the bytes that it covers, and the rest is scanned.
An updated index has a *delta* beside it, which is used only if it continues this very index;
otherwise it is ignored. A file that headrace did not write is never touched, and readers delete
nothing.

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
from headrace.kernel.index_meta import IndexMeta, Lines, SealedIndex, SourceMark
from headrace.kernel.rows import SidecarError, reading
from headrace.store.files import system
from headrace.store.files.atomic import remove_temporary, unwritable_whole
from headrace.store.files.lock import FileLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source

Fault: TypeAlias = Literal["corrupt", "newer", "foreign", "stale", "missing"]
"""Why an index cannot be used; `stale` is a delta of an older base."""

_FAULTS: dict[str, Fault] = {
    "do not know": "newer",
    "not a key index": "foreign",
    "not a graph index": "foreign",
    "the delta of another": "stale",
}
"""Texts in the errors of the core for undamaged files."""

State: TypeAlias = Literal["fresh", "grown", "stale"]

_NEWEST = 2
_ATTEMPTS = 8
"""Limit on attempts to open an index that is replaced meanwhile."""
_TOO_FRESH_NS = 50_000_000
"""A change this soon before an index was written may leave the times of a file as they were."""


X = TypeVar("X", bound=SealedIndex)
M = TypeVar("M", bound=IndexMeta)


@dataclass(frozen=True, slots=True)
class Where:
    """The place of an index: one file, one directory, or any sidecar path."""

    path: str | None = None
    directory: str | None = None


def place_options(where: Where) -> str:
    """Return the options of `headrace index build` for an index in this place."""
    named = (("--index", where.path), ("--index-dir", where.directory))
    return "".join(f" {flag} {shlex.quote(to)}" for flag, to in named if to is not None)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file in the place of an index that cannot be used."""

    path: Path
    fault: Fault
    reason: str


@dataclass(frozen=True, slots=True)
class Delta(Generic[M]):
    """A delta: the index of the rows that were appended since the base was built."""

    path: Path
    meta: M
    version: int
    size: int


@dataclass(frozen=True, slots=True)
class Stored(Generic[X, M]):
    """An opened index, with its delta if that can be used.

    `path` and `meta` belong to the base. `unused` is a delta that cannot be used. `alone` is the
    base without its delta, opened at the same moment.
    """

    NAME: ClassVar[str]
    ERROR: ClassVar[type[KeyIndexError]]
    opened: ClassVar[Callable[..., Any]]
    """Opens the files of base and delta."""
    meta_of: ClassVar[staticmethod[[str], Any]]
    """Parses the description in an index."""

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

    @property
    def fields(self) -> tuple[str | None, ...]:
        """The fields that the index is of."""
        raise NotImplementedError

    def counts(self, lines: Lines) -> dict[str, int | None]:
        """Return what the kind counts in base and delta together, which are of these lines."""
        raise NotImplementedError

    @property
    def whole(self) -> M:
        """The description of base and delta together."""
        if self.delta is None:
            return self.meta
        lines = self.meta.covered_lines.plus(self.delta.meta.lines)
        counts: dict[str, Any] = self.counts(lines)
        return replace(self.delta.meta, lines=lines, base=None, covers=0, **counts)

    @property
    def newest(self) -> M:
        """The description of the latest state of the source."""
        return self.meta if self.delta is None else self.delta.meta

    @property
    def newest_path(self) -> Path:
        """The file with that description."""
        return self.path if self.delta is None else self.delta.path

    def changed_ns(self, location: str) -> int:
        """Return when the index was written; raises if it was removed since."""
        # Another process may have compacted base and delta meanwhile.
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
    """Open an index, with its delta if that continues it; None if there is no file.

    Readers need no lock: if an update replaces a file while both are opened, both are opened
    again.
    """
    before = _identities(path)
    for _attempt in range(_ATTEMPTS):
        found = _read(path, kind)
        after = _identities(path)
        if after == before:
            return found
        before = after
    # Both are whole, even if of different moments: the base answers for the bytes it covers.
    return _read(path, kind)


def _identities(path: Path) -> list[tuple[int, int, int] | None]:
    """Return what identifies the present files of base and delta."""
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
    """Open an index; with `base`, open that with `path` as its delta."""
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
        reason = f"an unknown version of {kind.NAME}"
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
        known = [fault for text, fault in _FAULTS.items() if text in error.reason]
        return Unreadable(path, [*known, "corrupt"][0], error.damage)


def delta_of(path: Path) -> Path:
    """Return the path of the delta of an index."""
    return path.with_name(f"{path.name}.delta")


def lock_of(path: Path) -> Path:
    """Return the path of the lock of an index, which its writer holds."""
    return path.with_name(f"{path.name}.lock")


def mark_of(source: Source, opened: OpenedFile) -> SourceMark:
    """Return the mark of a source, which its index keeps to recognise it."""
    size, mtime_ns, ctime_ns = opened.stat()
    with reading(source.location):
        named = Path(source.location).stat()
    same = (named.st_size, named.st_mtime_ns) == (size, mtime_ns)
    if not same or (size, mtime_ns) != (source.size, source.mtime_ns):
        # It has grown meanwhile. An impossible time makes the next reader compare the blocks.
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
    """Compare a source with the one that its index was built from.

    `prove`: the source may be read for that; otherwise a difference in times means stale. If a
    delta does not fit, the base may: the index to use is returned too. Raises `KeyIndexError`
    if the index is damaged.
    """
    damaged = None
    try:
        found = _freshness(stored, source, opened, prove=prove)
        if stored.delta is None or found.state != "stale":
            return stored, found
    except SidecarError as error:
        if stored.delta is None:
            raise stored.ERROR(
                source.location, str(stored.path), "corrupt", error.damage
            ) from None
        damaged = Unreadable(stored.delta.path, "corrupt", error.damage)
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
    """Return the present size of a file; `source` has its size when it was opened."""
    with reading(source.location):
        return Path(source.location).stat().st_size


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the lock of an index, or raise `KeyIndexLockedError`.

    A call of the operating system that fails is an `UnwritableError`.
    """
    with unwritable_whole(path):
        lock = FileLock(lock_of(path), partial(KeyIndexLockedError, str(path)))
        try:
            for file in (path, delta_of(path)):
                remove_temporary(file)
            yield
        finally:
            lock.release()


def remove_delta(path: Path, kind: type[S]) -> None:
    """Remove the delta of an index that is no longer needed."""
    match _opened(delta_of(path), kind, base=path):
        case None | Unreadable(fault="foreign" | "newer"):
            pass
        case _:
            system.unlink_if_exists(delta_of(path))


def refuse_unless_file(source: Source) -> None:
    """Raise if the rows of a source cannot be read twice."""
    if source.kind != "file":
        raise UsageError(f"{source.location}: a look-up needs a file; save it to one")


def refuse_unless_seekable(source: Source) -> None:
    """Raise if the rows of a source cannot be read by offset."""
    refuse_unless_file(source)
    if not source.seekable:
        raise UsageError(
            f"{source.location}: only seekable files can be indexed; "
            "run `headrace recompress`"
        )
