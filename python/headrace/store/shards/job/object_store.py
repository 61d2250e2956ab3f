"""A set that a job writes in an object store, without a directory that all its tasks see.

Attempts upload parts under names of their own; whoever commits creates the metadata that
names them, if nobody else has created it. Nothing is ever renamed.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.store.shards import names as naming
from headrace.store.shards.job.remote_attempt import RemoteAttempt
from headrace.store.shards.job.remote_commit import RemoteGeneration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.store.shards.metadata import Metadata, Part
    from headrace.store.shards.remote_set import RemoteSet


@dataclass(frozen=True, slots=True)
class RemoteHome:
    """One set; parts are put among those of generation `number`, which need not become theirs."""

    names: RemoteSet
    number: int = 1
    since: float = field(default_factory=time.time)
    token: str = field(default_factory=lambda: os.urandom(8).hex())

    def refuse_foreign(self) -> None:
        """Raise nothing: a set can live beside anything else."""

    def newest(self) -> Metadata | None:
        """Return the metadata of the set as it is now, None if it was never committed."""
        return self.names.newest()

    def begun(self, current: Metadata | None, *, shared: bool) -> RemoteHome:  # noqa: ARG002
        """Raise unless the store can do what a commit needs, before tasks do their work."""
        self.names.store.refuse_unless_creating(naming.probe_name(self.names.name))
        # The one that is committed has this number or a higher one.
        return replace(self, number=1 if current is None else current.generation + 1)

    def attempt(self, _task: int) -> RemoteAttempt:
        """Give an attempt at a task a place of its own."""
        return RemoteAttempt(self.names, self.number)

    def generation(self) -> RemoteGeneration:
        """Begin the next generation; others may as well, and one of them commits it."""
        return RemoteGeneration(self.names, self.since, self.number)

    def drop(self, parts: Iterable[Part]) -> None:
        """Remove parts that will not be committed, as far as that can be done."""
        store = self.names.store
        for part in parts:
            store.remove(part.path)

    def close(self) -> None:
        """Be done: the job has put nothing aside that `drop` does not know of."""
