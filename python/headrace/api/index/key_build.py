"""Building key indexes: of files, and of sets of shards."""

from __future__ import annotations

import warnings
from itertools import groupby
from typing import TYPE_CHECKING, Unpack

from headrace.api.index import set as set_index
from headrace.api.index.build import (
    build_files,
    checked_version,
    engine_of,
    place_wanted,
    with_options,
)
from headrace.api.options import KeyIndexBuildOptions, refuse_other, refuse_unknown
from headrace.engines.index.kinds import Built, KeyBuild
from headrace.errors import HeadraceWarning, UsageError
from headrace.store.files.source import Source, SourceSpec
from headrace.store.index.target import Indexed, each_with_rows, subject_of
from headrace.store.shards.shard_set import ShardSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.api.index.build import Engine
    from headrace.api.options import Fields
    from headrace.kernel.index_meta import Lines
    from headrace.kernel.key_index import Written
    from headrace.store.index.file import Where
    from headrace.store.index.key import Stored


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


def as_it_was(known: Stored) -> KeyBuild:
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
