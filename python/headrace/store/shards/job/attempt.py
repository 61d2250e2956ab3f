"""One attempt at a task of a job: whole parts, put aside where nobody else writes.

`Attempt` is the place of those that are put aside in a directory, `RemoteAttempt` of those that
are uploaded; whoever writes them is an `AttemptWriter` in both cases.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, UnwritableError
from headrace.store.files import system
from headrace.store.shards import names as naming
from headrace.store.shards.vacuum import local
from headrace.store.shards.write.block_table import write_block_table
from headrace.store.shards.write.parts_writer import PartsWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headrace.kernel.blocks import Shard
    from headrace.store.shards.job.remote_attempt import RemoteAttempt
    from headrace.store.shards.metadata import Part
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.write.partitions import Keys

NOTHING = "the set is as it was"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise what the operating system says about `path` as an error of ours."""
    try:
        yield
    except HeadraceError:
        raise
    except OSError as error:
        where = os.fspath(error.filename or path)
        reason = error.strerror or str(error)
        raise UnwritableError(where, reason, NOTHING) from error


class Attempt:
    """The place of one attempt's parts."""

    def __init__(self, staging: Path, task: int) -> None:
        self.root = staging
        self.path = staging / naming.attempt_name(task, os.urandom(8).hex())
        self._directories: set[Path] = set()

    def writing(self, path: Path | None = None) -> AbstractContextManager[None]:
        """Raise what the operating system says about `path` as an error of ours."""
        return writing(path or self.path)

    def directory(self, partition: str | None = None) -> Path:
        """Return the directory of its parts, or those of a partition; make it if need be."""
        if not self._directories and not self.root.is_dir():
            reason = (
                "what the job had made is not there: the job is over, or the directory "
                "is not the same on every machine"
            )
            raise UnwritableError(str(self.root), reason, NOTHING)
        wanted = (
            [self.path] if partition is None else [self.path, self.path / partition]
        )
        for each in wanted:
            if each not in self._directories:
                self._directories.add(each)
                system.calls.make_directory(each)
        return wanted[-1]

    def keep(self, path: Path, shard: Shard) -> str:
        """Give a part that is whole its block table; return its path."""
        write_block_table(path, shard)
        return path.relative_to(self.root).as_posix()

    def close(self) -> None:
        """Be done: what was put aside stays."""

    def discard(self) -> None:
        """Remove what was put aside."""
        with suppress(OSError):
            local.remove_parts(self.path, self.root)


class AttemptWriter(PartsWriter["tuple[Part, ...]"]):
    """Writes what one attempt at a task is given; closed, it has put whole parts aside."""

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
