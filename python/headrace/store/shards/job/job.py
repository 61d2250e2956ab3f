"""Jobs: many processes write one set, in tasks and attempts at them.

Each *attempt* at a task stages whole parts in its own directory, and returns them to the job as
plain data. The job takes the parts of one attempt at each task into the next generation and
commits it: only then does a reader see any of it, and a repeated task, or a failed job, leaves
nothing. No file is open and no lock is held meanwhile, so several jobs can write the same set;
their commits are serial. Protocol: docs/formats/shards.md.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from headrace.errors import (
    BadSetError,
    SetLockedError,
    StreamNotContinuedError,
    UncertainCommitError,
    UsageError,
)
from headrace.store.shards import names as naming
from headrace.store.shards.job.directory import DirectoryHome
from headrace.store.shards.local_set import LocalSet
from headrace.store.shards.metadata import Compression, Limits, Metadata, Part, numbered
from headrace.store.shards.vacuum.local import GRACE
from headrace.store.shards.write.set_writer import AttemptWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.store.shards.job.object_store import RemoteHome
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.write.hive_partitions import Keys

    Home: TypeAlias = DirectoryHome | RemoteHome
    Remember: TypeAlias = Callable[[Mapping[str, object]], Mapping[str, object]]
    from collections.abc import Mapping

PATIENCE = 300.0
"""Seconds that a job waits for other writers of the same set."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job, as plain data that is sent to its tasks.

    It appends to the set, or with `overwrite` replaces it. If the set has the rows of `job_id`
    already, the job is `done`, and need not run.
    """

    home: Home
    overwrite: bool
    job_id: str | None
    options: PackOptions
    partition_by: str | None
    done: bool

    def attempt(self, task: int, keys: Keys | None = None) -> AttemptWriter:
        """Begin an attempt at a task; parts are ordered by the numbers of their tasks."""
        attempt = self.home.attempt(task)
        return AttemptWriter(attempt, self.home.names.text, self.options, keys)

    def commit(
        self,
        attempts: Iterable[Sequence[Part]],
        remember: Remember | None = None,
        batch: Batch | None = None,
    ) -> Metadata:
        """Commit the parts of these attempts, one of each task in order.

        The commit waits for other commits; if another job was first, this one appends to, or
        replaces, its generation. `remember` maps the `run` entry of the previous metadata to that
        of the new one. `batch`: the batch of a stream; if the set has it, nothing is done.
        """
        parts = sorted(
            (part for attempt in attempts for part in attempt), key=_directory
        )
        try:
            metadata = self._committed(parts, remember or dict, batch)
        except UncertainCommitError:
            raise  # readers may see the parts
        except Exception:
            self.home.drop(parts)
            raise
        taken = {part.path for part in metadata.parts}
        self.home.drop([part for part in parts if part.path not in taken])
        return metadata

    def _committed(
        self, parts: Sequence[Part], remember: Remember, batch: Batch | None
    ) -> Metadata:
        """Commit, after other commits."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._commit(parts, remember, batch)
            except SetLockedError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(
                random.uniform(0.01, 0.2)
            )  # so that two writers do not collide again

    def _commit(
        self, parts: Sequence[Part], remember: Remember, batch: Batch | None
    ) -> Metadata:
        generation = self.home.generation()
        try:
            current = current_set(self.home, overwrite=self.overwrite)
            if current is not None and is_done(current, self.job_id):
                return current
            if batch is not None:
                if self.has(batch, current):
                    assert current is not None
                    return current
                remember = batch.remembered
            taken = generation.take(parts)
            metadata = self._metadata(generation.number, current, taken, remember)
            generation.commit(metadata)
        finally:
            generation.discard()
        return metadata

    def has(self, batch: Batch, current: Metadata | None) -> bool:
        """Whether the set has a batch; raises if the batch does not follow the last one."""
        # A job that replaces the set needs no earlier batch.
        run = None if current is None else current.run
        return not self.overwrite and batch.is_in(self.home.names.text, run)

    def _metadata(
        self,
        generation: int,
        current: Metadata | None,
        taken: Sequence[Part],
        remember: Remember,
    ) -> Metadata:
        compression, limits = self.options.compression, self.options.limits
        run: dict[str, object] = {}
        before: tuple[Part, ...] = ()
        if current is not None and not self.overwrite:
            refuse_mixture(
                self.home.names.text, current, compression, self.partition_by
            )
            before = current.parts
            run = dict(current.run or {})
            largest = max(compression.block_bytes, current.compression.block_bytes)
            compression = replace(compression, block_bytes=largest)
            limits = _wider(limits, current.limits)
        run = dict(remember(run))
        if self.job_id is not None:
            run |= {"jobId": self.job_id, "jobIds": [*_job_ids(run), self.job_id]}
        parts = tuple(numbered([*before, *taken]))
        return Metadata(
            self.home.names.name, generation, compression, limits, parts, run or None
        )

    def drop(self, parts: Iterable[Part]) -> None:
        """Remove the parts of attempts, of a job that did not commit."""
        self.home.drop(parts)

    def close(self) -> None:
        """Remove staged parts; a failed job leaves nothing else."""
        self.home.close()


