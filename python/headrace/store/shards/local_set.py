"""A set on a file system, and its newest generation.

A generation is committed when its metadata is complete. Truncated metadata was never committed,
and is skipped; complete but damaged metadata is an error, because the generation before it has rows
that were replaced.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from typing import TYPE_CHECKING

from headrace.errors import (
    BadSetError,
    SetLockedError,
    SourceNotFoundError,
    UnreadableError,
    UsageError,
)
from headrace.kernel.rows import reading
from headrace.record import record
from headrace.store.files import system
from headrace.store.files.checked_json import is_whole
from headrace.store.files.lock import FileLock
from headrace.store.shards import names as naming
from headrace.store.shards.metadata import LONGEST, Metadata, Part, decode
from headrace.store.shards.names import SetNames, is_set, sets_in

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.store.files.source import Source
    from headrace.store.shards.remote_set import RemoteSet


@record
class LocalSet(SetNames):
    """One set, by the names of its files."""

    def at(self, path: str) -> str:
        """Return the path of a file of the set."""
        return str(self.directory / path)

    def committed(self) -> list[int]:
        """List the numbers of all generations with a metadata file, newest first."""
        if not self.directory.exists():
            return []
        with reading(str(self.directory)):
            found = system.calls.list_directory(self.directory)
        return naming.generations(found, self.name)

    def load(self, generation: int) -> Metadata | None:
        """Return the metadata of a generation; None if it was never committed, or was removed."""
        path = self.meta(generation)
        content = _content(path)
        if content is None or not is_whole(content):
            return None
        return decode(content, str(path), self.name, generation)

    def newest(self) -> Metadata | None:
        """Return the metadata of the present generation; None if none was committed."""
        return newest_of(self)

    def is_committed(self, generation: int) -> bool:
        """Whether a generation is committed: its metadata exists and is complete."""
        content = _content(self.meta(generation))
        return content is not None and is_whole(content)

    def locked(self) -> FileLock:
        """Take the lock of the set, or raise `SetLockedError`: it has one writer at a time."""
        return FileLock(self.lock, partial(SetLockedError, self.text))

    def source(self, part: Part) -> Source:
        """Return a part: a regular file in the directory, without links in its path."""
        from headrace.store.files.source import expand  # imports this module

        path = self.directory / part.path
        superseded = self.superseded / part.path
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
        from headrace.store.shards.vacuum import local  # imports this module

        lock = self.locked()
        try:
            local.remove_dead(self)
            local.remove_orphans(self)
            gone = local.remove_superseded(self, grace)
            local.hide_superseded(self)
        finally:
            lock.release()
        return gone


def newest_of(shards: LocalSet | RemoteSet) -> Metadata | None:
    """Return the metadata of the present generation, wherever the set is.

    A generation that vanishes meanwhile was superseded, so the next attempt finds a newer one.
    """
    seen = -1
    while True:
        generations = shards.committed()
        for generation in generations:
            if (metadata := shards.load(generation)) is not None:
                return metadata
        if not generations or generations[0] <= seen:
            return None
        seen = generations[0]


def _content(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadSetError(str(path), "it is a link") from None
        raise UnreadableError(str(path), error.strerror or str(error)) from error
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise BadSetError(str(path), "it is not a regular file")
        if found.st_size > LONGEST:
            raise BadSetError(str(path), f"it is longer than {LONGEST} bytes")
        return file.read()


def _gone(path: Path) -> BadSetError:
    return BadSetError(str(path), "the metadata names it, but it is missing")


def find_local_set(path: Path, name: str | None) -> tuple[LocalSet, int | None]:
    """Return the set that `path` names, and its generation if `path` names one."""
    if path.is_dir():
        return LocalSet(path, _only_name(path) if name is None else name), None
    if name is not None:
        raise SourceNotFoundError(str(path))
    if (found := naming.meta_file(path.name)) and path.exists():
        return LocalSet(path.parent, found[0]), found[1]
    if is_set(path):
        return LocalSet(path.parent, path.name), None
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
