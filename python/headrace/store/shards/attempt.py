"""One attempt at a task of a job: whole parts, put aside where nobody else writes."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, UnwritableError
from headrace.store.shards import leftovers
from headrace.store.shards import names as naming
from headrace.store.shards.parts_writer import PartsWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headrace.store.shards.metadata import Part
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.partitions import Keys

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
                each.mkdir()
        return wanted[-1]


class AttemptWriter(PartsWriter["tuple[Part, ...]"]):
    """Writes what one attempt at a task is given; closed, it has put whole parts aside."""

    def __init__(
        self,
        staging: Path,
        task: int,
        target: str,
        options: PackOptions,
        keys: Keys | None,
    ) -> None:
        super().__init__(target, options.limits, "abort")
        self._attempt = Attempt(staging, task)
        self._write_to(self._attempt, options, keys)

    def _commit(self) -> tuple[Part, ...]:
        self._files.finish()
        return tuple(self._files.parts)

    def _discard(self) -> None:
        self._files.close()
        with suppress(OSError):
            leftovers.remove_parts(self._attempt.path, self._attempt.root)
