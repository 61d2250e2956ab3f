"""Upkeep of key indexes: updating, compacting and checking those of files and sets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Unpack

from headrace.api.index import set as set_index
from headrace.api.index.build import Engine, engine_of, place_wanted, scan_of
from headrace.api.index.key_build import as_it_was, maybe_fields
from headrace.api.index.report import check_index, file_index_stats
from headrace.api.index.update import (
    Kind,
    Updated,
    compact_index,
    trouble,
    update_index,
)
from headrace.api.options import (
    IndexCheckOptions,
    IndexPlace,
    KeyIndexUpdateOptions,
    refuse_unknown,
)
from headrace.engines.index.collect import ScanOptions, no_progress
from headrace.engines.index.kinds import Built, KeyBuild
from headrace.engines.local import key_update
from headrace.engines.local.collect import collect
from headrace.engines.local.key_build import build
from headrace.errors import UsageError
from headrace.kernel.rows import reading
from headrace.store.index import key as store
from headrace.store.index.target import Indexed, SetSubject, subject_of

if TYPE_CHECKING:
    from headrace.api.options import Fields
    from headrace.kernel.key_index import Meta, Written
    from headrace.store.files.opened import OpenedFile
    from headrace.store.files.source import Source
    from headrace.store.index.file import Unreadable, Where
    from headrace.store.shards.shard_set import ShardSet


def update(
    source: Indexed, on: Fields | None = None, **options: Unpack[KeyIndexUpdateOptions]
) -> Updated[Written]:
    """Update the index of a file that has grown; only the appended rows are read.

    Hashes prove that the file has only grown. A file that was changed otherwise is a
    `KeyIndexError`; with `full` its index is built again with the settings that it has.
    New rows go to a delta, ``INDEX.delta``, which is merged with the index when it has more
    than a quarter of its rows. Of a set of shards, the rows of added parts are read.
    """
    refuse_unknown(options, KeyIndexUpdateOptions)
    subject, fields = subject_of(source), maybe_fields(on)
    where, how, engine = place_wanted(options), scan_of(options), engine_of(options)
    full = options.get("full", False)
    if isinstance(subject, SetSubject):
        return _updated_set(subject.shards, fields, where, how, engine, full=full)
    if engine != Engine():
        raise UsageError(
            f"{subject.location}: new rows of a file are read by this process; the "
            "engine, its master or session and partition_bytes are for sets"
        )
    one = subject.source
    return update_index(_kind(one, fields, where, how), one, full=full)


def _updated_set(
    shards: ShardSet,
    fields: tuple[str, ...] | None,
    where: Where,
    how: ScanOptions,
    engine: Engine,
    *,
    full: bool,
) -> Updated[Written]:
    wanted = how.again(KeyBuild(fields or ()))
    done = set_index.update(shards, fields, where, wanted, engine, full=full)
    if done.made is None:
        return Updated("none", revalidated=done.revalidated)
    return Updated(
        "full" if full else "incremental",
        done.made.built,
        compacted=None if done.compacted is None else done.compacted.built,
        full_advised=done.full_advised,
    )


def compact(
    source: Indexed, on: Fields | None = None, **options: Unpack[IndexPlace]
) -> Built[Written] | None:
    """Merge an index with its delta; None if it has no delta.

    The file is not read, except for rows of an index of version 2 that only their
    content can tell apart. Such an index with four times the rows that it was built with
    has to be built again, which is a `KeyIndexError`.
    """
    refuse_unknown(options, IndexPlace)
    subject, fields = subject_of(source), maybe_fields(on)
    where = place_wanted(options)
    if isinstance(subject, SetSubject):
        return set_index.compact(subject.shards, fields, where)
    kind = _kind(subject.source, fields, where, ScanOptions())
    return compact_index(kind, subject.source)


def _kind(
    source: Source, fields: tuple[str, ...] | None, where: Where, how: ScanOptions
) -> Kind[store.Stored, Written]:
    def again(found: store.Stored | Unreadable) -> KeyBuild:
        """Return the settings of an index; of a damaged one only the key is known."""
        if isinstance(found, store.Stored):
            wanted = as_it_was(found)
        elif fields is not None and found.fault == "corrupt":
            wanted = KeyBuild(fields)
        else:
            raise trouble(store.Stored, source, found)
        return how.again(wanted)

    return Kind(
        store.INDEXES,
        where,
        fields,
        lambda found: build(source, found.path, again(found)),
        lambda stored: key_update.update(source, stored, again(stored)),
        lambda stored: key_update.compact(source, stored),
    )


def check(
    source: Indexed, on: Fields | None = None, **options: Unpack[IndexCheckOptions]
) -> dict[str, Any]:
    """Read all of an index, and compare the source with the one that it was built from.

    ``valid``: the index is whole. ``fresh``: it is that of the source as it is. If not
    both, ``reason`` says why. With `deep`, a fresh index must have every row of the
    source, and no others.
    """
    refuse_unknown(options, IndexCheckOptions)
    subject, fields = subject_of(source), maybe_fields(on)
    where, deep = place_wanted(options), options.get("deep", False)
    progress = options.get("progress", no_progress)
    if isinstance(subject, SetSubject):
        return set_index.check(
            subject.shards, fields, where, deep=deep, progress=progress
        )

    def differs(stored: store.Stored, opened: OpenedFile) -> str | None:
        """Compare every row with the index, and the index with every row."""
        wanted = replace(as_it_was(stored), progress=progress)
        keys = collect(opened, wanted, Path(gettempdir()))
        with reading(str(stored.path)):
            same = stored.index.is_of_all(keys.runs, opened.data)
        return None if same else "its rows are not those of the file"

    one = subject.source
    found = store.INDEXES.required(one.location, where, fields)
    return check_index(found, one, _counts, differs if deep else None)


def stats(
    source: Indexed, on: Fields | None = None, **options: Unpack[IndexPlace]
) -> dict[str, Any]:
    """Return what an index covers and how large it is.

    ``unique_keys`` is None where index and delta may have keys in common.
    """
    refuse_unknown(options, IndexPlace)
    subject, fields = subject_of(source), maybe_fields(on)
    where = place_wanted(options)
    if isinstance(subject, SetSubject):
        return set_index.stats(subject.shards, fields, where, _described)
    one = subject.source
    found = store.INDEXES.required(one.location, where, fields)
    return file_index_stats(found, one, "key", _described, _counts)


def _counts(meta: Meta) -> dict[str, int | None]:
    return {"records": meta.records, "keys": meta.keys}


def _described(meta: Meta) -> dict[str, Any]:
    per_key = None if meta.keys is None else round(meta.records / max(meta.keys, 1), 2)
    return {
        "mode": meta.mode,
        "key": ",".join(meta.key),
        "records": meta.records,
        "unique_keys": meta.keys,
        "avg_records_per_key": per_key,
    }
