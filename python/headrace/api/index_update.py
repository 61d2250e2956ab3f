"""Bringing indexes up to date, of any kind.

What the kinds do differently is `Kind`; what must be proven, and when a delta has become too
large, is the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from headrace.engines.index_kinds import COMPACT_FROM
from headrace.engines.local import key_update
from headrace.errors import KeyIndexError
from headrace.kernel.key_index import FewBitsError
from headrace.store import index_file as store
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headrace.engines.index_kinds import Built
    from headrace.store.source import Source

S = TypeVar("S", bound="store.AnyStored")
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Updated(Generic[W]):
    """What came of an update.

    `mode` is ``none`` if there was nothing new, ``incremental``, or ``full``. `built` is the
    delta, or the whole index; `revalidated`: the file looked different, and was not.
    `compacted` is what became of base and delta, where the delta was large; `full_advised`
    says why that was not possible.
    """

    mode: Literal["none", "incremental", "full"]
    built: Built[W] | None = None
    revalidated: bool = False
    compacted: Built[W] | None = None
    full_advised: str | None = None


class Kind(NamedTuple, Generic[S, W]):
    """How a kind of index is found, built again, continued and made one with its delta.

    `missing` says that there is none.
    """

    stored: type[S]
    find: Callable[[], S | store.Unreadable | None]
    missing: Callable[[], KeyIndexError]
    rebuild: Callable[[S | store.Unreadable], Built[W]]
    update: Callable[[S], Built[W]]
    compact: Callable[[S], Built[W]]


def update_index(kind: Kind[S, W], source: Source, *, full: bool) -> Updated[W]:
    """Bring an index up to date, reading only what was appended."""
    store.refuse_unless_seekable(source)
    with _locked(kind) as found:
        if full:
            return Updated("full", kind.rebuild(found))
        stored, fresh = _proven(kind, source, found)
        if fresh.state == "fresh":
            return _revalidated(source, stored)
        _refuse_foreign(kind, source, found)
        return _compacted_if_large(kind, source, stored.path, kind.update(stored))


def compact_index(kind: Kind[S, W], source: Source) -> Built[W] | None:
    """Make one index of an index and its delta; None if it has no delta."""
    store.refuse_unless_seekable(source)
    with _locked(kind) as found:
        stored, _fresh = _proven(kind, source, found)
        if stored.delta is not None:
            return _compacted(kind, source, stored)
        if not isinstance(found, store.Unreadable):
            _refuse_lost(kind, source, found)
        return None


@contextmanager
def _locked(kind: Kind[S, W]) -> Iterator[S | store.Unreadable]:
    """Be the only one who writes an index; gives it as it is now."""
    found = kind.find()
    if found is None:
        raise kind.missing()
    with store.writing(found.path):
        # Somebody may have written it until now.
        again = store.read(found.path, kind.stored)
        if again is None:
            raise kind.missing()
        yield again


def trouble(
    kind: type[S], source: Source, found: S | store.Unreadable, reason: str = ""
) -> KeyIndexError:
    """Say why an index cannot be continued."""
    fault = found.fault if isinstance(found, store.Unreadable) else "stale"
    if isinstance(found, store.Unreadable):
        reason = found.reason
    return kind.ERROR(source.location, str(found.path), fault, reason)


def _proven(
    kind: Kind[S, W], source: Source, found: S | store.Unreadable
) -> tuple[S, store.Freshness]:
    """Prove that a file is what its index was made of, or has only grown."""
    if isinstance(found, store.Unreadable):
        raise trouble(kind.stored, source, found)
    stored, fresh = store.fitting(found, source, OpenedFile(source))
    if fresh.state == "stale":
        raise trouble(kind.stored, source, found, fresh.reason)
    if (
        stored.newest.last is None
        and stored.newest.coverage_end < stored.newest.logical_size
    ):
        raise trouble(kind.stored, source, found, "older_index")
    return stored, fresh


def _revalidated(source: Source, stored: S) -> Updated[W]:
    """Note what a file looks like that is proven to be the same."""
    if store.mark_of(source, OpenedFile(source)) == stored.newest.source:
        return Updated("none")
    key_update.restamp(source, stored)
    return Updated("none", revalidated=True)


def _compacted_if_large(
    kind: Kind[S, W], source: Source, path: Path, delta: Built[W]
) -> Updated[W]:
    stored = store.read(path, kind.stored)
    if stored is None or isinstance(stored, store.Unreadable) or stored.delta is None:
        gone = store.Unreadable(path, "corrupt", "it is gone")
        raise trouble(kind.stored, source, stored or gone)
    rows = stored.meta.lines.records
    if stored.delta.meta.lines.records <= COMPACT_FROM * rows:
        return Updated("incremental", delta)
    try:
        compacted = _compacted(kind, source, stored)
    except KeyIndexError as error:
        return Updated("incremental", delta, full_advised=error.reason)
    return Updated("incremental", delta, compacted=compacted)


def _compacted(kind: Kind[S, W], source: Source, stored: S) -> Built[W]:
    try:
        return kind.compact(stored)
    except FewBitsError:
        raise trouble(kind.stored, source, stored, "buckets_full") from None


def _refuse_foreign(
    kind: Kind[S, W], source: Source, found: S | store.Unreadable
) -> None:
    """Raise if something that is not ours is in the place of the delta."""
    unused = None if isinstance(found, store.Unreadable) else found.unused
    if unused is not None and unused.fault in ("foreign", "newer"):
        raise trouble(kind.stored, source, unused)


def _refuse_lost(kind: Kind[S, W], source: Source, found: S) -> None:
    """Raise if there is a delta that cannot be used."""
    if found.delta is not None:
        raise trouble(kind.stored, source, found, "source_truncated")
    if found.unused is not None and found.unused.fault == "corrupt":
        raise trouble(kind.stored, source, found.unused)
