"""A set on a file system, as its readers see it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import BadSetError, SourceNotFoundError, UsageError
from headrace.store.shards import generations
from headrace.store.shards import names as naming
from headrace.store.shards.listing import is_set, sets_in
from headrace.store.shards.lock import lock_set
from headrace.store.shards.names import SetNames
from headrace.store.shards.vacuum import local

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.store.files.source import Source
    from headrace.store.shards.metadata import Metadata, Part


@dataclass(frozen=True, slots=True)
class LocalSet:
    """One set, by the names of its files."""

    names: SetNames

    @property
    def text(self) -> str:
        """The name of the set in messages."""
        return self.names.text

    @property
    def directory(self) -> Path:
        """The directory that the paths of parts are relative to."""
        return self.names.directory

    def at(self, path: str) -> str:
        """Return the path of a file of the set."""
        return str(self.directory / path)

    def committed(self) -> list[int]:
        """List the numbers of all generations with a metadata file, newest first."""
        return generations.committed(self.names)

    def load(self, generation: int) -> Metadata | None:
        """Return the metadata of a generation; None if it was never committed, or was removed."""
        return generations.load(self.names, generation)

    def newest(self) -> Metadata | None:
        """Return the metadata of the present generation; None if none was committed."""
        return generations.newest(self.names)

    def source(self, part: Part) -> Source:
        """Return a part: a regular file in the directory, without links in its path."""
        from headrace.store.files.source import expand  # imports this module

        path = self.directory / part.path
        superseded = self.names.superseded / part.path
        if not path.exists() and superseded.exists():
            path = superseded
        self._refuse_unless_file(path)
        try:
            (source,) = expand(path)
        except SourceNotFoundError:
            raise _gone(path) from None
        return source

    def _refuse_unless_file(self, path: Path) -> None:
        below = path.relative_to(self.directory).parts
        for depth in range(1, len(below) + 1):
            step = self.directory.joinpath(*below[:depth])
            try:
                mode = step.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                raise _gone(path) from None
            if depth == len(below) and not stat.S_ISREG(mode):
                raise BadSetError(str(path), "it is not a regular file")
            if depth < len(below) and not stat.S_ISDIR(mode):
                raise BadSetError(str(path), f"{step.name} is not a directory")

    def vacuum(self, grace: float) -> list[int]:
        """Remove files that no reader needs; return the numbers of the removed generations."""
        lock = lock_set(self.names)
        try:
            local.remove_dead(self.names)
            local.remove_orphans(self.names)
            gone = local.remove_superseded(self.names, grace)
            local.hide_superseded(self.names)
        finally:
            lock.release()
        return gone


def _gone(path: Path) -> BadSetError:
    return BadSetError(str(path), "the metadata names it, but it is missing")


def find_local_set(path: Path, name: str | None) -> tuple[LocalSet, int | None]:
    """Return the set that `path` names, and its generation if `path` names one."""
    names, pinned = _found(path, name)
    return LocalSet(names), pinned


def _found(path: Path, name: str | None) -> tuple[SetNames, int | None]:
    if path.is_dir():
        return SetNames(path, _only_name(path) if name is None else name), None
    if name is not None:
        raise SourceNotFoundError(str(path))
    if (found := naming.meta_file(path.name)) and path.exists():
        return SetNames(path.parent, found[0]), found[1]
    if is_set(path):
        return SetNames(path.parent, path.name), None
    if path.exists():
        raise UsageError(f"{path}: is a file, not a set of shards; name its directory")
    raise SourceNotFoundError(str(path))


def _only_name(directory: Path) -> str:
    found = sets_in(directory)
    if not found:
        raise BadSetError(str(directory), "there is no set of shards in it")
    if len(found) > 1:
        several = ", ".join(found)
        raise UsageError(
            f"{directory}: has several sets: {several}; "
            f"name one of them: {directory / found[0]}"
        )
    return found[0]
