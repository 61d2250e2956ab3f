"""Bringing key indexes up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api import set_index
from headrace.api.index_builds import Engine, EngineName
from headrace.api.index_update import (
    Kind,
    Updated,
    compact_index,
    trouble,
    update_index,
)
from headrace.api.key_index import (
    LEAST_MEMORY,
    MEMORY,
    as_it_was,
    fields_of,
    where_of,
)
from headrace.engines.index_kinds import Built, KeyBuild
from headrace.engines.index_rows import ScanOptions
from headrace.engines.local import key_update
from headrace.engines.local.key_build import build
from headrace.errors import UsageError
from headrace.store import key_index as store
from headrace.store.key_subject import SetSubject, subject_of
from headrace.store.sizes import parse_size

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from headrace.kernel.key_index import Skipped, Written
    from headrace.store.index_file import Unreadable, Where
    from headrace.store.key_subject import Indexed
    from headrace.store.shards.shard_set import ShardSet
    from headrace.store.source import Source


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
) -> Kind[store.Stored, Written]:
    fields = None if key is None else fields_of(key)

    def again(found: store.Stored | Unreadable) -> KeyBuild:
        """Return how an index is built again: as it was, but of a damaged one only its key is known."""
        if isinstance(found, store.Stored):
            asked = as_it_was(found)
        elif fields is not None and found.fault == "corrupt":
            asked = KeyBuild(fields)
        else:
            raise trouble(store.Stored, source, found)
        return how.again(asked)

    return Kind(
        store.Stored,
        lambda: store.find(source, None if fields is None else list(fields), where),
        lambda: store.unusable(source, fields, where),
        lambda found: build(source, found.path, again(found)),
        lambda stored: key_update.update(source, stored, again(stored)),
        lambda stored: key_update.compact(source, stored),
    )
