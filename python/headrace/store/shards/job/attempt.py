"""One attempt at a task of a job: whole parts are staged in its own directory.

`Attempt` is the staging directory of an attempt, `RemoteAttempt` the upload to an object store; an
`AttemptWriter` writes to both.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import UnwritableError
from headrace.store.files.atomic import unwritable
from headrace.store.shards import names as naming
from headrace.store.shards.vacuum import local
from headrace.store.shards.write.block_table import write_block_table
from headrace.store.shards.write.parts import part_directory
from headrace.store.shards.write.parts_writer import PartsWriter

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headrace.kernel.blocks import Shard
    from headrace.store.shards.job.remote_attempt import RemoteAttempt
    from headrace.store.shards.metadata import Part
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.write.partitions import Keys

NOTHING = "the set is as it was"


class Attempt:
    """The staging directory of one attempt."""

    def __init__(self, staging: Path, task: int) -> None:
        self.root = staging
        self.path = staging / naming.attempt_name(task, os.urandom(8).hex())
        self._directories: set[Path] = set()

    def writing(self, path: Path | None = None) -> AbstractContextManager[None]:
        """Raise an error of the operating system about `path` as `UnwritableError`."""
        return unwritable(path or self.path, NOTHING, or_named=True)

    def directory(self, partition: str | None = None) -> Path:
        """Return the directory for parts, or for parts of a partition; create it if needed."""
        if not self._directories and not self.root.is_dir():
            reason = (
                "the staging directory of the job is missing: the job is over, or the "
                "directory is not the same on every machine"
            )
            raise UnwritableError(str(self.root), reason, NOTHING)
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


class AttemptWriter(PartsWriter["tuple[Part, ...]"]):
    """Writes the records of one attempt at a task; `close` returns the staged parts."""

    def __init__(
        self,
        attempt: Attempt | RemoteAttempt,
        target: str,
        options: PackOptions,
        keys: Keys | None,
    ) -> None:
        super().__init__(target, options.limits, "abort")
        self._attempt = attempt
        self._write_to(self._attempt, options, keys)

    def _commit(self) -> tuple[Part, ...]:
        self._files.finish()
        self._attempt.close()
        return tuple(self._files.parts)

    def _discard(self) -> None:
        self._files.close()
        self._attempt.discard()
