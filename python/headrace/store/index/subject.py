"""The subject of a key index: a file, or a set of shards, whose parts count as one file."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

from headrace.errors import HeadraceError, UsageError
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source, SourceSpec, expand, is_url
from headrace.store.index import key, stored_index
from headrace.store.index.set import stored as set_index
from headrace.store.shards.names import is_set, part_of_set
from headrace.store.shards.opened_set import OpenedSet, open_set
from headrace.store.shards.shard_set import ShardSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.store.index.key import Stored
    from headrace.store.index.stored_index import Freshness

Indexed: TypeAlias = "str | os.PathLike[str] | Source | ShardSet"
"""How a caller names the subject of a key index."""


@dataclass(frozen=True, slots=True)
class FileSubject:
    """A file, whose index lies beside it."""

    indexed: Source
    indexes: ClassVar = key.INDEXES
    """The files of its indexes."""

    @property
    def location(self) -> str:
        """Its name in messages."""
        return self.indexed.location

    @property
    def size(self) -> int:
        """The bytes that are read to build an index."""
        return self.indexed.size

    def open(self) -> OpenedFile:
        """Open it."""
        return OpenedFile(self.indexed)

    def fitting(self, stored: Stored, opened: OpenedFile) -> tuple[Stored, Freshness]:
        """Compare it with the subject that its index was built from."""
        return stored_index.fitting(stored, self.indexed, opened)


@dataclass(frozen=True, slots=True)
class SetSubject:
    """A set, whose index is a directory beside it."""

    indexed: ShardSet
    indexes: ClassVar = set_index.INDEXES
    """The files of its indexes."""

    @property
    def location(self) -> str:
        """Its name in messages."""
        return self.indexed.path

    @property
    def size(self) -> int:
        """The bytes that are read to build an index."""
        return self.indexed.metadata.total_logical_bytes

    def open(self) -> OpenedSet:
        """Open it."""
        return open_set(self.indexed)

    def fitting(self, stored: Stored, opened: OpenedFile) -> tuple[Stored, Freshness]:
        """Compare it with the subject that its index was built from."""
        assert isinstance(stored, set_index.SetStored)
        assert isinstance(opened, OpenedSet)
        return set_index.fitting(stored, opened)


Subject: TypeAlias = FileSubject | SetSubject


def subject_of(named: Indexed) -> Subject:
    """Return the file or the set that a caller names."""
    if isinstance(named, ShardSet):
        return SetSubject(named)
    if isinstance(named, Source):
        return FileSubject(named)
    location = os.fspath(named)
    return set_named(location) or FileSubject(one_source(location))


def set_named(location: str) -> SetSubject | None:
    """Return the set with a name, if there is one."""
    if not location or is_url(location) or not is_set(Path(location)):
        return None
    return SetSubject(ShardSet(location))


def each_with_rows(
    named: SourceSpec | ShardSet | Sequence[Source | ShardSet],
) -> list[Source | ShardSet]:
    """List the subjects that get a key index: sets, files, and segments of logs that have lines."""
    several = named if isinstance(named, list | tuple) else [named]
    found: list[Source | ShardSet] = []
    for _are_sets, some in groupby(map(_set_or_name, several), _is_set):
        together = list(some)
        sets = [one for one in together if isinstance(one, ShardSet)]
        found += sets or sources_with_rows(cast("SourceSpec", together))
    return found or [*sources_with_rows([])]


def _set_or_name(one: object) -> object:
    subject = set_named(os.fspath(one)) if isinstance(one, str | os.PathLike) else None
    return one if subject is None else subject.indexed


def _is_set(one: object) -> bool:
    return isinstance(one, ShardSet)


def set_of(sources: Sequence[Source]) -> ShardSet | None:
    """Return the set of which these files are all parts, in order."""
    found = part_of_set(sources[0].location) if sources else None
    if found is None:
        return None
    names = found[0]
    with suppress(HeadraceError):
        shards = ShardSet(names.directory, names.name)
        parts = [str(names.directory / part.path) for part in shards.metadata.parts]
        if parts == [source.location for source in sources]:
            return shards
    return None


def one_source(source: str | os.PathLike[str] | Source) -> Source:
    """Return the only file that `source` names."""
    if isinstance(source, Source):
        return source
    sources = expand(source)
    if len(sources) != 1:
        name = os.fspath(source)
        raise UsageError(
            f"{name}: an index covers one file, and this is {len(sources)}; name one of them, or "
            f"concatenate them: `headrace query '$' {name} > all.jsonl`"
        )
    return sources[0]


def sources_with_rows(sources: SourceSpec | Sequence[Source]) -> list[Source]:
    """List the files that get an index; of a log, the segments that have lines."""
    several = sources if isinstance(sources, list | tuple) else [sources]
    every = [each for each in several if isinstance(each, Source)]
    if len(every) < max(len(several), 1):
        every = expand(cast("SourceSpec", sources))
    written = [source for source in every if source.segment is None or source.size]
    return written or every
