"""What a key index is of: a file, or a set of shards, whose rows are then those of one file."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from headrace.errors import HeadraceError, KeyIndexError, UsageError
from headrace.store.files.opened import OpenedFile
from headrace.store.files.remote import is_url
from headrace.store.files.source import Source, expand
from headrace.store.index import file, key
from headrace.store.index.set import stored as set_index
from headrace.store.shards.listing import is_set
from headrace.store.shards.names import part_of_set
from headrace.store.shards.opened_set import OpenedSet, open_set
from headrace.store.shards.shard_set import ShardSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.store.files.source import SourceSpec
    from headrace.store.index.file import Freshness, Unreadable, Where
    from headrace.store.index.key import Stored

Indexed: TypeAlias = "str | os.PathLike[str] | Source | ShardSet"
"""What somebody names whose rows are to be looked up."""


@dataclass(frozen=True, slots=True)
class FileSubject:
    """A file, whose index lies beside it."""

    source: Source

    @property
    def indexed(self) -> Source:
        """What it is."""
        return self.source

    @property
    def location(self) -> str:
        """What messages name it."""
        return self.source.location

    @property
    def size(self) -> int:
        """How many bytes are read to build an index."""
        return self.source.size

    def open(self) -> OpenedFile:
        """Open it."""
        return OpenedFile(self.source)

    def now(self) -> FileSubject:
        """Return it as it is now."""
        return FileSubject(one_source(self.location))

    def find(
        self, fields: tuple[str, ...] | None, where: Where
    ) -> Stored | Unreadable | None:
        """Return the index of a key, or what is in its place."""
        return key.INDEXES.find(self.location, where, fields)

    def missing(self, fields: tuple[str, ...] | None, where: Where) -> KeyIndexError:
        """Say that there is no index."""
        return key.INDEXES.missing(self.location, where, fields)

    def fitting(self, stored: Stored, opened: OpenedFile) -> tuple[Stored, Freshness]:
        """Compare it with what its index was made of."""
        return file.fitting(stored, self.source, opened)


@dataclass(frozen=True, slots=True)
class SetSubject:
    """A set, whose index is a directory beside it."""

    shards: ShardSet

    @property
    def indexed(self) -> ShardSet:
        """What it is."""
        return self.shards

    @property
    def location(self) -> str:
        """What messages name it."""
        return self.shards.path

    @property
    def size(self) -> int:
        """How many bytes are read to build an index."""
        return self.shards.metadata.total_logical_bytes

    def open(self) -> OpenedSet:
        """Open it."""
        return open_set(self.shards)

    def now(self) -> SetSubject:
        """Return it as it is now."""
        return SetSubject(ShardSet(self.location))

    def find(
        self, fields: tuple[str, ...] | None, where: Where
    ) -> Stored | Unreadable | None:
        """Return the index of a key, or what is in its place."""
        return set_index.INDEXES.find(self.location, where, fields)

    def missing(self, fields: tuple[str, ...] | None, where: Where) -> KeyIndexError:
        """Say that there is no index."""
        return set_index.INDEXES.missing(self.location, where, fields)

    def fitting(self, stored: Stored, opened: OpenedFile) -> tuple[Stored, Freshness]:
        """Compare it with what its index was made of."""
        assert isinstance(stored, set_index.SetStored)
        assert isinstance(opened, OpenedSet)
        return set_index.fitting(stored, opened)


Subject: TypeAlias = FileSubject | SetSubject


def subject_of(named: Indexed) -> Subject:
    """Return what is meant: one file, or a set."""
    if isinstance(named, ShardSet):
        return SetSubject(named)
    if isinstance(named, Source):
        return FileSubject(named)
    location = os.fspath(named)
    return set_named(location) or FileSubject(one_source(location))


def set_named(location: str) -> SetSubject | None:
    """Return the set that is named, if it is one; it means the same in every directory."""
    if not location or is_url(location) or not is_set(Path(location)):
        return None
    return SetSubject(ShardSet(location))


def each_with_rows(
    named: SourceSpec | ShardSet | Sequence[Source | ShardSet],
) -> list[Source | ShardSet]:
    """Return what gets a key index each: sets, files, and the segments of logs that have lines."""
    several = named if isinstance(named, list | tuple) else [named]
    found: list[Source | ShardSet] = []
    for _are_sets, some in groupby(map(_set_or_name, several), _is_set):
        together = list(some)
        sets = [one for one in together if isinstance(one, ShardSet)]
        found += sets or sources_with_rows(cast("SourceSpec", together))
    return found or [*sources_with_rows([])]


def _set_or_name(one: object) -> object:
    subject = set_named(os.fspath(one)) if isinstance(one, str | os.PathLike) else None
    return one if subject is None else subject.shards


def _is_set(one: object) -> bool:
    return isinstance(one, ShardSet)


def set_of(sources: Sequence[Source]) -> ShardSet | None:
    """Return the set whose parts these files are, all of them and in order."""
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
            f"{name}: an index is of one file, and this is {len(sources)}; name one of them, or "
            f"put them together: `headrace query '$' {name} > all.jsonl`"
        )
    return sources[0]


def sources_with_rows(sources: SourceSpec | Sequence[Source]) -> list[Source]:
    """Return files that get an index each; of a log, the segments that have lines."""
    several = sources if isinstance(sources, list | tuple) else [sources]
    every = [each for each in several if isinstance(each, Source)]
    if len(every) < max(len(several), 1):
        every = expand(cast("SourceSpec", sources))
    written = [source for source in every if source.segment is None or source.size]
    return written or every
