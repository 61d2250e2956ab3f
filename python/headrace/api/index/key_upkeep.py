"""Building, updating, compacting and checking key indexes, of files and of sets of shards."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Unpack

from headrace.api.index import set as set_index
from headrace.api.index.build import (
    Engine,
    build_files,
    checked_version,
    engine_of,
    place_wanted,
    scan_of,
    with_options,
)
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
    KeyIndexBuildOptions,
    KeyIndexUpdateOptions,
    refuse_other,
    refuse_unknown,
)
from headrace.engines.index.collect import ScanOptions, no_progress
from headrace.engines.index.kinds import Built, KeyBuild
from headrace.engines.local import index_build
from headrace.engines.local.index_build import collect
from headrace.errors import HeadraceWarning, UsageError
from headrace.kernel.rows import reading
from headrace.store.files.source import Source, SourceSpec
from headrace.store.index import key as store
from headrace.store.index.subject import (
    Indexed,
    SetSubject,
    each_with_rows,
    subject_of,
)
from headrace.store.shards.shard_set import ShardSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.api.options import Fields
    from headrace.kernel.index_meta import Lines
    from headrace.kernel.key_index import Meta, Written
    from headrace.store.files.opened import OpenedFile
    from headrace.store.index.stored_index import Unreadable, Where


def build(
    source: Indexed, on: Fields, **options: Unpack[KeyIndexBuildOptions]
) -> Built[Written]:
    """Build the index of a field, or of several together.

    Rows without the field, and bad lines, are skipped and counted. The index is
    ``SOURCE.jnx``, or ``SOURCE.jnx.KEY`` if that is the index of another key. Version 2
    takes about six bytes a row. Another process that builds it at the same time gets a
    `KeyIndexLockedError`. With Spark, the bytes of the index are the same.

    A set of shards has one index for all its parts, a directory beside it,
    ``SET.jnx.KEY``, which is always of version 2.
    """
    subject = subject_of(source)
    (built,) = build_each([subject.indexed], on, **options)
    if no_row_has_key(built.lines):
        warn_of_keyless(subject.location, ",".join(fields_of(on)))
    return built


def build_each(
    sources: SourceSpec | ShardSet | Sequence[Source | ShardSet],
    on: Fields,
    **options: Unpack[KeyIndexBuildOptions],
) -> Iterator[Built[Written]]:
    """Build the index of each of several files or sets, and yield each result in order.

    A log is its segments. Spark builds files together. An error of one file is raised
    after the indexes of those before it are built; those behind it are not built.
    """
    refuse_unknown(options, KeyIndexBuildOptions)
    mode = options.get("mode", "multi")
    refuse_other("mode", mode, ("multi", "unique"))
    wanted = KeyBuild(fields_of(on), mode == "unique", checked_version(options))
    every = each_with_rows(sources)
    where = place_wanted(options, files=len(every))
    force = options.get("force", False)
    return build_in(
        every, with_options(wanted, options), where, engine_of(options), force=force
    )


def build_in(
    every: Sequence[Source | ShardSet],
    wanted: KeyBuild,
    where: Where,
    engine: Engine,
    *,
    force: bool = False,
) -> Iterator[Built[Written]]:
    """Build the index of each file or set in the first place where it can be written."""
    for _kind, some in groupby(every, type):
        together = list(some)
        sources = [one for one in together if isinstance(one, Source)]
        yield from build_files(sources, wanted, where, engine, force=force)
        for one in together:
            if isinstance(one, ShardSet):
                yield set_index.build_somewhere(one, wanted, where, engine)


def as_it_was(known: store.Stored) -> KeyBuild:
    """Return the settings that an index was built with."""
    meta = known.meta
    return KeyBuild(
        meta.key,
        meta.mode == "unique",
        2 if known.index.version == 2 else None,
        max_line=meta.max_line,
        max_depth=meta.max_depth,
    )


def fields_of(on: Fields) -> tuple[str, ...]:
    """Return the fields of a key.

    A text names one field, or several with commas between them, as on the command line;
    each item of a list is one field, whose name may have commas.

    >>> fields_of("a,b"), fields_of(["a,b"])
    (('a', 'b'), ('a,b',))
    """
    fields = tuple(on.split(",")) if isinstance(on, str) else tuple(on)
    unnamed = isinstance(on, str) and not all(fields)
    if not fields or unnamed or not all(isinstance(each, str) for each in fields):
        raise UsageError(
            f"{on!r}: a key is the name of a field, or several with commas between them"
        )
    if len(set(fields)) < len(fields):
        raise UsageError(f"a key has each field once: {','.join(fields)}")
    return fields


def maybe_fields(on: Fields | None) -> tuple[str, ...] | None:
    """Return the fields of a key, None if the source has only one index."""
    return None if on is None else fields_of(on)


def no_row_has_key(lines: Lines) -> bool:
    """Whether there are rows but none has the key; its name may be misspelt."""
    return lines.records == 0 and lines.lines > lines.blank


def warn_of_keyless(location: str, key: str) -> None:
    """Warn that no row has the key."""
    message = f"{location}: no row has the key {key}"
    warnings.warn(message, HeadraceWarning, stacklevel=2)


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
        return _updated_set(subject.indexed, fields, where, how, engine, full=full)
    if engine != Engine():
        raise UsageError(
            f"{subject.location}: new rows of a file are read by this process; the "
            "engine, its master or session and partition_bytes are for sets"
        )
    one = subject.indexed
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
        return set_index.compact(subject.indexed, fields, where)
    kind = _kind(subject.indexed, fields, where, ScanOptions())
    return compact_index(kind, subject.indexed)


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
        lambda found: index_build.build(source, found.path, again(found)),
        lambda stored: index_build.update(source, stored, again(stored)),
        lambda stored: index_build.compact(source, stored, again(stored)),
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
            subject.indexed, fields, where, deep=deep, progress=progress
        )

    def differs(stored: store.Stored, opened: OpenedFile) -> str | None:
        """Compare every row with the index, and the index with every row."""
        wanted = replace(as_it_was(stored), progress=progress)
        keys = collect(opened, wanted, Path(gettempdir()))
        with reading(str(stored.path)):
            same = stored.index.is_of_all(keys.runs, opened.data)
        return None if same else "its rows are not those of the file"

    one = subject.indexed
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
        return set_index.stats(subject.indexed, fields, where, _described)
    one = subject.indexed
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
