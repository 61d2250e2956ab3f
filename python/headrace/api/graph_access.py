"""How the edges of a file are reached.

The first of these that can be used: its graph index; key indexes on the ends of edges; all of
its rows, of which a graph index is made aside. The answers are the same. Of a file that has
grown since its graph index was made, only the new rows are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from headrace.engines.local.graph_build import (
    GraphBuild,
    as_it_was,
    build_aside,
    continue_aside,
)
from headrace.errors import GraphIndexError, KeyIndexError
from headrace.kernel.graph import Direction, EdgeFields, GraphAccess, GraphIndex
from headrace.kernel.rows import reading
from headrace.store import graph_index as store
from headrace.store import index_file as files
from headrace.store import key_index as keys
from headrace.store.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.kernel.key_index import KeyIndex
    from headrace.store.source import Source

USUAL = EdgeFields("from", "pred", "to")
"""The fields of edges, unless somebody says others, or an index does."""


class Reach(NamedTuple):
    """A way to edges: by a `graph` index, by `keys`, or by a `scan`.

    `files` are those that lead there; `graph` is the index, or the one that was made aside.
    """

    access: GraphAccess
    path: Literal["graph", "keys", "scan"]
    fields: EdgeFields
    files: tuple[str, ...]
    graph: GraphIndex | None


class Wanted(NamedTuple):
    """Which edges are wanted, and how.

    Without `fields`, those of the graph index. `strict`: where no index fits as it is, that is
    an error. `tell` hears what is wrong with an index.
    """

    fields: EdgeFields | None
    direction: Direction
    where: files.Where
    strict: bool
    memory: int
    threads: int | None
    tell: Callable[[KeyIndexError], None]


def reach_edges(source: Source, wanted: Wanted) -> Reach:
    """Find the best way to the edges of a file."""
    files.refuse_unless_file(source)
    opened = OpenedFile(source)
    found = _by_graph(source, opened, wanted)
    if isinstance(found, Reach):
        return found
    fields, trouble = found
    by_keys = _by_keys(source, opened, wanted, fields)
    if by_keys is not None:
        if trouble.kind != "missing":
            wanted.tell(trouble)
        return by_keys
    if wanted.strict:
        raise trouble
    wanted.tell(trouble)
    asked = GraphBuild(
        fields,
        wanted.direction != "out",
        memory=wanted.memory,
        threads=wanted.threads,
        strict=wanted.strict,
    )
    with reading(source.location):
        index = build_aside(source, asked)
    return Reach(GraphAccess.of_graph(index), "scan", fields, (), index)


def _by_graph(
    source: Source, opened: OpenedFile, wanted: Wanted
) -> Reach | tuple[EdgeFields, GraphIndexError]:
    """Return a way by a graph index; or the fields of edges, and why there is none."""
    found = store.find(source, wanted.where)
    fields = wanted.fields or USUAL
    if found is None:
        return fields, store.unusable(source)
    place = (source.location, str(found.path))
    if isinstance(found, files.Unreadable):
        return fields, GraphIndexError(*place, found.fault, found.reason)
    fields = wanted.fields or found.meta.fields
    if fields != found.meta.fields:
        reason = f"it is of other edges: {', '.join(found.meta.fields.names)}"
        return fields, GraphIndexError(*place, "foreign", reason)
    if wanted.direction != "out" and not found.meta.reverse:
        return fields, GraphIndexError(*place, "limits", "no_incoming_edges")
    return _if_it_fits(source, opened, wanted, found)


def _if_it_fits(
    source: Source, opened: OpenedFile, wanted: Wanted, found: store.StoredGraph
) -> Reach | tuple[EdgeFields, GraphIndexError]:
    fields, place = found.meta.fields, (source.location, str(found.path))
    try:
        stored, fresh = files.fitting(found, source, opened)
    except GraphIndexError as error:
        return fields, error
    trouble = GraphIndexError(*place, fresh.state, fresh.reason)
    index = stored.index
    if fresh.state == "grown" and not wanted.strict:
        wanted.tell(trouble)
        with reading(source.location):
            index = continue_aside(source, stored, as_it_was(stored))
    elif fresh.state != "fresh":
        return fields, trouble
    paths = (stored.path, *(delta.path for delta in [stored.delta] if delta))
    access = GraphAccess.of_graph(index)
    return Reach(access, "graph", fields, tuple(map(str, paths)), index)


def _by_keys(
    source: Source, opened: OpenedFile, wanted: Wanted, fields: EdgeFields
) -> Reach | None:
    """Return a way by key indexes that are proven to be those of the file as it is."""
    if not opened.source.seekable:
        return None
    where = files.Where(None, wanted.where.directory)
    ends = {
        "out": {"from_index": fields.from_},
        "in": {"to_index": fields.to},
        "both": {"from_index": fields.from_, "to_index": fields.to},
    }[wanted.direction]
    indexes: dict[str, KeyIndex] = {}
    paths = []
    for end, field in ends.items():
        stored = keys.find(source, [field], where)
        if not isinstance(stored, keys.Stored):
            return None
        try:
            fitting, fresh = files.fitting(stored, source, opened)
        except KeyIndexError:
            return None
        if fresh.state != "fresh":
            return None
        indexes[end] = fitting.index
        paths.append(str(fitting.path))
    access = GraphAccess.of_keys(fields, opened.data, opened.size, **indexes)
    return Reach(access, "keys", fields, tuple(paths), None)
