"""Access to edges: which index, or which scan, leads to them.

The first of these that can be used: the graph index of their file; key indexes on the ends of
edges; a scan of all rows into a temporary graph index. The answers are the same. Of a file that
has grown since its graph index was built, only the new rows are read. Edges in several files are
always scanned, because an index is proven by the bytes of one file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.engines.index.kinds import GraphBuild, graph_as_it_was
from headrace.engines.local.index_build import build_aside, continue_aside
from headrace.errors import GraphIndexError, KeyIndexError
from headrace.kernel.graph import Direction, EdgeFields, GraphAccess, GraphIndex
from headrace.kernel.rows import SidecarError, reading
from headrace.store.files.opened import OpenedFile
from headrace.store.files.source import Source, expand
from headrace.store.index import graph as store
from headrace.store.index import key as keys
from headrace.store.index import stored_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.kernel.key_index import KeyIndex

Strategy: TypeAlias = Literal["graph", "keys", "scan"]

USUAL = EdgeFields("from", "pred", "to")
"""The fields of edges, unless the caller names others or the index has others."""


class Reach(NamedTuple):
    """An access to edges: by a `graph` index, by `keys`, or by a `scan`.

    `files` are the index files; `graph` is the index, or the temporary one. `stored` are the
    indexes that are proven to be those of the file as it is. With keys, `instead_of` is why
    no graph index is used.
    """

    access: GraphAccess
    strategy: Strategy
    fields: EdgeFields
    files: tuple[str, ...]
    graph: GraphIndex | None
    stored: tuple[stored_index.AnyStored, ...] = ()
    instead_of: KeyIndexError | None = None


class EdgeFiles(NamedTuple):
    """The files that edges are in, and the name that the caller gave them."""

    sources: tuple[Source, ...]
    location: str

    @property
    def only(self) -> Source | None:
        """The file, if it is the only one."""
        return self.sources[0] if len(self.sources) == 1 else None

    def no_index(self) -> KeyIndexError:
        """Return the error that several files have no graph index."""
        reason = (
            f"a graph index is of one file, and the edges are in {len(self.sources)}; "
            "--engine spark uses the index of each"
        )
        return GraphIndexError(self.location, self.location, "several", reason)


def edge_files(
    edges: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Sequence[Source],
) -> EdgeFiles:
    """Return the files that edges are in."""
    several = [edges] if isinstance(edges, str | os.PathLike) else [*edges]
    opened = tuple(each for each in several if isinstance(each, Source))
    names = [_name_of(each) for each in several]
    sources = opened if len(opened) == len(several) else tuple(expand(names))
    for source in sources:
        stored_index.refuse_unless_file(source)
    if len(sources) == 1:
        return only_file(*sources)
    first, *others = names
    more = f" and {len(others)} more" if others else ""
    return EdgeFiles(sources, f"{os.fspath(first)}{more}")


def _name_of(edges: str | os.PathLike[str] | Source) -> str | os.PathLike[str]:
    return edges.location if isinstance(edges, Source) else edges


def only_file(source: Source) -> EdgeFiles:
    """Return the only file that edges are in."""
    return EdgeFiles((source,), source.location)


class Wanted(NamedTuple):
    """Which edges the caller wants, and how.

    Without `fields`, those of the graph index. With `require_index`, an index that cannot be
    used is an error. `report` is called with such an index and the access that is used
    instead, before that is opened; None if another index has a fault too.
    """

    fields: EdgeFields | None
    direction: Direction
    where: stored_index.Where
    require_index: bool
    memory: int
    threads: int | None
    report: Callable[[KeyIndexError, Strategy | None], None]


def reach_edges(edges: EdgeFiles, wanted: Wanted) -> Reach:
    """Find the best access to edges."""
    troubles: list[KeyIndexError]
    if edges.only is None:
        fields, troubles = fields_of(edges.sources, wanted), [edges.no_index()]
    else:
        found = _by_index(edges.only, wanted)
        if isinstance(found, Reach):
            return found
        fields, troubles = found
    if wanted.require_index:
        raise troubles[-1]
    for trouble in troubles[:-1]:
        wanted.report(trouble, None)
    wanted.report(troubles[-1], "scan")
    return scan_edges(edges, fields, wanted)


def fields_of(sources: Sequence[Source], wanted: Wanted) -> EdgeFields:
    """Return the fields of edges: as the caller names them, else as in the graph index.

    If the caller names both ends as in the index, and no predicate, it is that of the index.
    """
    named, known = wanted.fields, known_fields(sources, wanted.where)
    if named is None:
        return known or USUAL
    if known is not None and named == known._replace(pred=None):
        return known
    return named


def known_fields(
    sources: Sequence[Source], where: stored_index.Where
) -> EdgeFields | None:
    """Return the fields of edges in the graph index of the first file, if it has one."""
    found = store.INDEXES.find(sources[0].location, where) if sources else None
    return found.meta.fields if isinstance(found, store.StoredGraph) else None


def scan_edges(edges: EdgeFiles, fields: EdgeFields, wanted: Wanted) -> Reach:
    """Build a temporary graph index of all rows."""
    reverse, memory, threads = wanted.direction != "out", wanted.memory, wanted.threads
    settings = GraphBuild(fields, reverse, memory=memory, threads=threads)
    with reading(edges.location):
        index = build_aside(edges.sources, edges.location, settings)
    return Reach(GraphAccess.of_graph(index), "scan", fields, (), index)


def _by_index(
    source: Source, wanted: Wanted
) -> Reach | tuple[EdgeFields, list[KeyIndexError]]:
    """Return the access by an index; or the fields of edges, and the faults of indexes."""
    opened = OpenedFile(source)
    found = _by_graph(source, opened, wanted)
    if isinstance(found, Reach):
        return found
    fields, trouble = found
    by_keys = _by_keys(source, opened, wanted, fields)
    if not isinstance(by_keys, Reach):
        of_keys = [] if by_keys is None else [by_keys]
        return fields, [*of_keys, trouble]
    if trouble.kind != "missing":
        wanted.report(trouble, "keys")
    return by_keys._replace(instead_of=trouble)


def _by_graph(
    source: Source, opened: OpenedFile, wanted: Wanted, tries: int = 3
) -> Reach | tuple[EdgeFields, KeyIndexError]:
    """Return the access by a graph index; or the fields of edges, and why there is none.

    An index that another process updates meanwhile is read again.
    """
    found = store.INDEXES.find(source.location, wanted.where)
    fields, reverse = fields_of([source], wanted), wanted.direction != "out"
    build = store.build_options(fields, wanted.where, reverse=reverse)
    if found is None:
        missing = store.INDEXES.missing(source.location, wanted.where, options=build)
        return fields, missing
    place = (source.location, str(found.path))
    if isinstance(found, stored_index.Unreadable):
        reason = found.reason
        if wanted.fields is None:
            # The fields of a damaged index are unknown.
            named = ", ".join(fields.names)
            reason += f"; edges are taken to be of {named}: name the fields if they are others"
        return fields, GraphIndexError(*place, found.fault, reason, build)
    if fields != found.meta.fields:
        reason = f"it is of the fields {', '.join(found.meta.fields.names)}"
        return fields, GraphIndexError(*place, "other", reason, f"{build} --force")
    if reverse and not found.meta.reverse:
        return fields, GraphIndexError(*place, "other", "no_incoming_edges", build)
    try:
        return _if_it_fits(source, opened, wanted, found)
    except SidecarError as error:
        if tries > 1:
            return _by_graph(source, opened, wanted, tries - 1)
        return fields, GraphIndexError(*place, "corrupt", error.damage, build)


def _if_it_fits(
    source: Source, opened: OpenedFile, wanted: Wanted, found: store.StoredGraph
) -> Reach | tuple[EdgeFields, KeyIndexError]:
    fields, place = found.meta.fields, (source.location, str(found.path))
    try:
        stored, fresh = stored_index.fitting(found, source, opened)
    except GraphIndexError as error:
        return fields, error
    trouble = GraphIndexError(*place, fresh.state, fresh.reason)
    wrong = stored.unused
    if fresh.state == "grown" and wrong is not None and wrong.fault == "corrupt":
        damage = (str(wrong.path), wrong.fault, wrong.reason)
        wanted.report(GraphIndexError(source.location, *damage), None)
    index = stored.index
    if fresh.state == "grown" and not wanted.require_index:
        wanted.report(trouble, "graph")
        with reading(source.location):
            index = continue_aside(source, stored, graph_as_it_was(stored))
    elif fresh.state != "fresh":
        return fields, trouble
    paths = (stored.path, *(delta.path for delta in [stored.delta] if delta))
    access = GraphAccess.of_graph(index)
    return Reach(access, "graph", fields, tuple(map(str, paths)), index, (stored,))


def _by_keys(
    source: Source, opened: OpenedFile, wanted: Wanted, fields: EdgeFields
) -> Reach | KeyIndexError | None:
    """Return the access by key indexes that are proven to be those of the file as it is.

    If one cannot be used, return its fault.
    """
    if not opened.source.seekable:
        return None
    where = stored_index.Where(None, wanted.where.directory)
    ends = {
        "out": {"from_index": fields.from_},
        "in": {"to_index": fields.to},
        "both": {"from_index": fields.from_, "to_index": fields.to},
    }[wanted.direction]
    indexes: dict[str, KeyIndex] = {}
    found: list[keys.Stored] = []
    for end, field in ends.items():
        stored = keys.INDEXES.find(source.location, where, [field])
        if stored is None:
            return None
        place = (source.location, str(stored.path))
        if isinstance(stored, stored_index.Unreadable):
            return KeyIndexError(*place, stored.fault, stored.reason)
        try:
            fitting, fresh = stored_index.fitting(stored, source, opened)
        except KeyIndexError as error:
            return error
        if fresh.state != "fresh":
            return KeyIndexError(*place, fresh.state, fresh.reason)
        indexes[end] = fitting.index
        found.append(fitting)
    access = GraphAccess.of_keys(fields, opened.data, opened.size, **indexes)
    paths = tuple(str(each.path) for each in found)
    return Reach(access, "keys", fields, paths, None, tuple(found))
