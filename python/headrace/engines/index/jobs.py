"""Index jobs: indexes of files are built in tasks, with the same bytes as in threads.

There are two jobs: tasks scan parts of files, each into a file of sorted runs; then one task for
each index merges them. The driver adds up the counts, and renames each index atomically when it is
complete. It holds the locks of the indexes meanwhile; the next holder of a lock removes the
leftovers of a killed driver.

Tasks exchange data in files of the directory `staging`, which all machines must see. A file name is
unique to one attempt at a task, and the reader compares the file with the size and hash that the
attempt has returned. An error that a retry would repeat is returned as data, so that the driver can
raise it in order.
"""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from headrace.engines.index.collect import (
    Ends,
    Scanned,
    Total,
    ends_of,
    no_progress,
    scan_fragment,
    total,
)
from headrace.engines.index.kinds import AnyBuild, Built
from headrace.engines.rows.item_tasks import RunEach, results_of
from headrace.errors import HeadraceError, UnaccountedRowsError, UnwritableError
from headrace.kernel.index_meta import SourceMark, hash_all
from headrace.kernel.key_index import Plan, Skipped, Written
from headrace.kernel.rows import File
from headrace.store.files import system
from headrace.store.files.atomic import NewFile, temporary_name
from headrace.store.files.opened import OpenedFile
from headrace.store.index.stored_index import (
    mark_of,
    refuse_unless_seekable,
    remove_delta,
    writing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.kernel.graph import GraphPlan, GraphWritten
    from headrace.physical.fragment import Fragment
    from headrace.store.files.source import Source


class Saved(NamedTuple):
    """A file in the staging directory: its name, size and hash."""

    name: str
    size: int
    hash: int


def _saved(path: Path) -> Saved:
    file, size = File(path), path.stat().st_size
    return Saved(path.name, size, hash_all(file, 0, size))


def _checked(staging: Path, saved: Saved) -> Path:
    """Return the path of a saved file; raises if it was changed."""
    path = staging / saved.name
    try:
        same = _saved(path) == saved
    except OSError:
        same = False
    if not same:
        reason = (
            "the file of another task was changed: is the directory the same on "
            "every machine?"
        )
        raise UnwritableError(str(path), reason, "the index is as it was")
    return path


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of fragments of one file into one file of runs, the `number`-th.

    With `all_skipped`, another file gets the unindexed lines.
    """

    build: AnyBuild
    fragments: tuple[Fragment, ...]
    ends: Ends
    number: int
    staging: Path
    all_skipped: bool

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(each.size for each in self.fragments)

    def do(self) -> ScanDone:
        """Scan the fragments, up to the first error."""
        place = self.staging / f"{self.number:04}-{uuid4().hex}"
        build: AnyBuild = self.build
        if self.all_skipped:
            build = replace(build, skipped=_discard)
        parts: list[Scanned] = []
        try:
            for part in self._scanned(build, place):
                if self.all_skipped:
                    with place.with_suffix(".skipped").open("ab") as file:
                        pickle.dump(part.skipped, file)
                    part = part._replace(skipped=[])  # noqa: PLW2901
                parts.append(part)
        except HeadraceError as error:
            if isinstance(error, OSError):
                # A retry may succeed after an error of the operating system.
                raise
            return ScanDone(parts, failure=error)
        skipped = _saved(place.with_suffix(".skipped")) if self.all_skipped else None
        return ScanDone(parts, _saved(place), skipped)

    def _scanned(self, build: AnyBuild, place: Path) -> Iterator[Scanned]:
        runs = build.begin_runs(self.staging, build.memory_of(1), self.number)
        source = self.fragments[0].source
        opened = OpenedFile(source, decoding=build.decoding, warn=False)
        for fragment in self.fragments:
            yield scan_fragment(fragment, opened, build, runs, self.ends)
        runs.save(place)


def _discard(_skipped: Sequence[Skipped]) -> None:
    """Discard unindexed lines; as the `skipped` callback, it makes the scan report all of them."""


@dataclass(frozen=True, slots=True)
class ScanDone:
    """The results of fragments, up to a `failure`."""

    parts: list[Scanned]
    runs: Saved | None = None
    skipped: Saved | None = None
    failure: HeadraceError | None = None


def parts_of(done: ScanDone, staging: Path) -> Iterator[Scanned]:
    """Yield the result of each fragment, with its unindexed lines."""
    if done.skipped is None:
        yield from done.parts
        return
    with _checked(staging, done.skipped).open("rb") as file:
        for part in done.parts:
            yield part._replace(skipped=pickle.load(file))


@dataclass(frozen=True, slots=True)
class Write:
    """An index to write from saved runs, with the permissions of `like`."""

    build: AnyBuild
    source: Source
    runs: tuple[Saved, ...]
    plan: Plan | GraphPlan
    staging: Path
    like: Path

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(each.size for each in self.runs)

    def do(self) -> WriteDone:
        """Write the index durably to a new file of the staging directory."""
        build: Any = self.build
        opened = OpenedFile(self.source, decoding=build.decoding, warn=False)
        new = NewFile(self.staging / f"index-{uuid4().hex}", self.like)
        try:
            runs = [
                build.RUNS.saved(_checked(self.staging, each)) for each in self.runs
            ]
            written = build.write(runs, new.temporary, self.plan, opened)
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


MOST_SCANS = 128
"""Limit on the files of runs of one index: the task that merges them has all of them open."""

MOST_TOGETHER = 100
"""Limit on the indexes of one job: the driver has their files and locks open."""


@dataclass(frozen=True, slots=True)
class Target:
    """An index to build, and its path."""

    source: Source
    path: Path
    build: AnyBuild


def build_together(
    targets: Sequence[Target],
    run_each: RunEach,
    partition_bytes: int,
    tell: Callable[[int, int], object] | None = None,
) -> Iterator[Built[Any]]:
    """Build indexes in jobs, and yield each index when it is renamed, in order.

    `tell` is called with the tasks that are done and all tasks; without it, the `progress` of the
    first build is called. The error of an index is raised after the indexes before it; the indexes
    after it stay as they were.
    """
    with ExitStack() as stack:
        begun: list[_Begun] = []
        failure = None
        for target in targets:
            try:
                begun.append(_begin(target, stack, partition_bytes))
            except (HeadraceError, OSError) as error:
                failure = error
                break
        tell = tell or _telling(targets[0])
        scans = [scan for each in begun for scan in each.scans]
        done: Iterator[ScanDone] = _results(scans, run_each, partition_bytes, tell)
        writes: list[Write] = []
        for each in begun:
            try:
                each.take([next(done) for _ in each.scans])
                writes.append(each.write())
            except HeadraceError as error:
                failure = each.renamed(error)
                break
        written: Iterator[WriteDone] = _results(writes, run_each, partition_bytes)
        for each, result in zip(begun, written, strict=False):
            if result.failure is not None:
                raise each.renamed(result.failure)
            yield each.publish(result)
        if failure is not None:
            raise failure


def _results(
    several: Sequence[Scan | Write],
    run_each: RunEach,
    most: int,
    tell: Callable[[int, int], object] | None = None,
) -> Iterator[Any]:
    do, size = methodcaller("do"), attrgetter("size")
    return results_of(several, do, run_each, size, most, tell)


def _telling(target: Target) -> Callable[[int, int], object]:
    """Return a callback that reports the progress of tasks as bytes of the first file."""
    size, progress = target.source.size, target.build.progress
    return lambda done, tasks: progress(size * done // max(tasks, 1), 0)


def _begin(target: Target, stack: ExitStack, partition_bytes: int) -> _Begun:
    """Lock an index, create its staging directory, and plan its tasks."""
    source, path, build = target.source, target.path.absolute(), target.build
    refuse_unless_seekable(source)
    stack.enter_context(writing(target.path))
    opened = OpenedFile(source, decoding=build.decoding)
    refuse_unless_seekable(opened.source)
    mark = mark_of(source, opened)
    staging = temporary_name(path)
    system.calls.make_directory(staging)
    stack.callback(system.calls.remove_tree, staging)
    begun = _Begun(target, opened, mark, staging, total(opened, build, ends_of(opened)))
    begun.cut(partition_bytes)
    return begun


@dataclass(slots=True)
class _Begun:
    """The build of one index."""

    target: Target
    opened: OpenedFile
    mark: SourceMark
    staging: Path
    total: Total
    scans: list[Scan] = field(default_factory=list)
    _saved: list[Saved] = field(default_factory=list)

    def _sent(self) -> AnyBuild:
        """Return the build without callbacks, to be sent to tasks."""
        return replace(self.target.build, progress=no_progress, skipped=None)

    def _absolute(self) -> Source:
        """Return the source with an absolute path: tasks have other working directories."""
        source = self.opened.source
        return replace(source, location=str(Path(source.location).absolute()))

    def cut(self, partition_bytes: int) -> None:
        """Cut the file into the scans of tasks."""
        build = self.target.build
        fine = replace(build, fragment_bytes=min(build.fragment_bytes, partition_bytes))
        cut = fine.cut(self._absolute())
        if not cut:
            return
        longest = cut[0].end - cut[0].start
        most = max(partition_bytes // longest, -(-len(cut) // MOST_SCANS), 1)
        for number, at in enumerate(range(0, len(cut), most)):
            self.scans.append(
                Scan(
                    self._sent(),
                    tuple(cut[at : at + most]),
                    self.total.ends,
                    number,
                    self.staging,
                    build.skipped is not None,
                )
            )

    def take(self, done: Sequence[ScanDone]) -> None:
        """Add up the results of scans, and raise the error that ended one."""
        for scan, result in zip(self.scans, done, strict=True):
            ends = (fragment.end for fragment in scan.fragments)
            for end, part in zip(ends, parts_of(result, self.staging), strict=False):
                self.total.add(end, part)
            if result.failure is not None:
                raise result.failure
            assert result.runs is not None
            self._saved.append(result.runs)

    def write(self) -> Write:
        """Return the task that merges the saved runs."""
        collected = self.total.collected(self._saved)
        build = self.target.build
        return Write(
            self._sent(),
            self._absolute(),
            tuple(collected.runs),
            collected.plan(build, self.mark),
            self.staging,
            self.target.path.absolute(),
        )

    def publish(self, done: WriteDone) -> Built[Any]:
        """Rename the index."""
        path, counted, written = self.target.path, self.total.counted, done.written
        assert written is not None
        count = written.records if isinstance(written, Written) else written.edges
        if count != counted.lines.records:
            counts = (
                f"{counted.lines.records} rows were found, {count} are in the index"
            )
            raise UnaccountedRowsError(str(path), counts)
        system.calls.rename(self.staging / done.name, path)
        system.calls.sync_directory(path.parent)
        remove_delta(path, self.target.build.INDEXES.stored)
        return Built(path, written, counted.lines, tuple(counted.skipped))

    def renamed(self, error: HeadraceError) -> HeadraceError:
        """Return the error of a task with the path as the caller gave it."""
        known, given = self._absolute().location, self.opened.path
        facts = [
            fact.replace(known, given) if isinstance(fact, str) else fact
            for fact in error.args
        ]
        return type(error)(*facts)
