"""One attempt at a task of a job that writes to an object store.

A part is written on this machine and uploaded when it is whole, under a name that nobody
else has: of all that attempts upload, readers see only what metadata names.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.store.files import system
from headrace.store.files.directories import make_directories
from headrace.store.shards import names as naming
from headrace.store.shards.job.attempt import writing

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headrace.kernel.blocks import Shard
    from headrace.store.shards.remote_set import RemoteSet


class RemoteAttempt:
    """The place of one attempt's parts: they are put among those of generation `number`."""

    def __init__(self, names: RemoteSet, number: int) -> None:
        self._store = names.store
        self._parts = naming.parts_name(names.name, number)
        self._token = os.urandom(8).hex()
        self._scratch: Path | None = None
        self._uploaded: list[str] = []

    def writing(self, path: Path | None = None) -> AbstractContextManager[None]:
        """Raise what the operating system says about `path` as an error of ours."""
        return writing(path or Path(tempfile.gettempdir()))

    def directory(self, partition: str | None = None) -> Path:
        """Return where parts, or those of a partition, are written before they are uploaded."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="headrace-"))
        wanted = self._scratch / (partition or "")
        make_directories(wanted, [])
        return wanted

    def keep(self, path: Path, shard: Shard) -> str:
        """Upload a part that is whole, and let go of it here; return its path there."""
        assert self._scratch is not None
        inside = path.relative_to(self._scratch).as_posix()
        uploaded = self.upload(path, inside, shard.bytes)
        system.calls.unlink(path)
        return uploaded

    def upload(self, path: Path, inside: str, size: int) -> str:
        """Upload a part that is `inside` of the set by this name; return its path there."""
        *partition, file = inside.split("/")
        unique = naming.unique_part_name(file, self._token)
        name = "/".join([self._parts, *partition, unique])
        # Noted first: an interrupt must not leave one that nobody knows of.
        self._uploaded.append(name)
        self._store.upload(path, name, size)
        return name

    def close(self) -> None:
        """Be done: what was uploaded stays."""
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            system.calls.remove_tree(scratch)

    def discard(self) -> None:
        """Remove what was uploaded, as far as that can be done."""
        self.close()
        for name in reversed(self._uploaded):
            self._store.remove(name)
