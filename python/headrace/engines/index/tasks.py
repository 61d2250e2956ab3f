"""What tasks do to build indexes: scan a part of a file, or write the index of what was scanned.

What passes from one task to another is in files of the directory `staging`, which all must see.
Their names are those of one attempt at a task, and whoever reads them compares them with what
that attempt has said. An error that would come again is a part of what is returned, so that
the driver can raise it in its place.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from headrace.engines.index.collect import scan_fragment
from headrace.errors import HeadraceError, UnwritableError
from headrace.kernel.index_meta import hash_all
from headrace.kernel.rows import File
from headrace.store.files.atomic import NewFile
from headrace.store.files.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from headrace.engines.index.collect import Collector, Ends, Scanned
    from headrace.engines.index.kinds import AnyBuild
    from headrace.kernel.graph import GraphPlan, GraphWritten
    from headrace.kernel.key_index import Plan, Skipped, Written
    from headrace.physical.fragment import Fragment
    from headrace.store.files.source import Source


class Saved(NamedTuple):
    """A file in the staging directory, as it was written."""

    name: str
    size: int
    hash: int


def _saved(path: Path) -> Saved:
    file, size = File(path), path.stat().st_size
    return Saved(path.name, size, hash_all(file, 0, size))


def _checked(staging: Path, saved: Saved) -> Path:
    """Return where a file is that must be as it was saved."""
    path = staging / saved.name
    try:
        same = _saved(path) == saved
    except OSError:
        same = False
    if not same:
        reason = (
            "what another task has put there is not as it was: is the directory the "
            "same on every machine?"
        )
        raise UnwritableError(str(path), reason, "the index is as it was")
    return path


@dataclass(frozen=True, slots=True)
class Scan:
    """Fragments of one file whose runs go into one file; `number` counts these files.

    With `all_skipped`, the lines that are in no index are kept in another one.
    """

    asked: AnyBuild
    fragments: tuple[Fragment, ...]
    ends: Ends
    number: int
    staging: Path
    all_skipped: bool

    @property
    def size(self) -> int:
        """How many bytes are read."""
        return sum(each.end - each.start for each in self.fragments)

    def do(self) -> ScanDone:
        """Scan the fragments, up to one that cannot be."""
        place = self.staging / f"{self.number:04}-{uuid4().hex}"
        asked: AnyBuild = self.asked
        if self.all_skipped:
            asked = replace(asked, skipped=_wanted)
        parts: list[Scanned] = []
        try:
            for part in self._scanned(asked, place):
                if self.all_skipped:
                    with place.with_suffix(".skipped").open("ab") as file:
                        pickle.dump(part.skipped, file)
                    part = part._replace(skipped=[])  # noqa: PLW2901
                parts.append(part)
        except HeadraceError as error:
            if isinstance(error, OSError):
                # What the operating system says may be otherwise the next time.
                raise
            return ScanDone(parts, failure=error)
        skipped = _saved(place.with_suffix(".skipped")) if self.all_skipped else None
        return ScanDone(parts, _saved(place), skipped)

    def _scanned(self, asked: AnyBuild, place: Path) -> Iterator[Scanned]:
        collector: Collector[Any] = asked
        runs = collector.begin_runs(self.staging, asked.memory_of(1), self.number)
        source = self.fragments[0].source
        opened = OpenedFile(source, decoding=asked.decoding, warn=False)
        for fragment in self.fragments:
            yield scan_fragment(fragment, opened, collector, runs, self.ends)
        runs.save(place)


def _wanted(_skipped: Sequence[Skipped]) -> None:
    """Be somebody who wants all lines that are in no index."""


@dataclass(frozen=True, slots=True)
class ScanDone:
    """What was found in fragments, before a `failure` if there was one."""

    parts: list[Scanned]
    runs: Saved | None = None
    skipped: Saved | None = None
    failure: HeadraceError | None = None


def parts_of(done: ScanDone, staging: Path) -> Iterator[Scanned]:
    """Yield what was found in each fragment, with its lines that are in no index."""
    if done.skipped is None:
        yield from done.parts
        return
    with _checked(staging, done.skipped).open("rb") as file:
        for part in done.parts:
            yield part._replace(skipped=pickle.load(file))


@dataclass(frozen=True, slots=True)
class Write:
    """An index that is to be written of what was saved, with the rights of `like`."""

    asked: AnyBuild
    source: Source
    runs: tuple[Saved, ...]
    plan: Plan | GraphPlan
    staging: Path
    like: Path

    @property
    def size(self) -> int:
        """How many bytes are read."""
        return sum(each.size for each in self.runs)

    def do(self) -> WriteDone:
        """Write it to a file of its own, durably."""
        asked: Any = self.asked
        opened = OpenedFile(self.source, decoding=asked.decoding, warn=False)
        new = NewFile(self.staging / f"index-{uuid4().hex}", self.like)
        try:
            runs = [
                asked.RUNS.saved(_checked(self.staging, each)) for each in self.runs
            ]
            written = asked.write(runs, new.temporary, self.plan, opened)
            new.finish()
        except HeadraceError as error:
            new.discard()
            if isinstance(error, OSError):
                raise
            return WriteDone(failure=error)
        except BaseException:
            new.discard()
            raise
        return WriteDone(new.path.name, written)


class WriteDone(NamedTuple):
    """The name of an index in the staging directory, or why there is none."""

    name: str = ""
    written: Written | GraphWritten | None = None
    failure: HeadraceError | None = None


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks, each of which does some scans or writes some indexes."""

    tasks: tuple[tuple[Scan | Write, ...], ...]

    def __call__(self, task: int) -> list[Any]:
        """Do one of them."""
        return [each.do() for each in self.tasks[task]]


def packed(several: Sequence[Scan | Write], most: int) -> Tasks:
    """Give each task some that follow each other, and are at most so many bytes."""
    tasks: list[list[Scan | Write]] = []
    held = 0
    for each in several:
        if not tasks or held + each.size > most:
            tasks.append([])
            held = 0
        tasks[-1].append(each)
        held += each.size
    return Tasks(tuple(map(tuple, tasks)))
