"""A set that many processes write: a job, its tasks, and attempts at them.

Each *attempt* at a task puts whole parts aside, in a directory nobody else has, and
tells the job of them as plain data. The job takes those of one attempt at each task into
the next generation and commits it: only then does a reader see any of it, and a task
that was tried twice, or a job that failed, leaves nothing. Nothing is held open and no lock
is held meanwhile, so several jobs can write the same set; their commits come one after the
other. Protocol: docs/formats/shards.md.
"""

from __future__ import annotations

import errno
import os
import random
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import (
    BadSetError,
    SetLockedError,
    UnwritableError,
    UsageError,
)
from headrace.store.atomic import NO_LINKS
from headrace.store.shards import generations, leftovers
from headrace.store.shards import names as naming
from headrace.store.shards.attempt import NOTHING, AttemptWriter, writing
from headrace.store.shards.commit import (
    TRIES,
    Generation,
    make_directories,
    refuse_foreign,
    remove_directories,
)
from headrace.store.shards.metadata import Limits, Metadata, numbered
from headrace.store.shards.names import SetNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from headrace.store.shards.metadata import Compression, Part
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.partitions import Keys
    from headrace.store.shards.streams import Batch

    Remember: TypeAlias = Callable[[Mapping[str, object]], Mapping[str, object]]

PATIENCE = 300.0
"""Seconds that a job waits for others who are committing, or writing, the same set."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job, as plain data that its tasks get as well.

    It appends to the set unless it is to `overwrite` it. If `job_id` is one of those
    that have made the set what it is, the job is `done`, and need not be run.
    """

    names: SetNames
    overwrite: bool
    job_id: str | None
    options: PackOptions
    partition_by: str | None
    staging: Path
    made: tuple[Path, ...]
    done: bool

    def attempt(self, task: int, keys: Keys | None = None) -> AttemptWriter:
        """Begin an attempt at a task; parts are ordered by the numbers of their tasks."""
        target = self.names.text
        return AttemptWriter(self.staging, task, target, self.options, keys)

    def commit(
        self,
        attempts: Iterable[Sequence[Part]],
        remember: Remember | None = None,
        batch: Batch | None = None,
    ) -> Metadata:
        """Make the set of what these attempts have put aside, one of each task in order.

        Somebody who commits at the same time is waited for; if another job was first,
        this one appends to, or replaces, what that has made. `remember` is given what is
        remembered of the jobs before, and returns what is to be of this one and those.
        `batch`: it is that of a stream, and if the set has it, nothing is done.
        """
        parts = [part for attempt in attempts for part in attempt]
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._commit(parts, remember or dict, batch)
            except SetLockedError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(0.01, 0.2))  # so that two do not meet again

    def _commit(
        self, parts: Sequence[Part], remember: Remember, batch: Batch | None
    ) -> Metadata:
        generation = Generation(self.names.directory, self.names.name)
        try:
            current = current_set(self.names, overwrite=self.overwrite)
            if current is not None and is_done(current, self.job_id):
                return current
            if batch is not None:
                if self.has(batch, current):
                    assert current is not None
                    return current
                remember = batch.remembered
            taken = self._taken(parts, generation)
            metadata = self._metadata(generation.number, current, taken, remember)
            generation.commit(metadata)
        finally:
            generation.discard()
        return metadata

    def has(self, batch: Batch, current: Metadata | None) -> bool:
        """Whether the set has a batch; raise if that does not follow those it has."""
        # Where all is replaced, nothing need be there before.
        run = None if current is None else current.run
        return not self.overwrite and batch.is_in(self.names.text, run)

    def _taken(self, parts: Iterable[Part], generation: Generation) -> list[Part]:
        """Give what was put aside its names in the generation."""
        numbers: dict[str, int] = {}
        taken = []
        for directory, part in sorted(_by_directory(parts), key=lambda each: each[0]):
            number = numbers[directory] = numbers.get(directory, -1) + 1
            with generation.writing():
                path = generation.directory(directory or None) / naming.part_name(
                    number, self.options.suffix
                )
                _take(self.staging / part.path, path, part.bytes)
            inside = path.relative_to(self.names.directory).as_posix()
            taken.append(replace(part, path=inside))
        return taken

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
            refuse_mixture(self.names, current, compression, self.partition_by)
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
            self.names.name, generation, compression, limits, parts, run or None
        )

    def close(self) -> None:
        """Remove what was put aside, and nothing else: that is all there is of a failed job."""
        with suppress(OSError):
            leftovers.remove_staging(self.staging)
        remove_directories(list(self.made))


