"""Building, updating and compacting indexes of files, and the segments of sets, in threads.

Threads collect the entries; an index is in the order of its keys or nodes, so it does not depend
on the cuts. Entries that an index already has are taken from the index: only new rows of the
source are read, and old rows where only they can tell two keys apart.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, NamedTuple

from headrace.engines.index.collect import (
    Collected,
    Scanned,
    ScanOptions,
    ends_of,
    scan_fragment,
    total,
)
from headrace.engines.index.kinds import AnyBuild, Built, GraphBuild
from headrace.engines.index.set_slices import (
    KeptSegment,
    MadeSegment,
    SetScan,
    Slice,
    SliceCounts,
    without_duplicates,
)
from headrace.errors import KeyIndexError
from headrace.kernel.graph import GraphIndex, write_index
from headrace.kernel.index_meta import HASH_BYTES, Lines, MadeOf, SourceMark
from headrace.kernel.key_index import FewBitsError, KeyRuns
from headrace.kernel.rows import SidecarError, explaining
from headrace.physical.fragment import Fragment
from headrace.store.files.atomic import in_place_of
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source
from headrace.store.index.graph import StoredGraph
from headrace.store.index.stored_index import (
    AnyStored,
    delta_of,
    mark_of,
    refuse_unless_seekable,
    remove_delta,
)

_MOST_THREADS = 256
"""More threads would wait for each other, each with its own memory."""


def collect(
    opened: OpenedFile,
    build: AnyBuild,
    directory: Path,
    start: int = 0,
    first_line: int = 0,
) -> Collected:
    """Collect the entries of all rows from `start` on, where line `first_line` begins."""
    runs = new_runs(build, directory)
    found = collect_into(runs, opened, build, start, first_line)
    sort_runs(runs)
    return found


def new_runs(build: AnyBuild, directory: Path) -> list[Any]:
    """Return empty runs for each thread."""
    threads = min(max(build.threads or os.cpu_count() or 1, 1), _MOST_THREADS)
    memory = build.memory_of(threads)
    return [build.begin_runs(directory, memory, number) for number in range(threads)]


def sort_runs(runs: list[Any]) -> None:
    """Finish the runs of all threads."""
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(lambda each: each.finish(), runs))


def collect_into(
    runs: list[Any],
    opened: OpenedFile,
    build: AnyBuild,
    start: int = 0,
    first_line: int = 0,
) -> Collected:
    """Collect entries into `runs`, which may have those of other sources too."""
    ends = ends_of(opened, start)
    found = total(opened, build, ends, first_line)
    unused: SimpleQueue[Any] = SimpleQueue()
    for each in runs:
        unused.put(each)

    def scan(part: Fragment) -> Scanned:
        mine = unused.get()
        try:
            return scan_fragment(part, opened, build, mine, ends)
        finally:
            unused.put(mine)

    parts = build.cut(opened.source, ends.start)
    with ThreadPoolExecutor(len(runs)) as pool:
        for part, scanned in zip(parts, pool.map(scan, parts), strict=True):
            found.add(part.end, scanned)
    return found.collected(runs)


_NO_SOURCE = SourceMark(0, 0, 0, 0, 0, "", "", "none")


def build(source: Source, path: Path, build: AnyBuild) -> Built[Any]:
    """Build the index of a source at `path`, which is replaced atomically.

    A source that is changed meanwhile is an error; a source that grows is indexed up to its old
    end. The delta of the old index is removed.
    """
    refuse_unless_seekable(source)
    opened = OpenedFile(source, decoding=build.decoding)
    refuse_unless_seekable(opened.source)
    mark = mark_of(source, opened)
    with in_place_of(path) as new:
        found = collect(opened, build, path.parent)
        plan: Any = found.plan(build, mark)
        written = build.write(found.runs, new.temporary, plan, opened)
    remove_delta(path, build.INDEXES.stored)
    return Built(path, written, found.lines, found.skipped)


def update(source: Source, stored: AnyStored, build: AnyBuild) -> Built[Any]:
    """Write a delta of all rows that the index does not have, and return the new ones.

    The bytes that the index covers must be proven. A delta that is damaged, or has too many rows
    of which only the offsets are known, is made anew.
    """
    path = delta_of(stored.path)
    try:
        with in_place_of(path) as new:
            built = _continue(source, stored, build, new.temporary)
        return replace(built, path=path)
    except FewBitsError:
        # Only a delta can have too few bits.
        assert stored.delta is not None
    except SidecarError as error:
        if stored.delta is None:
            raise damaged(source, stored, error) from None
    return update(source, stored.without_delta(), build)


def _continue(
    source: Source, stored: AnyStored, build: AnyBuild, path: Path
) -> Built[Any]:
    """Write a delta to an empty file: the entries of the old delta, and those of the rows after it."""
    opened = OpenedFile(source, decoding=build.decoding)
    mark = mark_of(source, opened)
    base, newest = stored.meta, stored.newest
    # The lines of the delta; line numbers count from the first line of the source.
    known = newest.covered_lines if stored.delta else Lines()
    before = base.covered_lines.lines + known.lines
    blocks = (base.coverage_end // HASH_BYTES, newest.coverage_end // HASH_BYTES)
    found = collect(opened, build, path.parent, newest.coverage_end, before)
    with explaining(source.location):
        hashes = [*stored.index.hashes(*blocks), *found.hashes]
    together = replace(
        found,
        lines=known.plus(found.lines),
        plain_numbers=newest.plain_numbers and found.plain_numbers,
        hashes=hashes,
    )
    plan: Any = together.plan(build, mark)
    written = build.write(found.runs, path, plan, opened, stored.index)
    return Built(path, written, found.lines, found.skipped)


def compact(source: Source, stored: AnyStored, build: AnyBuild) -> Built[Any]:
    """Merge a base and its delta into one index, which replaces the base.

    The bytes that they cover must be proven: rows are read where only they can tell whether two
    keys are the same. Takes four bytes of memory for each node of a graph. Raises `FewBitsError`
    where a new index needs more bits of its keys.
    """
    opened = OpenedFile(source)
    try:
        with in_place_of(stored.path) as new:
            plan = _whole(source, stored, build)
            written = build.write([], new.temporary, plan, opened, stored.index)
    except SidecarError as error:
        # If the source was changed, that is the error, not its index.
        opened.check()
        raise damaged(source, stored, error) from None
    remove_delta(stored.path, type(stored))
    return Built(stored.path, written, stored.whole.lines, ())


def _whole(source: Source, stored: AnyStored, build: AnyBuild) -> Any:  # noqa: ANN401, of the kind of the build
    """Return the plan to write the entries of a base and its delta as one index."""
    whole = stored.whole
    made_of: MadeOf = whole.made_of
    if made_of.last is not None and made_of.last.endswith("_key"):
        made_of = made_of._replace(last="key")
    with explaining(source.location):
        hashes = stored.index.all_hashes()
    return build.plan(whole.lines, made_of, hashes, plain=whole.plain_numbers)


def restamp(source: Source, stored: AnyStored) -> None:
    """Write the present mark of a source, whose bytes are proven, into its index of any kind."""
    mark = mark_of(source, OpenedFile(source))
    try:
        with in_place_of(stored.newest_path) as new, explaining(source.location):
            stored.index.restamp(new.temporary, mark)
    except SidecarError as error:
        raise damaged(source, stored, error) from None


def damaged(source: Source, stored: AnyStored, error: SidecarError) -> KeyIndexError:
    """Return the error that an index of any kind is damaged."""
    return stored.ERROR(
        source.location, str(stored.newest_path), "corrupt", error.damage
    )


# Temporary graph indexes


def build_aside(
    sources: Sequence[Source], location: str, build: GraphBuild
) -> GraphIndex:
    """Build a temporary index, which is removed with the object.

    It has the edges of all sources, in order; errors name them `location`. Offsets of rows count
    through all of them, as if each source followed the one before without a gap.
    """
    with TemporaryDirectory() as room:
        path = Path(room) / "graph"
        path.touch()
        runs = new_runs(build, path.parent)
        lines, size = Lines(), 0
        for source in sources:
            opened = OpenedFile(source, decoding=build.decoding)
            found = collect_into(runs, opened, replace(build, bytes_before=size))
            lines, size = lines.plus(found.lines), size + found.size
        sort_runs(runs)
        # The source of this index is never compared with anything.
        made_of = MadeOf(build.max_line, build.max_depth, size, size, 0, _NO_SOURCE)
        with explaining(location):
            write_index(runs, path, build.plan(lines, made_of, [0]), source=location)
        return GraphIndex(path)


def continue_aside(
    source: Source, stored: StoredGraph, build: GraphBuild
) -> GraphIndex:
    """Return an index with a temporary delta of all rows that the index does not have."""
    with TemporaryDirectory() as room:
        path = Path(room) / "delta"
        path.touch()
        _continue(source, stored, build, path)
        return GraphIndex(stored.path, path)


def has_all_edges(stored: StoredGraph, source: Source, build: GraphBuild) -> bool:
    """Whether the index of a source has all its edges and no others."""
    build = replace(build, version=stored.index.version)
    new = build_aside([source], source.location, build)
    if stored.delta is None:
        return new.has_edges_of(stored.index)
    with TemporaryDirectory() as room, explaining(source.location):
        path = Path(room) / "graph"
        path.touch()
        plan = _whole(source, stored, build)
        build.write([], path, plan, OpenedFile(source), stored.index)
        return new.has_edges_of(GraphIndex(path))


_LEAST = 1 << 16
"""The least memory for the keys of a segment."""


class InThreads(NamedTuple):
    """Makes segments with the memory and threads of the options."""

    options: ScanOptions = ScanOptions()

    def __call__(
        self,
        how: SetScan,
        cut: Sequence[Slice],
        kept: Sequence[KeptSegment | None],
        directory: Path,
        done: Callable[[Slice, SliceCounts], None],
    ) -> list[MadeSegment]:
        """Scan slices, and write the segments of new and kept entries under temporary names."""
        runs = self.collect(how, cut, done)
        return without_duplicates(
            [
                how.write(number, each, directory, kept[number])
                for number, each in enumerate(runs)
            ]
        )

    def collect(
        self,
        how: SetScan,
        cut: Sequence[Slice],
        done: Callable[[Slice, SliceCounts], None],
    ) -> list[KeyRuns]:
        """Scan slices, and return the keys of each segment."""
        memory = max(self.options.memory_of(how.segments), _LEAST)
        threads = max(self.options.threads or os.cpu_count() or 1, 1)
        room = Path(gettempdir())
        runs = [KeyRuns(room, memory) for _ in range(how.segments)]

        def scan(part: Slice) -> SliceCounts:
            scanning = how.scan(part, how.opened())
            for segment, packet in scanning.packets():
                runs[segment].add(packet)
            return scanning.counts

        with ThreadPoolExecutor(threads) as pool:
            for part, counts in zip(cut, pool.map(scan, cut), strict=True):
                done(part, counts)
        return runs
