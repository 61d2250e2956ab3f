"""Bringing key indexes up to date."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from headrace.api.key_index import (
    LEAST_MEMORY,
    MEMORY,
    as_it_was,
    fields_of,
    one_source,
    where_of,
)
from headrace.engines.local import key_update
from headrace.engines.local.key_build import Built, KeyBuild, build
from headrace.errors import KeyIndexError
from headrace.kernel.key_index import FewBitsError
from headrace.store import key_index as store
from headrace.store.opened import OpenedFile
from headrace.store.sizes import parse_size

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from headrace.kernel.key_index import Skipped
    from headrace.store.source import Source

COMPACT_FROM = 0.25
"""How many rows for each of the base a delta has when both become one index."""


@dataclass(frozen=True, slots=True)
class Updated:
    """What came of an update.

    `mode` is ``none`` if there was nothing new, ``incremental``, or ``full``. `built` is the
    delta, or the whole index; `revalidated`: the file looked different, and was not.
    `compacted` is what became of base and delta, where the delta was large; `full_advised`
    says why that was not possible.
    """

    mode: Literal["none", "incremental", "full"]
    built: Built | None = None
    revalidated: bool = False
    compacted: Built | None = None
    full_advised: str | None = None


def update_lookup_index(
    source: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    *,
    full: bool = False,
    memory: int | str = MEMORY,
    threads: int | None = None,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
    strict: bool = False,
    progress: Callable[[int, int], None] = lambda _bytes, _records: None,
    skipped: Callable[[Sequence[Skipped]], None] | None = None,
) -> Updated:
    """Bring the index of a file up to date, reading only the rows that were appended.

    It is proven first that the file has only grown; if it was changed otherwise, that is a
    `KeyIndexError`, and with `full` the index is built anew, as it was. Of new rows a delta
    is written, ``INDEX.delta``; when it has more than a quarter of the rows of the index,
    both become one.
    """
    one, fields = _named(source, key)
    how = _How(
        max(parse_size(memory), LEAST_MEMORY), threads, strict, progress, skipped
    )
    with _locked(one, fields, where_of(index, index_dir)) as found:
        if full:
            return Updated(
                "full", build(one, found.path, _again(one, found, fields, how))
            )
        stored, fresh = _proven(one, found)
        if fresh.state == "fresh":
            return _revalidated(one, stored)
        _refuse_foreign(one, found)
        asked = _again(one, stored, fields, how)
        built = key_update.update(one, stored, asked)
        return _compacted_if_large(one, stored.path, built)


def compact_lookup_index(
    source: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    *,
    index: str | os.PathLike[str] | None = None,
    index_dir: str | os.PathLike[str] | None = None,
) -> Built | None:
    """Make one index of an index and its delta; None if it has no delta.

    The file is not read again, but for rows of a compact index that only they can tell
    apart. A compact index that has four times the rows it was built with has to be built
    anew, which is a `KeyIndexError`.
    """
    one, fields = _named(source, key)
    with _locked(one, fields, where_of(index, index_dir)) as found:
        stored, _fresh = _proven(one, found)
        if stored.delta is not None:
            return _compacted(one, stored)
        if isinstance(found, store.Stored):
            _refuse_lost(one, found)
        return None


class _How(NamedTuple):
    """How an index is built that has no say in it."""

    memory: int
    threads: int | None
    strict: bool
    progress: Callable[[int, int], None]
    skipped: Callable[[Sequence[Skipped]], None] | None


def _named(
    source: str | os.PathLike[str], key: str | Sequence[str] | None
) -> tuple[Source, tuple[str, ...] | None]:
    one = one_source(source)
    store.refuse_unless_seekable(one)
    return one, None if key is None else fields_of(key)


@contextmanager
def _locked(
    source: Source, fields: tuple[str, ...] | None, where: store.Where
) -> Iterator[store.Stored | store.Unreadable]:
    """Be the only one who writes an index; gives it as it is now."""
    asked = None if fields is None else list(fields)
    found = store.find(source, asked, where)
    if found is None:
        raise store.unusable(source, fields)
    with store.writing(found.path):
        # Somebody may have written it until now.
        again = store.read(found.path)
        if again is None:
            raise store.unusable(source, fields)
        yield again


def _again(
    source: Source,
    found: store.Stored | store.Unreadable,
    fields: tuple[str, ...] | None,
    how: _How,
) -> KeyBuild:
    """Return how an index is built again: as it was, but of a damaged one only its key is known."""
    if isinstance(found, store.Stored):
        asked = as_it_was(found)
    elif fields is not None and found.fault == "corrupt":
        asked = KeyBuild(fields)
    else:
        raise _trouble(source, found)
    return replace(asked, **how._asdict())


def _trouble(
    source: Source, found: store.Stored | store.Unreadable, reason: str = ""
) -> KeyIndexError:
    """Say why an index cannot be continued."""
    fault = found.fault if isinstance(found, store.Unreadable) else "stale"
    if isinstance(found, store.Unreadable):
        reason = found.reason
    return KeyIndexError(source.location, str(found.path), fault, reason)


def _proven(
    source: Source, found: store.Stored | store.Unreadable
) -> tuple[store.Stored, store.Freshness]:
    """Prove that a file is what its index was made of, or has only grown."""
    if isinstance(found, store.Unreadable):
        raise _trouble(source, found)
    stored, fresh = store.fitting(found, source, OpenedFile(source))
    if fresh.state == "stale":
        raise _trouble(source, found, fresh.reason)
    if (
        stored.newest.last is None
        and stored.newest.coverage_end < stored.newest.logical_size
    ):
        raise _trouble(source, found, "older_index")
    return stored, fresh


def _revalidated(source: Source, stored: store.Stored) -> Updated:
    """Note what a file looks like that is proven to be the same."""
    if store.mark_of(source, OpenedFile(source)) == stored.newest.source:
        return Updated("none")
    key_update.restamp(source, stored)
    return Updated("none", revalidated=True)


def _compacted_if_large(source: Source, path: Path, delta: Built) -> Updated:
    stored = store.read(path)
    if not isinstance(stored, store.Stored) or stored.delta is None:
        raise _trouble(
            source, stored or store.Unreadable(path, "corrupt", "it is gone")
        )
    share = stored.delta.meta.records / max(stored.meta.records, 1)
    if share <= COMPACT_FROM:
        return Updated("incremental", delta)
    try:
        return Updated("incremental", delta, compacted=_compacted(source, stored))
    except KeyIndexError as error:
        return Updated("incremental", delta, full_advised=error.reason)


def _compacted(source: Source, stored: store.Stored) -> Built:
    try:
        return key_update.compact(source, stored)
    except FewBitsError:
        raise _trouble(source, stored, "buckets_full") from None


def _refuse_foreign(source: Source, found: store.Stored | store.Unreadable) -> None:
    """Raise if something that is not ours is in the place of the delta."""
    unused = found.unused if isinstance(found, store.Stored) else None
    if unused is not None and unused.fault in ("foreign", "newer"):
        raise _trouble(source, unused)


def _refuse_lost(source: Source, found: store.Stored) -> None:
    """Raise if there is a delta that cannot be used."""
    if found.delta is not None:
        raise _trouble(source, found, "source_truncated")
    if found.unused is not None and found.unused.fault == "corrupt":
        raise _trouble(source, found.unused)
