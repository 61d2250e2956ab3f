"""The home of a job in a directory of a file system that all tasks share.

Each attempt at a task stages whole parts in its own directory below that of the job; the commit
holds the lock of the set, and links them into the generation.
"""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.errors import UnwritableError
from headrace.kernel.blocks import Shard
from headrace.store.files import system
from headrace.store.files.atomic import NO_LINKS, unwritable
from headrace.store.files.directories import remove_directories, use_directory
from headrace.store.shards import names as naming
from headrace.store.shards.job.commit import (
    Generation,
    refuse_foreign,
)
from headrace.store.shards.local_set import LocalSet
from headrace.store.shards.metadata import Metadata, Part
from headrace.store.shards.vacuum import local
from headrace.store.shards.write.parts import part_directory, write_block_table

UNCHANGED = "the set is as it was"


class TakingGeneration(Generation):
    """The next generation of a set, made of staged parts."""

    def __init__(self, names: LocalSet, staging: Path, grace: float) -> None:
        super().__init__(names.directory, names.name, grace)
        self._staging = staging

    def take(self, parts: Iterable[Part]) -> list[Part]:
        """Link parts, ordered by partition, into the generation."""
        numbers: dict[str | None, int] = {}
        taken = []
        for part in parts:
            partition = part.partition and naming.partition_name(*part.partition)
            number = numbers[partition] = numbers.get(partition, -1) + 1
            staged = self._staging / part.path
            with self.writing():
                directory = self.directory(partition)
                path = directory / naming.part_name(number, naming.suffix(staged.name))
                _take(staged, path, part.bytes)
            inside = path.relative_to(self.names.directory).as_posix()
            taken.append(replace(part, path=inside))
        return taken


@dataclass(frozen=True, slots=True)
class DirectoryHome:
    """One set, and the staging directory of one job."""

    names: LocalSet
    staging: Path
    made: tuple[Path, ...] = ()
    grace: float = local.GRACE

    @property
    def token(self) -> str:
        """The unique part of the name of the staging directory."""
        return self.staging.name

    def refuse_foreign(self) -> None:
        """Raise unless the directory can contain a set."""
        refuse_foreign(self.names.directory)

    def begun(self, _current: Metadata | None, *, shared: bool) -> "DirectoryHome":
        """Create the staging directory; it may exist if jobs have `shared` it."""
        with unwritable(self.staging, UNCHANGED, or_named=True):
            return replace(self, made=tuple(_make(self.staging, exist_ok=shared)))

    def attempt(self, task: int) -> "Attempt":
        """Begin an attempt at a task, with a new directory."""
        return Attempt(self.staging, task)

    def generation(self) -> TakingGeneration:
        """Begin the next generation, and hold the lock until it is committed or discarded."""
        return TakingGeneration(self.names, self.staging, self.grace)

    def drop(self, parts: Iterable[Part]) -> None:
        """Do nothing: `close` removes parts that will not be committed."""

    def close(self) -> None:
        """Remove staged parts."""
        with suppress(OSError):
            local.remove_staging(self.staging)
        remove_directories(list(self.made))


def _make(staging: Path, *, exist_ok: bool) -> list[Path]:
    """Create a directory and its parents; return the created parents."""

    def make() -> None:
        try:
            system.calls.make_directory(staging)
        except FileExistsError:
            if not exist_ok:
                raise

    made: list[Path] = []
    use_directory(staging.parent, made, make)
    return made


def _take(staged: Path, path: Path, size: int) -> None:
    """Link a part and its sidecar into the generation."""
    found = staged.lstat().st_size
    if found != size:
        reason = f"its task wrote {size} bytes, but it has {found}"
        raise UnwritableError(str(staged), reason, UNCHANGED)
    for suffix in ("", naming.SIDECAR):
        source, target = (each.with_name(each.name + suffix) for each in (staged, path))
        try:
            # A link: if another job commits first, this is repeated.
            system.calls.link(source, target)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            system.calls.rename(source, target)


class Attempt:
    """The staging directory of one attempt."""

    def __init__(self, staging: Path, task: int) -> None:
        self.root = staging
        self.path = staging / naming.attempt_name(task, os.urandom(8).hex())
        self._directories: set[Path] = set()

    def writing(self, path: Path | None = None) -> AbstractContextManager[None]:
        """Raise an error of the operating system about `path` as `UnwritableError`."""
        return unwritable(path or self.path, UNCHANGED, or_named=True)

    def directory(self, partition: str | None = None) -> Path:
        """Return the directory for parts, or for parts of a partition; create it if needed."""
        if not self._directories and not self.root.is_dir():
            reason = (
                "the staging directory of the job is missing: the job is over, or the "
                "directory is not the same on every machine"
            )
            raise UnwritableError(str(self.root), reason, UNCHANGED)
        return part_directory(self.path, partition, self._directories)

    def keep(self, path: Path, shard: Shard) -> str:
        """Write the block table of a finished part; return the path of the part."""
        write_block_table(path, shard)
        return path.relative_to(self.root).as_posix()

    def close(self) -> None:
        """Do nothing: staged parts stay."""

    def discard(self) -> None:
        """Remove staged parts."""
        with suppress(OSError):
            local.remove_parts(self.path, self.root)
