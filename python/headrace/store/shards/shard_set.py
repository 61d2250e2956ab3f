"""A set of shards as its readers see it: one generation and its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import BadSetError, UsageError
from headrace.store.files.source import Source, is_url
from headrace.store.shards.local_set import LocalSet, find_local_set
from headrace.store.shards.vacuum.local import GRACE, seconds_of_grace

if TYPE_CHECKING:
    from headrace.store.shards.metadata import Metadata, Part
    from headrace.store.shards.remote_set import RemoteSet


class ShardSet:
    """The set in a directory, in the generation that was newest when the object was made.

    `path` is the directory, if there is one set in it or `name` selects one; ``DIRECTORY/NAME``;
    or a metadata file, whose generation is used even if there is a newer one. All of these can be
    URLs in an object store.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self._where, self._pinned = _found(os.fspath(path), name)
        self.metadata = self._load()
        """The metadata of the set: `headrace.store.shards.metadata.Metadata`."""

    def __repr__(self) -> str:
        generation = self.metadata.generation
        return f"<headrace.ShardSet {self.path}, generation {generation}>"

    @property
    def path(self) -> str:
        """Directory and name of the set."""
        return self._where.text

    @property
    def directory(self) -> Path:
        """The directory that the paths of parts are relative to, on a file system."""
        if isinstance(self._where, LocalSet):
            return self._where.directory
        raise UsageError(
            f"{self.path}: is in an object store; only a set on a file system can have "
            "indexes and copies"
        )

    def at(self, part: Part) -> str:
        """Return the path or URL of a part."""
        return self._where.at(part.path)

    def _load(self) -> Metadata:
        if self._pinned is None:
            metadata = self._where.newest()
        else:
            metadata = self._where.load(self._pinned)
        if metadata is None:
            reason = "no set was ever committed under this name"
            raise BadSetError(self.path, reason)
        return metadata

    def renew(self) -> None:
        """Switch to the newest generation, unless the path named one."""
        if self._pinned is not None:
            return
        newest = max(self._where.committed(), default=0)
        if newest != self.metadata.generation:
            self.metadata = self._load()

    def sources(self) -> list[Source]:
        """Return the parts in order; raises if one is missing or has another size.

        If the generation is removed meanwhile, this switches to the newer one.
        """
        while True:
            try:
                return [self.source(part) for part in self.metadata.parts]
            except BadSetError:
                newer = None if self._pinned else self._where.newest()
                if newer is None or newer.generation <= self.metadata.generation:
                    raise
                self.metadata = newer

    def source(self, part: Part) -> Source:
        """Return a part; raises if it is missing or has another size."""
        source = self._where.source(part)
        if source.size != part.bytes:
            reason = f"it has {source.size} bytes, but the metadata says {part.bytes}"
            raise BadSetError(self.at(part), reason)
        codec = self.metadata.compression.codec
        if source.codec != codec:
            reason = f"its bytes are {source.codec}, but the metadata says {codec}"
            raise BadSetError(self.at(part), reason)
        return source

    def publish(self, url: str) -> str:
        """Copy the set to an object store; return the URL of the metadata that commits it there.

        It becomes the next generation of the set with this name at `url`. Readers of that set see
        the previous generation until the copy is complete.
        """
        from headrace.store.shards.job.object_store import publish

        return publish(self, url)

    def vacuum(self, grace: float = GRACE) -> list[int]:
        """Remove generations that were superseded `grace` seconds ago; return their numbers.

        Leftovers of dead writers are removed as well, and parts that Spark jobs have staged which
        did nothing for a day. Only such jobs may write the set meanwhile. In an object store,
        files that were uploaded a week ago and are in no generation are removed, and any writer
        may be active.
        """
        return self._where.vacuum(seconds_of_grace(grace))


def _found(path: str, name: str | None) -> tuple[LocalSet | RemoteSet, int | None]:
    if not is_url(path):
        return find_local_set(Path(path), name)
    from headrace.store.shards.remote_set import find_set

    return find_set(path, name)