def begin(
    directory: Path,
    name: str,
    *,
    overwrite: bool,
    job_id: str | None,
    options: Callable[[Metadata | None], PackOptions],
    partition_by: str | None,
    token: str | None = None,
) -> Job:
    """Make a job and the directory in which its tasks put their parts.

    `options` is given the set that is appended to, if there is one.
    Jobs with the same `token`, sixteen digits, have the same directory: of several, one is
    at work at a time.
    """
    names = SetNames(directory.absolute(), naming.check_name(name))
    refuse_foreign(names.directory)
    current = current_set(names, overwrite=overwrite)
    done = current is not None and is_done(current, job_id)
    before = None if overwrite else current
    chosen = options(before)
    if before is not None and not done:
        refuse_mixture(names, before, chosen.compression, partition_by)
    staging = names.staging(token or os.urandom(8).hex())
    with writing(staging):
        made = tuple(_make(staging, exist_ok=token is not None))
    return Job(names, overwrite, job_id, chosen, partition_by, staging, made, done)


def _make(staging: Path, *, exist_ok: bool) -> list[Path]:
    """Make a directory; return those above it that were missing."""
    made: list[Path] = []
    for _ in range(TRIES):
        with suppress(FileNotFoundError):
            make_directories(staging.parent, made)
            # Gone again if a job or writer that failed takes back what it made.
            staging.mkdir(exist_ok=exist_ok)
            return made
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def current_set(names: SetNames, *, overwrite: bool) -> Metadata | None:
    """Return what is there; if it is damaged, it can only be overwritten."""
    if not names.directory.exists():
        return None
    try:
        return generations.newest(names)
    except BadSetError:
        if overwrite:
            return None
        raise


def is_done(current: Metadata, job_id: str | None) -> bool:
    """Whether the rows of this job are among those of the set."""
    return job_id is not None and job_id in _job_ids(current.run or {})


def _job_ids(run: object) -> list[object]:
    ids = run.get("jobIds") if isinstance(run, dict) else None
    return ids if isinstance(ids, list) else []


def refuse_mixture(
    names: SetNames,
    current: Metadata,
    compression: Compression,
    partition_by: str | None,
) -> None:
    """Raise unless parts written in this way can stand beside those that are there."""
    codec = current.compression.codec
    if codec != compression.codec:
        raise UsageError(
            f"{names.text}: its parts are {codec}, {compression.codec} cannot be "
            "appended; leave out codec, or overwrite the set"
        )
    if not current.parts:
        return
    first = current.parts[0].partition
    key = None if first is None else first[0]
    if key != partition_by:
        there = "not partitioned" if key is None else f"partitioned by {key}"
        raise UsageError(
            f"{names.text}: is {there}; append in the same way, or overwrite the set"
        )


def _wider(one: Limits, other: Limits) -> Limits:
    """Return limits that hold for the parts of both."""
    several = (
        (one.max_bytes, other.max_bytes),
        (one.max_records, other.max_records),
        (one.max_logical_bytes, other.max_logical_bytes),
    )
    return Limits(*(None if None in both else max(both) for both in several))  # type: ignore[type-var]


def _by_directory(parts: Iterable[Part]) -> Iterator[tuple[str, Part]]:
    for part in parts:
        name = naming.partition_name(*part.partition) if part.partition else ""
        yield name or "", part


def _take(aside: Path, path: Path, size: int) -> None:
    """Give a part, and its sidecar, a name in the generation."""
    found = aside.lstat().st_size
    if found != size:
        reason = f"its task wrote {size} bytes, but it has {found}"
        raise UnwritableError(str(aside), reason, NOTHING)
    for suffix in ("", naming.SIDECAR):
        source, target = (each.with_name(each.name + suffix) for each in (aside, path))
        try:
            # A second name: if another job commits first, all of this is done again.
            os.link(source, target)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            source.rename(target)
