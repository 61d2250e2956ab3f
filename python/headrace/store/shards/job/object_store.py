"""The home of a job in an object store, without a directory that all tasks share.

A part is written on this machine and uploaded when it is complete, under a unique name: readers see
only the parts that metadata names. A commit lists the generations, and creates the metadata of the
next one. If that exists by then, another job was faster: the commit is repeated on top of its
generation. Nothing is ever renamed. A whole set is published as one job. Protocol:
docs/formats/shards.md.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import (
    HeadraceError,
    SetLockedError,
    UncertainCommitError,
    UnwritableError,
)
from headrace.store.files import system
from headrace.store.files.atomic import unwritable
from headrace.store.files.checked_json import is_whole
from headrace.store.files.directories import make_directories
from headrace.store.files.object_store import NOTHING
from headrace.store.shards import names as naming
from headrace.store.shards.job.directory import UNCHANGED
from headrace.store.shards.metadata import LONGEST, Metadata, Part, encode
from headrace.store.shards.remote_set import RemoteSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from headrace.kernel.blocks import Shard
    from headrace.store.shards.shard_set import ShardSet


@dataclass(frozen=True, slots=True)
class RemoteHome:
    """One set; parts are uploaded beside those of generation `number`."""

    names: RemoteSet
    number: int = 1
    since: float = field(default_factory=time.time)
    token: str = field(default_factory=lambda: os.urandom(8).hex())

    def refuse_foreign(self) -> None:
        """Do nothing: a set in an object store can be beside any other files."""

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
        return unwritable(where, UNCHANGED, or_named=True)

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


DAY = 86_400.0

ORPHAN_AGE = 7 * DAY
"""Seconds after which a file that no generation names is assumed to belong to a dead job."""

_UNCERTAIN = (
    "it is unknown whether the set has the rows of this job; check it, or run the job again "
    "if it has an id (jobId)"
)

_PAUSES = (0.0, 1.0, 3.0)
"""Seconds before each attempt to send metadata to a store that does not answer.

Repeating is safe: at most one attempt creates it.
"""

_QUICK = 300.0
"""Seconds within which metadata must be created after listing the generations.

The name of a superseded generation can be used again, but not before a day has passed.
"""


class RemoteGeneration:
    """The next generation of a set, of parts that were uploaded after the time `since`."""

    def __init__(self, names: RemoteSet, since: float, least: int) -> None:
        self._names = names
        self._since = since
        self._begun = time.monotonic()
        # The metadata of a set only names parts of its own and lower generations.
        self.number = max(*names.committed()[:1], 0, least - 1) + 1
        self._taken: set[str] = set()

    def take(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts; raises if one is missing or has another size."""
        if time.time() - self._since > ORPHAN_AGE - DAY:
            reason = (
                "its job began six days ago, and vacuum may remove what it uploaded"
            )
            raise UnwritableError(self._names.text, reason, NOTHING)
        store = self._names.store
        directories = {part.path.partition("/")[0] for part in parts}
        there = {
            name: size
            for each in directories
            for name, size in store.sizes(each).items()
        }
        for part in parts:
            if there.get(part.path) != part.bytes:
                found = there.get(part.path, "nothing")
                reason = f"its task wrote {part.bytes} bytes, but {found} is there"
                raise UnwritableError(store.at(part.path), reason, NOTHING)
        self._taken = {part.path for part in parts}
        return list(parts)

    def commit(self, metadata: Metadata) -> None:
        """Commit the generation; raises if another job has committed one of this number."""
        if time.monotonic() - self._begun > _QUICK:
            raise SetLockedError(self._names.text, "another process")
        content = encode(metadata)
        failed: HeadraceError | None = None
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                if self._names.store.create(self._names.meta(self.number), content):
                    return
            except UnwritableError as error:
                refused = isinstance(
                    error.__cause__, (PermissionError, FileNotFoundError)
                )
                if refused and failed is None:
                    raise
                failed = error
            else:
                break
        self._settle(content, failed)

    def _settle(self, content: bytes, failed: HeadraceError | None) -> None:
        """Find out whether metadata was created, after the store did not confirm it.

        It may have been created while the response was lost, and refused when it was sent again.
        """
        store, file = self._names.store, self._names.meta(self.number)
        there: bytes | None = None
        try:
            there = store.content(file, LONGEST + 1)
        except HeadraceError as error:
            failed = failed or error
        if there == content:
            return
        is_taken = there is not None and is_whole(there)
        # Vacuum has emptied it, if it is superseded.
        newest = None if is_taken or failed is not None else self._newest()
        if newest is not None and self._taken <= {part.path for part in newest.parts}:
            return
        if newest is not None or is_taken:
            holder = f"another process, which has committed generation {self.number},"
            raise SetLockedError(self._names.text, holder)
        reason = "the store gave no answer" if failed is None else str(failed)
        raise UncertainCommitError(store.at(file), reason, _UNCERTAIN) from failed

    def _newest(self) -> Metadata | None:
        """Return the metadata that has superseded this generation; None if there is none.

        If it does not have the parts of this job, either another job committed this generation,
        or an overwrite came since: both times they can be committed again.
        """
        newest = self._names.newest()
        is_later = newest is not None and newest.generation > self.number
        return newest if is_later and self._taken else None

    def discard(self) -> None:
        """Do nothing: there is no lock, and the job removes its parts."""


_TRIES = 100
"""Limit on attempts to commit while other writers commit."""


def publish(shards: ShardSet, url: str) -> str:
    """Copy a set to an object store as its next generation there; return its metadata."""
    shards.sources()  # raises if a part is missing or has another size
    names = RemoteSet(url.rstrip("/"), shards.metadata.name)
    names.store.refuse_unless_creating(naming.probe_name(names.name))
    home = RemoteHome(names, max(names.committed(), default=0) + 1)
    attempt = home.attempt(0)
    try:
        parts = _uploaded(shards, attempt)
    except BaseException:
        attempt.discard()
        raise
    try:
        committed = _committed(shards, home, parts)
    except UncertainCommitError:
        raise  # readers may see the parts
    except Exception:
        attempt.discard()
        raise
    return names.store.at(names.meta(committed))


def _committed(shards: ShardSet, home: RemoteHome, parts: list[Part]) -> int:
    """Commit parts, after other writers; return the number of the generation."""
    for _ in range(_TRIES):
        generation = home.generation()
        taken = tuple(generation.take(parts))
        number = generation.number
        try:
            generation.commit(replace(shards.metadata, generation=number, parts=taken))
        except SetLockedError:
            time.sleep(
                random.uniform(0.01, 0.2)
            )  # so that two writers do not collide again
        else:
            return number
    raise SetLockedError(home.names.text, "many other writers")


def _uploaded(shards: ShardSet, attempt: RemoteAttempt) -> list[Part]:
    """Upload the parts of a set."""
    parts: list[Part] = []
    numbers: Counter[str] = Counter()
    for part in shards.metadata.parts:
        # Parts of several generations are copied into one directory.
        _old, *partition, file = part.path.split("/")
        directory = "/".join(partition)
        name = naming.part_name(numbers[directory], naming.suffix(file))
        numbers[directory] += 1
        inside = "/".join([*partition, name])
        path = attempt.upload(shards.directory / part.path, inside, part.bytes)
        parts.append(replace(part, path=path))
    return parts
