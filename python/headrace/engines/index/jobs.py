"""Index jobs: indexes of files are built in tasks, with the same bytes as in threads.

There are two jobs: tasks scan parts of files, each into a file of sorted runs; then one task for
each index merges them. The driver adds up the counts, and renames each index atomically when it is
complete. It holds the locks of the indexes meanwhile; the next holder of a lock removes the
leftovers of a killed driver.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.engines.index.collect import Total, ends_of, no_progress, total
from headrace.engines.index.kinds import Built
from headrace.engines.index.tasks import (
    Saved,
    Scan,
    Write,
    parts_of,
)
from headrace.engines.rows.item_tasks import results_of
from headrace.errors import HeadraceError, UnaccountedRowsError
from headrace.kernel.key_index import Written
from headrace.store.files import system
from headrace.store.files.atomic import temporary_name
from headrace.store.files.opened import OpenedFile
from headrace.store.index.file import (
    mark_of,
    refuse_unless_seekable,
    remove_delta,
    writing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.index.kinds import AnyBuild
    from headrace.engines.index.tasks import ScanDone, WriteDone
    from headrace.engines.rows.item_tasks import RunEach
    from headrace.kernel.index_meta import SourceMark
    from headrace.store.files.source import Source

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
