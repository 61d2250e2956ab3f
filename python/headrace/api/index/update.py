"""Updating indexes of any kind: proof that a file has only grown, deltas, compaction.

`Kind` is what differs between kinds of indexes; the proof, and the size at which a delta is
merged with its base, are the same.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

from headrace.engines.index.kinds import COMPACT_FROM, Built
from headrace.engines.local import index_build
from headrace.errors import KeyIndexError
from headrace.kernel.key_index import FewBitsError
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source
from headrace.store.index import stored_index
from headrace.store.index.catalog import Catalog

S = TypeVar("S", bound="stored_index.AnyStored")
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Updated(Generic[W]):
    """The result of an update.

    `mode` is ``none`` if the index was up to date, ``incremental``, or ``full``. `built` is the
    delta, or the whole index. `revalidated`: the file has another time or inode, and the same
    bytes. `compacted` is the index into which base and delta were merged, where the delta was
    large; `full_advised` is why they could not be.
    """

    mode: Literal["none", "incremental", "full"]
    built: Built[W] | None = None
    revalidated: bool = False
    compacted: Built[W] | None = None
    full_advised: str | None = None


class Kind(NamedTuple, Generic[S, W]):
    """How a kind of index is found, built again, continued and merged with its delta.

    Without `fields`, the file must have only one index.
    """

    indexes: Catalog[S]
    where: stored_index.Where
    fields: tuple[str, ...] | None
    rebuild: Callable[[S | stored_index.Unreadable], Built[W]]
    update: Callable[[S], Built[W]]
    compact: Callable[[S], Built[W]]


def update_index(kind: Kind[S, W], source: Source, *, full: bool) -> Updated[W]:
    """Update an index; only appended rows are read."""
    stored_index.refuse_unless_seekable(source)
    with _locked(kind, source) as found:
        if full:
            return Updated("full", kind.rebuild(found))
        stored, fresh = _proven(kind, source, found)
        if fresh.state == "fresh":
            return _revalidated(source, stored)
        _refuse_foreign(kind, source, found)
        return _compacted_if_large(kind, source, stored.path, kind.update(stored))


def compact_index(kind: Kind[S, W], source: Source) -> Built[W] | None:
    """Merge an index and its delta; None if it has no delta."""
    stored_index.refuse_unless_seekable(source)
    with _locked(kind, source) as found:
        stored, _fresh = _proven(kind, source, found)
        if stored.delta is not None:
            return _compacted(kind, source, stored)
        if not isinstance(found, stored_index.Unreadable):
            _refuse_lost(kind, source, found)
            # One of an index that was replaced, by a writer that was killed then.
            stored_index.remove_delta(found.path, kind.indexes.stored)
        return None


@contextmanager
def _locked(kind: Kind[S, W], source: Source) -> Iterator[S | stored_index.Unreadable]:
    """Lock an index for writing, and read it."""
    place = (source.location, kind.where, kind.fields)
    found = kind.indexes.required(*place)
    with stored_index.writing(found.path):
        # Another process may have written it before the lock was taken.
        again = kind.indexes.read(found.path)
        if again is None:
            raise kind.indexes.missing(*place)
        yield again


def trouble(
    kind: type[S], source: Source, found: S | stored_index.Unreadable, reason: str = ""
) -> KeyIndexError:
    """Return the error for an index that cannot be continued."""
    fault = found.fault if isinstance(found, stored_index.Unreadable) else "stale"
    if isinstance(found, stored_index.Unreadable):
        reason = found.reason
    return kind.ERROR(source.location, str(found.path), fault, reason)


def _proven(
    kind: Kind[S, W], source: Source, found: S | stored_index.Unreadable
) -> tuple[S, stored_index.Freshness]:
    """Prove that a file is the one its index was built from, or has only grown."""
    if isinstance(found, stored_index.Unreadable):
        raise trouble(kind.indexes.stored, source, found)
    stored, fresh = stored_index.fitting(found, source, OpenedFile(source))
    if fresh.state == "stale":
        raise trouble(kind.indexes.stored, source, found, fresh.reason)
    if (
        stored.newest.last is None
        and stored.newest.coverage_end < stored.newest.logical_size
    ):
        raise trouble(kind.indexes.stored, source, found, "older_index")
    return stored, fresh


def _revalidated(source: Source, stored: S) -> Updated[W]:
    """Store the time and inode of a file whose bytes are proven to be the same."""
    if stored_index.mark_of(source, OpenedFile(source)) == stored.newest.source:
        return Updated("none")
    index_build.restamp(source, stored)
    return Updated("none", revalidated=True)


def _compacted_if_large(
    kind: Kind[S, W], source: Source, path: Path, delta: Built[W]
) -> Updated[W]:
    stored = kind.indexes.read(path)
    if (
        stored is None
        or isinstance(stored, stored_index.Unreadable)
        or stored.delta is None
    ):
        gone = stored_index.Unreadable(path, "corrupt", "it is gone")
        raise trouble(kind.indexes.stored, source, stored or gone)
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
        raise trouble(kind.indexes.stored, source, stored, "buckets_full") from None


def _refuse_foreign(
    kind: Kind[S, W], source: Source, found: S | stored_index.Unreadable
) -> None:
    """Raise if a file that is not ours has the name of the delta."""
    unused = None if isinstance(found, stored_index.Unreadable) else found.unused
    if unused is not None and unused.fault in ("foreign", "newer"):
        raise trouble(kind.indexes.stored, source, unused)


def _refuse_lost(kind: Kind[S, W], source: Source, found: S) -> None:
    """Raise if the index has a delta that cannot be used."""
    if found.delta is not None:
        raise trouble(kind.indexes.stored, source, found, "source_truncated")
    if found.unused is not None and found.unused.fault == "corrupt":
        raise trouble(kind.indexes.stored, source, found.unused)
