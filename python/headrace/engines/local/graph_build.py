"""Building, updating and compacting graph indexes.

Threads collect edges; the index is in the order of its nodes, so it does not depend on the cuts.
Edges that an index already has are taken from the index, and not read again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from headrace.engines.index.kinds import Built, GraphBuild
from headrace.engines.local.collect import (
    collect,
    collect_into,
    new_runs,
    sort_runs,
)
from headrace.engines.local.key_update import damaged
from headrace.kernel.graph import GraphIndex, GraphPlan, GraphRuns, write_index
from headrace.kernel.index_meta import HASH_BYTES, Lines, MadeOf, SourceMark
from headrace.kernel.rows import SidecarError, explaining
from headrace.store.files.atomic import in_place_of
from headrace.store.files.opened import OpenedFile
from headrace.store.index.file import (
    delta_of,
    mark_of,
    refuse_unless_seekable,
    remove_delta,
)
from headrace.store.index.graph import StoredGraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.kernel.graph import GraphWritten
    from headrace.store.files.source import Source

_NO_SOURCE = SourceMark(0, 0, 0, 0, 0, "", "", "none")


def as_it_was(known: StoredGraph) -> GraphBuild:
    """Return the build that makes the same index again."""
    meta = known.meta
    return GraphBuild(
        meta.fields,
        meta.reverse,
        2 if known.index.version == 2 else None,
        max_line=meta.max_line,
        max_depth=meta.max_depth,
    )


def build(source: Source, path: Path, build: GraphBuild) -> Built[GraphWritten]:
    """Build the index of a source at `path`, which is replaced atomically.

    A source that is changed meanwhile is an error; a source that grows is indexed up to its old
    end. The delta of the old index is removed.
    """
    refuse_unless_seekable(source)
    opened = OpenedFile(source, decoding=build.decoding)
    refuse_unless_seekable(opened.source)
    with in_place_of(path) as new:
        built = _build(source, opened, new.temporary, build)
    remove_delta(path, StoredGraph)
    return replace(built, path=path)


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
        plan = GraphPlan(
            build.fields,
            build.reverse,
            build.version,
            build.memory,
            lines,
            made_of,
            [0],
        )
        with explaining(location):
            write_index(runs, path, plan, source=location)
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


def update(
    source: Source, stored: StoredGraph, build: GraphBuild
) -> Built[GraphWritten]:
    """Write a delta of all edges that the index does not have, and return the new ones.

    The bytes that the index covers must be proven. A damaged delta is made anew.
    """
    path = delta_of(stored.path)
    try:
        with in_place_of(path) as new:
            built = _continue(source, stored, build, new.temporary)
    except SidecarError as error:
        if stored.delta is None:
            raise damaged(source, stored, error) from None
    else:
        return replace(built, path=path)
    return update(source, stored.without_delta(), build)


def compact(
    source: Source, stored: StoredGraph, build: GraphBuild
) -> Built[GraphWritten]:
    """Merge a base and its delta into one index, which replaces the base.

    The bytes that they cover must be proven. The source is not read. Takes four bytes of memory
    for each node.
    """
    opened = OpenedFile(source)
    try:
        with in_place_of(stored.path) as new, explaining(source.location):
            runs = GraphRuns(stored.path.parent, build.memory, 0)
            runs.keep(stored.index, whole=True)
            plan = _plan(build, stored)
            written = write_index([runs], new.temporary, plan, source=source.location)
    except SidecarError as error:
        # If the source was changed, that is the error, not its index.
        opened.check()
        raise damaged(source, stored, error) from None
    remove_delta(stored.path, StoredGraph)
    return Built(stored.path, written, stored.whole.lines, ())


def has_all_edges(stored: StoredGraph, source: Source, build: GraphBuild) -> bool:
    """Whether the index of a source has all its edges and no others."""
    new = build_aside(
        [source], source.location, replace(build, version=stored.index.version)
    )
    if stored.delta is None:
        return new.has_edges_of(stored.index)
    with TemporaryDirectory() as room, explaining(source.location):
        path = Path(room) / "graph"
        path.touch()
        runs = GraphRuns(room, build.memory, 0)
        runs.keep(stored.index, whole=True)
        plan = _plan(build, stored)._replace(version=stored.index.version)
        write_index([runs], path, plan, source=source.location)
        return new.has_edges_of(GraphIndex(path))


def _build(
    source: Source, opened: OpenedFile, path: Path, build: GraphBuild
) -> Built[GraphWritten]:
    """Write the index of a source to an empty file."""
    mark = mark_of(source, opened)
    edges = collect(opened, build, path.parent)
    written = build.write(edges.runs, path, build.plan(edges, mark), opened)
    return Built(path, written, edges.lines, edges.skipped)


def _continue(
    source: Source, stored: StoredGraph, build: GraphBuild, path: Path
) -> Built[GraphWritten]:
    """Write a delta to an empty file: the edges of the old delta, and the edges after them."""
    opened = OpenedFile(source, decoding=build.decoding)
    mark = mark_of(source, opened)
    base, newest = stored.meta, stored.newest
    known = newest.covered_lines if stored.delta else Lines()
    before = base.covered_lines.lines + known.lines
    blocks = (base.coverage_end // HASH_BYTES, newest.coverage_end // HASH_BYTES)
    with explaining(source.location):
        edges = collect(
            opened,
            build,
            path.parent,
            newest.coverage_end,
            before,
        )
        runs = GraphRuns(path.parent, build.memory // 4, len(edges.runs))
        runs.keep(stored.index, whole=False)
        plan = build.plan(edges, mark)._replace(
            lines=known.plus(edges.lines),
            hashes=[*stored.index.hashes(*blocks), *edges.hashes],
        )
        written = write_index(
            [*edges.runs, runs],
            path,
            plan,
            source=source.location,
            base=stored.index,
        )
    return Built(path, written, edges.lines, edges.skipped)


def _plan(build: GraphBuild, stored: StoredGraph) -> GraphPlan:
    """Return the plan to write the entries of a base and its delta as one index."""
    whole = stored.whole
    return GraphPlan(
        build.fields,
        build.reverse,
        build.version,
        build.memory,
        whole.lines,
        whole.made_of,
        stored.index.all_hashes(),
    )
