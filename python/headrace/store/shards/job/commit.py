"""Commit of a generation on a file system, under the lock of the set.

Readers see a generation when its metadata is renamed, which is atomic and happens when everything
that it names is durable. Until then, all changes are undone on failure: the old set, the
directories, even the lock file are then as they were. Protocol: docs/formats/shards.md.
"""

import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import (
    BadSetError,
    EmptySetError,
    HeadraceError,
    SetLockedError,
    UsageError,
)
from headrace.kernel.blocks import Shard
from headrace.store.files import system
from headrace.store.files.atomic import NO_LINKS, NewFile, unwritable
from headrace.store.files.directories import remove_directories, use_directory
from headrace.store.shards import names as naming
from headrace.store.shards.local_set import LocalSet
from headrace.store.shards.metadata import Metadata, encode
from headrace.store.shards.vacuum import local
from headrace.store.shards.write.parts import part_directory, write_block_table

if TYPE_CHECKING:
    from headrace.store.files.lock import FileLock


class Generation:
    """The next generation of a set, which is locked until it is committed or discarded."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        name: str,
        grace: float = local.GRACE,
    ) -> None:
        self.grace = grace
        self.names = LocalSet(Path(directory).absolute(), naming.check_name(name))
        self.number = 0
        self._pid = os.getpid()
        self._had_set = False
        self._committed = False
        self._made: list[Path] = []
        self._directories: set[Path] = set()
        self._lock: FileLock | None = None
        refuse_foreign(self.names.directory)
        try:
            self._had_set = bool(self.names.committed())
            with self.writing():
                directory = self.names.directory
                self._lock = use_directory(directory, self._made, self.names.locked)
                self._begin()
        except BaseException:
            self.discard()
            raise

    def _begin(self) -> None:
        local.remove_dead(self.names)
        numbers = self.names.committed()
        self._had_set = bool(numbers)
        self.number = max(numbers, default=0) + 1
        while any(map(os.path.lexists, self.names.places(self.number))):
            self.number += 1  # it has files of another program

    @property
    def root(self) -> Path:
        """The directory that the paths of parts are relative to."""
        return self.names.directory

    @property
    def left(self) -> str:
        """The state that readers find if the generation fails."""
        if self._committed:
            return "the new set is in place, but a power failure may undo it"
        if self._had_set:
            return "the set that was there is intact"
        return "nothing of the new set is left"

    def writing(self, path: Path | None = None) -> AbstractContextManager[None]:
        """Raise an error of the operating system about `path` as `UnwritableError`."""
        where = path or self.names.directory
        return unwritable(where, lambda: self.left, or_named=path is None)

    def directory(self, partition: str | None = None) -> Path:
        """Return the directory for parts, or for parts of a partition; create it if needed."""
        parts = self.names.parts(self.number)
        return part_directory(parts, partition, self._directories)

    def keep(self, path: Path, shard: Shard) -> str:
        """Write the block table of a finished part; return the path of the part."""
        write_block_table(path, shard)
        return path.relative_to(self.root).as_posix()

    def refuse_emptying(self) -> None:
        """Raise if an empty generation would replace a set with rows."""
        newest = None
        with suppress(BadSetError):
            newest = self.names.newest() if self._had_set else None
        if newest is not None and newest.total_records:
            raise EmptySetError(self.names.text, newest.total_records)

    def commit(self, metadata: Metadata) -> None:
        """Make everything durable and commit; remove old superseded generations."""
        meta = self.names.meta(self.number)
        with self.writing(meta):
            for directory in sorted(self._directories):
                system.calls.sync_directory(directory)
            system.calls.sync_directory(self.names.directory)
            for directory in self._made:
                system.calls.sync_directory(directory.parent)
            self._publish(meta, encode(metadata))
        with self.writing(meta):
            system.calls.sync_directory(self.names.directory)
        with suppress(OSError, HeadraceError):
            # The set is committed; a later commit removes what cannot be removed now.
            local.remove_superseded(self.names, self.grace)
        with suppress(OSError, HeadraceError):
            local.hide_superseded(self.names)
        self._made = []
        self._release()

    def _publish(self, meta: Path, content: bytes) -> None:
        new = NewFile(meta)
        try:
            new.append(content)
            system.calls.sync(new.descriptor)
            try:
                system.calls.link(new.temporary, meta)
                self._committed = True
            except FileExistsError:
                raise
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                # Empty metadata reserves the name, but commits nothing yet.
                os.close(system.calls.create(meta))
                system.calls.rename(new.temporary, meta)
                self._committed = True
        except FileExistsError:
            holder = f"another process, which has committed generation {self.number},"
            raise SetLockedError(self.names.text, holder) from None
        finally:
            # It may stay: the next writer removes leftovers of this name.
            with suppress(OSError):
                new.discard()

    def discard(self) -> None:
        """Undo everything, unless it was committed, or belongs to the parent of a forked process."""
        if os.getpid() != self._pid:
            return
        if self._lock is not None and self.number:
            with suppress(OSError, HeadraceError):
                self._take_back()
        self._release()

    def _take_back(self) -> None:
        local.remove_temporary(self.names)
        if not self.names.is_committed(self.number):
            local.remove_generation(self.names, self.number)

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()
        remove_directories(self._made)

    def __del__(self) -> None:
        with suppress(AttributeError):  # the constructor was interrupted
            self.discard()


def refuse_foreign(directory: Path) -> None:
    """Raise unless `directory` can contain a set: it is new, empty, or has sets."""
    with unwritable(directory, "nothing was changed"):
        try:
            found = set(system.calls.list_directory(directory))
        except FileNotFoundError:
            return
        except NotADirectoryError:
            raise UsageError(f"{directory}: is not a directory; name one") from None
    if {"manifest.json", "LOCK"} <= found:
        raise UsageError(f"{directory}: is a log partition; write to another directory")
    if any(map(naming.meta_file, found)) or all(map(naming.is_ours, found)):
        return
    raise UsageError(
        f"{directory}: has files in it, but no set of shards; "
        "write to a new or an empty directory"
    )
