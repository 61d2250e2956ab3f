"""A set of shards as its readers see it: one generation, and the files it is made of."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import BadSetError, SourceNotFoundError, UsageError
from headrace.store.shards import generations, leftovers
from headrace.store.shards import names as naming
from headrace.store.shards.listing import is_set, sets_in
from headrace.store.shards.lock import lock_set
from headrace.store.shards.names import SetNames

if TYPE_CHECKING:
    import os

    from headrace.store.shards.metadata import Metadata, Part
    from headrace.store.source import Source


class ShardSet:
    """The set in a directory, as it was committed last when this was made.

    `path` is the directory, if there is one set in it or `name` says which;
    ``DIRECTORY/NAME``; or a metadata file, whose generation is then meant even if
    there is a newer one.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self._names, self._pinned = _found(Path(path), name)
        self.metadata = self._load()
        """What is known of the set: `headrace.store.shards.metadata.Metadata`."""

    def __repr__(self) -> str:
        generation = self.metadata.generation
        return f"<headrace.ShardSet {self.path}, generation {generation}>"

    @property
    def path(self) -> str:
        """Directory and name of the set."""
        return self._names.text

    @property
    def directory(self) -> Path:
        """What the paths of its parts are below of."""
        return self._names.directory

    def _load(self) -> Metadata:
        if self._pinned is None:
            metadata = generations.newest(self._names)
        else:
            metadata = generations.load(self._names, self._pinned)
        if metadata is None:
            reason = "no set was ever committed under this name"
            raise BadSetError(self.path, reason)
        return metadata

    def renew(self) -> None:
        """Take the newest generation, unless it is the one that is known, or one was named."""
        if self._pinned is not None:
            return
        newest = max(generations.committed(self._names), default=0)
        if newest != self.metadata.generation:
            self.metadata = self._load()

    def sources(self) -> list[Source]:
        """Return the parts in order, each found to be as long as it should be.

        If the generation is removed meanwhile, there is a newer one, which takes its
        place here.
        """
        while True:
            try:
                return [self.source(part) for part in self.metadata.parts]
            except BadSetError:
                newer = None if self._pinned else generations.newest(self._names)
                if newer is None or newer.generation <= self.metadata.generation:
                    raise
                self.metadata = newer

    def source(self, part: Part) -> Source:
        """Return a part, found to be as long as it should be."""
        from headrace.store.source import expand

        path = self._names.directory / part.path
        self._refuse_unless_file(path)
        try:
            (source,) = expand(path)
        except SourceNotFoundError:
            raise _gone(path) from None
        if source.size != part.bytes:
            reason = f"it has {source.size} bytes, but the metadata says {part.bytes}"
            raise BadSetError(str(path), reason)
        codec = self.metadata.compression.codec
        if source.codec != codec:
            reason = f"its bytes are {source.codec}, but the metadata says {codec}"
            raise BadSetError(str(path), reason)
        return source

    def _refuse_unless_file(self, path: Path) -> None:
        """Raise unless `path` is a file below the directory with no link on the way."""
        below = path.relative_to(self._names.directory).parts
        for depth in range(1, len(below) + 1):
            step = self._names.directory.joinpath(*below[:depth])
            try:
                mode = step.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                raise _gone(path) from None
            if depth == len(below) and not stat.S_ISREG(mode):
                raise BadSetError(str(path), "it is not a regular file")
            if depth < len(below) and not stat.S_ISDIR(mode):
                raise BadSetError(str(path), f"{step.name} is not a directory")

    def publish(self, url: str) -> str:
        """Copy the set to an object store; return the URL of what commits it there.

        It becomes the next generation of the set of its name at `url`. Whoever reads that
        sees the one before until all of this one is there.
        """
        from headrace.store.shards.publish import publish

        return publish(self, url)

    def vacuum(self, grace: float = leftovers.GRACE) -> list[int]:
        """Remove generations that were superseded `grace` seconds ago; return their numbers.

        What dead writers left is removed as well, and what jobs of Spark have put aside
        that did nothing for a day. Nobody may be writing the set, but for such jobs.
        """
        lock = lock_set(self._names)
        try:
            leftovers.remove_dead(self._names)
            leftovers.remove_orphans(self._names)
            return leftovers.remove_superseded(self._names, grace)
        finally:
            lock.release()


def _gone(path: Path) -> BadSetError:
    return BadSetError(str(path), "the metadata names it, but it is not there")


def _found(path: Path, name: str | None) -> tuple[SetNames, int | None]:
    """Return the set that `path` means, and its generation if it says which."""
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
