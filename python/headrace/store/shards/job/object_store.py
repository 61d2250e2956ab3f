"""The home of a job in an object store, without a directory that all tasks share.

Attempts upload parts under unique names; the commit creates the metadata that names them, if it
does not exist yet. Nothing is ever renamed.
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
    """One set; parts are uploaded beside those of generation `number`."""

    names: RemoteSet
    number: int = 1
    since: float = field(default_factory=time.time)
    token: str = field(default_factory=lambda: os.urandom(8).hex())

    def refuse_foreign(self) -> None:
        """Do nothing: a set in an object store can be beside any other files."""

    def newest(self) -> Metadata | None:
        """Return the metadata of the present generation; None if none was committed."""
        return self.names.newest()

    def begun(self, current: Metadata | None, *, shared: bool) -> RemoteHome:  # noqa: ARG002
        """Raise, before any task runs, unless the store supports commits."""
        self.names.store.refuse_unless_creating(naming.probe_name(self.names.name))
        # The committed generation has this number or a higher one.
        return replace(self, number=1 if current is None else current.generation + 1)

    def attempt(self, _task: int) -> RemoteAttempt:
        """Begin an attempt at a task, with a new directory."""
        return RemoteAttempt(self.names, self.number)

    def generation(self) -> RemoteGeneration:
        """Begin the next generation; of several jobs, one commits it."""
        return RemoteGeneration(self.names, self.since, self.number)

    def drop(self, parts: Iterable[Part]) -> None:
        """Remove parts that will not be committed, as far as possible."""
        store = self.names.store
        for part in parts:
            store.remove(part.path)

    def close(self) -> None:
        """Do nothing: `drop` has removed all staged parts."""