def begin(
    place: Path | str,
    name: str,
    *,
    overwrite: bool,
    job_id: str | None,
    options: Callable[[Metadata | None], PackOptions],
    partition_by: str | None,
    token: str | None = None,
    grace: float | None = None,
) -> Job:
    """Begin a job, and create the staging directory of its tasks.

    `place` is a directory, or the URL of one in an object store. `options` is called with the set
    that is appended to, if there is one. Jobs with the same `token`, sixteen digits, share a
    staging directory, so only one of them may run at a time. Generations of a directory that were
    superseded `grace` seconds ago are removed.
    """
    home = _home(place, naming.check_name(name), token, grace)
    home.refuse_foreign()
    current = current_set(home, overwrite=overwrite)
    done = current is not None and is_done(current, job_id)
    before = None if overwrite else current
    chosen = options(before)
    if before is not None and not done:
        refuse_mixture(home.names.text, before, chosen.compression, partition_by)
    begun = home.begun(current, shared=token is not None)
    return Job(begun, overwrite, job_id, chosen, partition_by, done)


def _home(place: Path | str, name: str, token: str | None, grace: float | None) -> Home:
    if isinstance(place, Path):
        names = LocalSet(place.absolute(), name)
        staging = names.staging(token or os.urandom(8).hex())
        return DirectoryHome(names, staging, grace=GRACE if grace is None else grace)
    from headrace.store.shards.job.object_store import RemoteHome
    from headrace.store.shards.remote_set import RemoteSet

    return RemoteHome(RemoteSet(place.rstrip("/"), name))


def current_set(home: Home, *, overwrite: bool) -> Metadata | None:
    """Return the present set; a damaged set can only be overwritten."""
    try:
        return home.names.newest()
    except BadSetError:
        if overwrite:
            return None
        raise


def is_done(current: Metadata, job_id: str | None) -> bool:
    """Whether the set has the rows of this job."""
    return job_id is not None and job_id in _job_ids(current.run or {})


def _job_ids(run: object) -> list[object]:
    ids = run.get("jobIds") if isinstance(run, dict) else None
    return ids if isinstance(ids, list) else []


def refuse_mixture(
    target: str,
    current: Metadata,
    compression: Compression,
    partition_by: str | None,
) -> None:
    """Raise if parts with these options cannot be in one set with the present parts."""
    codec = current.compression.codec
    if codec != compression.codec:
        raise UsageError(
            f"{target}: its parts are {codec}, {compression.codec} cannot be "
            "appended; leave out codec, or overwrite the set"
        )
    if not current.parts:
        return
    first = current.parts[0].partition
    key = None if first is None else first[0]
    if key != partition_by:
        there = "not partitioned" if key is None else f"partitioned by {key}"
        raise UsageError(
            f"{target}: is {there}; append with the same options, or overwrite the set"
        )


def _wider(one: Limits, other: Limits) -> Limits:
    """Return limits that hold for both."""
    several = (
        (one.max_bytes, other.max_bytes),
        (one.max_records, other.max_records),
        (one.max_logical_bytes, other.max_logical_bytes),
    )
    return Limits(*(None if None in both else max(both) for both in several))  # type: ignore[type-var]


def _directory(part: Part) -> str:
    """Return the directory of a part in its generation, by which parts are ordered."""
    return (part.partition and naming.partition_name(*part.partition)) or ""


_STREAMS = "streams"


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a stream; `query` is the id in the checkpoint directory.

    A *stream* is a query that runs continuously and writes one batch after the other; if it is
    killed, it repeats the last batch. The metadata of a set names the last batch of each stream,
    and so tells whether the next one follows: each batch is written exactly once.
    """

    stream: str
    query: str
    number: int

    def is_in(self, target: str, run: Mapping[str, object] | None) -> bool:
        """Whether a set with the entry `run` has the batch; raises if it cannot follow."""
        known = _streams(run).get(self.stream)
        if known is None:
            if self.number > 0:
                raise self._gap(target, 0)
            return False
        query: str = known["query"]
        last: int = known["batch"]
        if query != self.query:
            raise StreamNotContinuedError(
                target,
                f"its stream {self.stream!r} was written by query {query} up to batch {last}, "
                f"this is query {self.query}, whose rows may be in the set already",
                "continue with the checkpoint directory of that query; if it is lost, write to "
                "another set, or begin after the present rows (startingOffsets) with another "
                "name (option stream)",
            )
        if self.number > last + 1:
            raise self._gap(target, last + 1)
        return self.number <= last

    def _gap(self, target: str, first: int) -> StreamNotContinuedError:
        return StreamNotContinuedError(
            target,
            f"batch {self.number} of stream {self.stream!r} would be written, but the set "
            f"lacks those from batch {first} on: it was overwritten, removed or put back",
            "restore the set, or begin again with another checkpoint directory",
        )

    def remembered(self, run: Mapping[str, object]) -> dict[str, object]:
        """Return the `run` entry of the set with this batch."""
        last = {"query": self.query, "batch": self.number}
        streams = {**_streams(run), self.stream: last}
        return {**run, _STREAMS: {name: streams[name] for name in sorted(streams)}}


def _streams(run: Mapping[str, object] | None) -> dict[str, Any]:
    return cast("dict[str, Any]", (run or {}).get(_STREAMS, {}))
