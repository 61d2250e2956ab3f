"""Bringing indexes up to date, of any kind.

What the kinds do differently is `Kind`; what must be proven, and when a delta has become too
large, is the same.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from headrace.api.index import set as set_index
from headrace.api.index.build import Engine, EngineName
from headrace.api.index.key import (
    LEAST_MEMORY,
    MEMORY,
    as_it_was,
    fields_of,
    where_of,
)
from headrace.engines.index.collect import ScanOptions
from headrace.engines.index.kinds import COMPACT_FROM, Built, KeyBuild
from headrace.engines.local import key_update
from headrace.engines.local.key_build import build
from headrace.errors import KeyIndexError, UsageError
from headrace.kernel.key_index import FewBitsError
from headrace.store.files.opened import OpenedFile
from headrace.store.files.units import parse_size
from headrace.store.index import file as index_file
from headrace.store.index import key as key_files
from headrace.store.index.target import SetSubject, subject_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from headrace.engines.index.kinds import Built
    from headrace.kernel.key_index import Skipped, Written
    from headrace.store.files.source import Source
    from headrace.store.index.file import Unreadable, Where
    from headrace.store.index.target import Indexed
    from headrace.store.shards.shard_set import ShardSet

S = TypeVar("S", bound="index_file.AnyStored")
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
    find: Callable[[], S | index_file.Unreadable | None]
    missing: Callable[[], KeyIndexError]
    rebuild: Callable[[S | index_file.Unreadable], Built[W]]
    update: Callable[[S], Built[W]]
    compact: Callable[[S], Built[W]]


def update_index(kind: Kind[S, W], source: Source, *, full: bool) -> Updated[W]:
    """Bring an index up to date, reading only what was appended."""
    index_file.refuse_unless_seekable(source)
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
    index_file.refuse_unless_seekable(source)
    with _locked(kind) as found:
        stored, _fresh = _proven(kind, source, found)
        if stored.delta is not None:
            return _compacted(kind, source, stored)
        if not isinstance(found, index_file.Unreadable):
            _refuse_lost(kind, source, found)
        return None


@contextmanager
def _locked(kind: Kind[S, W]) -> Iterator[S | index_file.Unreadable]:
    """Be the only one who writes an index; gives it as it is now."""
    found = kind.find()
    if found is None:
        raise kind.missing()
    with index_file.writing(found.path):
        # Somebody may have written it until now.
        again = index_file.read(found.path, kind.stored)
        if again is None:
            raise kind.missing()
        yield again


def trouble(
    kind: type[S], source: Source, found: S | index_file.Unreadable, reason: str = ""
) -> KeyIndexError:
    """Say why an index cannot be continued."""
    fault = found.fault if isinstance(found, index_file.Unreadable) else "stale"
    if isinstance(found, index_file.Unreadable):
        reason = found.reason
    return kind.ERROR(source.location, str(found.path), fault, reason)


def _proven(
    kind: Kind[S, W], source: Source, found: S | index_file.Unreadable
) -> tuple[S, index_file.Freshness]:
    """Prove that a file is what its index was made of, or has only grown."""
    if isinstance(found, index_file.Unreadable):
        raise trouble(kind.stored, source, found)
    stored, fresh = index_file.fitting(found, source, OpenedFile(source))
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
    if index_file.mark_of(source, OpenedFile(source)) == stored.newest.source:
        return Updated("none")
    key_update.restamp(source, stored)
    return Updated("none", revalidated=True)


def _compacted_if_large(
    kind: Kind[S, W], source: Source, path: Path, delta: Built[W]
) -> Updated[W]:
    stored = index_file.read(path, kind.stored)
    if (
        stored is None
        or isinstance(stored, index_file.Unreadable)
        or stored.delta is None
    ):
        gone = index_file.Unreadable(path, "corrupt", "it is gone")
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
    kind: Kind[S, W], source: Source, found: S | index_file.Unreadable
) -> None:
    """Raise if something that is not ours is in the place of the delta."""
    unused = None if isinstance(found, index_file.Unreadable) else found.unused
    if unused is not None and unused.fault in ("foreign", "newer"):
        raise trouble(kind.stored, source, unused)


def _refuse_lost(kind: Kind[S, W], source: Source, found: S) -> None:
    """Raise if there is a delta that cannot be used."""
    if found.delta is not None:
        raise trouble(kind.stored, source, found, "source_truncated")
    if found.unused is not None and found.unused.fault == "corrupt":
        raise trouble(kind.stored, source, found.unused)


def update_lookup_index(
    source: Indexed,
    key: str | Sequence[str] | None = None,
    *,
    full: bool = False,
    memory: int | str = MEMORY,
    threads: int | None = None,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    strict: bool = False,
    engine: EngineName = "local",
    master: str | None = None,
    partition_bytes: int | str | None = None,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
    skipped: Callable[[Sequence[Skipped]], None] | None = None,
) -> Updated[Written]:
    """Bring the index of a file up to date, reading only the rows that were appended.

    It is proven first that the file has only grown; if it was changed otherwise, that is a
    `KeyIndexError`, and with `full` the index is built anew, as it was. Of new rows a delta
    is written, ``INDEX.delta``; when it has more than a quarter of the rows of the index,
    both become one. Of a set of shards, the rows of parts that came to it are read; with the
    engine ``"spark"`` by tasks at `master`, `partition_bytes` by each.
    """
    subject = subject_of(source)
    where = where_of(index, index_dir)
    how = ScanOptions(
        memory=max(parse_size(memory), LEAST_MEMORY),
        threads=threads,
        strict=strict,
        progress=progress,
        skipped=skipped,
    )
    by = Engine(engine, master, partition_bytes)
    if isinstance(subject, SetSubject):
        return _updated_set(subject.shards, key, where, how, by, full=full)
    if by != Engine():
        raise UsageError(
            f"{subject.location}: new rows of a file are read by this process; the "
            "engine, its master and partition_bytes are for sets"
        )
    one = subject.source
    return update_index(_kind(one, key, where, how), one, full=full)


def _updated_set(
    shards: ShardSet,
    key: str | Sequence[str] | None,
    where: Where,
    how: ScanOptions,
    engine: Engine,
    *,
    full: bool,
) -> Updated[Written]:
    fields = None if key is None else fields_of(key)
    asked = how.again(KeyBuild(fields or ()))
    done = set_index.update(shards, fields, where, asked, engine, full=full)
    if done.made is None:
        return Updated("none", revalidated=done.revalidated)
    return Updated(
        "full" if full else "incremental",
        done.made.built,
        compacted=None if done.compacted is None else done.compacted.built,
        full_advised=done.full_advised,
    )


def compact_lookup_index(
    source: Indexed,
    key: str | Sequence[str] | None = None,
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> Built[Written] | None:
    """Make one index of an index and its delta; None if it has no delta.

    The file is not read again, but for rows of a compact index that only they can tell
    apart. A compact index that has four times the rows it was built with has to be built
    anew, which is a `KeyIndexError`.
    """
    subject, where = subject_of(source), where_of(index, index_dir)
    if isinstance(subject, SetSubject):
        fields = None if key is None else fields_of(key)
        return set_index.compact(subject.shards, fields, where)
    kind = _kind(subject.source, key, where, ScanOptions())
    return compact_index(kind, subject.source)


def _kind(
    source: Source, key: str | Sequence[str] | None, where: Where, how: ScanOptions
) -> Kind[key_files.Stored, Written]:
    fields = None if key is None else fields_of(key)

    def again(found: key_files.Stored | Unreadable) -> KeyBuild:
        """Return how an index is built again: as it was, but of a damaged one only its key is known."""
        if isinstance(found, key_files.Stored):
            asked = as_it_was(found)
        elif fields is not None and found.fault == "corrupt":
            asked = KeyBuild(fields)
        else:
            raise trouble(key_files.Stored, source, found)
        return how.again(asked)

    return Kind(
        key_files.Stored,
        lambda: key_files.find(source, None if fields is None else list(fields), where),
        lambda: key_files.unusable(source, fields, where),
        lambda found: build(source, found.path, again(found)),
        lambda stored: key_update.update(source, stored, again(stored)),
        lambda stored: key_update.compact(source, stored),
    )
