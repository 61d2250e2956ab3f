"""A set that a job writes in a directory of a file system, which all its tasks see.

Attempts put parts aside in the directory of their job; whoever commits has the lock of the
set, and gives them second names.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import UnwritableError
from headrace.store.files import system
from headrace.store.files.atomic import NO_LINKS
from headrace.store.files.directories import make_directories, remove_directories
from headrace.store.shards import generations
from headrace.store.shards import names as naming
from headrace.store.shards.job.attempt import NOTHING, Attempt, writing
from headrace.store.shards.job.commit import (
    TRIES,
    Generation,
    refuse_foreign,
)
from headrace.store.shards.vacuum import local

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from headrace.store.shards.metadata import Metadata, Part
    from headrace.store.shards.names import SetNames


class TakingGeneration(Generation):
    """The next generation of a set, which takes what attempts have put aside."""

    def __init__(self, names: SetNames, staging: Path, grace: float) -> None:
        super().__init__(names.directory, names.name, grace)
        self._staging = staging

    def take(self, parts: Iterable[Part]) -> list[Part]:
        """Give parts, which are ordered by their partitions, their names in the generation."""
        numbers: dict[str | None, int] = {}
        taken = []
        for part in parts:
            partition = part.partition and naming.partition_name(*part.partition)
            number = numbers[partition] = numbers.get(partition, -1) + 1
            aside = self._staging / part.path
            with self.writing():
                directory = self.directory(partition)
                path = directory / naming.part_name(number, naming.suffix(aside.name))
                _take(aside, path, part.bytes)
            inside = path.relative_to(self.names.directory).as_posix()
            taken.append(replace(part, path=inside))
        return taken


@dataclass(frozen=True, slots=True)
class DirectoryHome:
    """One set, and the directory in which one job puts parts aside."""

    names: SetNames
    staging: Path
    made: tuple[Path, ...] = ()
    grace: float = local.GRACE

    @property
    def token(self) -> str:
        """What no other job has."""
        return self.staging.name

    def refuse_foreign(self) -> None:
        """Raise unless a set can live there."""
        refuse_foreign(self.names.directory)

    def newest(self) -> Metadata | None:
        """Return the metadata of the set as it is now, None if it was never committed."""
        there = self.names.directory.exists()
        return generations.newest(self.names) if there else None

    def begun(self, _current: Metadata | None, *, shared: bool) -> DirectoryHome:
        """Make the directory for parts; it may be there if it is `shared` by jobs."""
        with writing(self.staging):
            return replace(self, made=tuple(_make(self.staging, exist_ok=shared)))

    def attempt(self, task: int) -> Attempt:
        """Give an attempt at a task a place of its own."""
        return Attempt(self.staging, task)

    def generation(self) -> TakingGeneration:
        """Begin the next generation; nobody else does until it is committed or discarded."""
        return TakingGeneration(self.names, self.staging, self.grace)

    def drop(self, parts: Iterable[Part]) -> None:
        """Leave parts that will not be committed to `close`."""

    def close(self) -> None:
        """Remove what was put aside, and nothing else."""
        with suppress(OSError):
            local.remove_staging(self.staging)
        remove_directories(list(self.made))


def _make(staging: Path, *, exist_ok: bool) -> list[Path]:
    """Make a directory; return those above it that were missing."""
    made: list[Path] = []
    for _ in range(TRIES):
        with suppress(FileNotFoundError):
            make_directories(staging.parent, made)
            # Gone again if a job or writer that failed takes back what it made.
            try:
                system.calls.make_directory(staging)
            except FileExistsError:
                if not exist_ok:
                    raise
            return made
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _take(aside: Path, path: Path, size: int) -> None:
    """Give a part, and its sidecar, a name in the generation."""
    found = aside.lstat().st_size
    if found != size:
        reason = f"its task wrote {size} bytes, but it has {found}"
        raise UnwritableError(str(aside), reason, NOTHING)
    for suffix in ("", naming.SIDECAR):
        source, target = (each.with_name(each.name + suffix) for each in (aside, path))
        try:
            # A second name: if another job commits first, all of this is done again.
            system.calls.link(source, target)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            system.calls.rename(source, target)
