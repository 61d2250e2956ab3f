"""One attempt at a task of a job that writes to an object store.

A part is written on this machine and uploaded when it is complete, under a unique name: readers see
only the parts that metadata names.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.store.files import system
from headrace.store.files.atomic import unwritable
from headrace.store.files.directories import make_directories
from headrace.store.shards import names as naming
from headrace.store.shards.job.attempt import NOTHING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headrace.kernel.blocks import Shard
    from headrace.store.shards.remote_set import RemoteSet


class RemoteAttempt:
    """The parts of one attempt, which are uploaded beside those of generation `number`."""

    def __init__(self, names: RemoteSet, number: int) -> None:
        self._store = names.store
        self._parts = naming.parts_name(names.name, number)
        self._token = os.urandom(8).hex()
        self._scratch: Path | None = None
        self._uploaded: list[str] = []

    def writing(self, path: Path | None = None) -> AbstractContextManager[None]:
        """Raise an error of the operating system about `path` as `UnwritableError`."""
        where = path or Path(tempfile.gettempdir())
        return unwritable(where, NOTHING, or_named=True)

    def directory(self, partition: str | None = None) -> Path:
        """Return the local directory for parts, or for parts of a partition."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="headrace-"))
        wanted = self._scratch / (partition or "")
        make_directories(wanted, [])
        return wanted

    def keep(self, path: Path, shard: Shard) -> str:
        """Upload a finished part and remove the local file; return its path in the set."""
        assert self._scratch is not None
        inside = path.relative_to(self._scratch).as_posix()
        uploaded = self.upload(path, inside, shard.bytes)
        system.calls.unlink(path)
        return uploaded

    def upload(self, path: Path, inside: str, size: int) -> str:
        """Upload a part with the path `inside` the set; return its unique path in the set."""
        *partition, file = inside.split("/")
        unique = naming.unique_part_name(file, self._token)
        name = "/".join([self._parts, *partition, unique])
        # Recorded first: an interrupt must not leave an unrecorded upload.
        self._uploaded.append(name)
        self._store.upload(path, name, size)
        return name

    def close(self) -> None:
        """Do nothing: uploaded parts stay."""
        scratch, self._scratch = self._scratch, None
        if scratch is not None:
            system.calls.remove_tree(scratch)

    def discard(self) -> None:
        """Remove uploaded parts, as far as possible."""
        self.close()
        for name in reversed(self._uploaded):
            self._store.remove(name)
