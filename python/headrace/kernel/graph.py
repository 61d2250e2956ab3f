"""Graph indexes: building them, and following edges.

The classes that are imported here are the core's own. What an edge is, and the format of the
file: docs/formats/graph-index.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

from headrace._native import (
    EdgeScan,
    GraphAccess,
    GraphColumns,
    GraphExpansion,
    GraphIndex,
    GraphRuns,
    KernelError,
    LargeTexts,
    ReachedColumns,
    ScannedEdges,
    graph_columns,
    reached_columns,
    write_graph_index,
)
from headrace.errors import UsageError
from headrace.kernel.index_meta import IndexMeta, Lines, MadeOf, parsed_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = [
    "Degrees",
    "Direction",
    "Edge",
    "EdgeFields",
    "EdgeScan",
    "Followed",
    "GraphAccess",
    "GraphColumns",
    "GraphExpansion",
    "GraphIndex",
    "GraphMeta",
    "GraphPlan",
    "GraphRuns",
    "GraphStats",
    "GraphWritten",
    "LargeTexts",
    "Reached",
    "ReachedColumns",
    "ScannedEdges",
    "edges_of",
    "graph_columns",
    "meta_of",
    "reached_columns",
    "stats_of",
    "steps",
    "write_index",
]

Direction: TypeAlias = Literal["out", "in", "both"]


class EdgeFields(NamedTuple):
    """The fields of a row that make it an edge. Without `pred`, all say the same: nothing."""

    from_: str
    pred: str | None
    to: str

    @property
    def names(self) -> tuple[str, ...]:
        """Those there are, in order.

        >>> EdgeFields("from", None, "to").names
        ('from', 'to')
        """
        return tuple(name for name in self if name is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMeta(IndexMeta):
    """What a graph index is of.

    How many `nodes` and `predicates` a base and its delta have together is not in the files.
    """

    fields: EdgeFields
    reverse: bool
    edges: int
    nodes: int | None
    predicates: int | None
    plain_numbers: ClassVar[bool] = True
    """Nodes are texts."""


def meta_of(text: str) -> GraphMeta:
    """Return what an index is of, from what it says."""
    found = parsed_fields(json.loads(text))
    fields = EdgeFields(found.pop("from"), found.pop("pred"), found.pop("to"))
    return GraphMeta(fields=fields, **found)


def lines_of(index: GraphIndex) -> Lines:
    """Return what lines an index was made of, with its delta if it has one."""
    meta = meta_of(index.meta)
    if index.delta is None:
        return meta.lines
    return meta.covered_lines.plus(meta_of(index.delta[0]).lines)


class GraphPlan(NamedTuple):
    """What index is to be written; see `key_index.Plan`."""

    fields: EdgeFields
    reverse: bool
    version: int | None
    memory: int
    lines: Lines
    made_of: MadeOf
    hashes: Sequence[int]


class GraphWritten(NamedTuple):
    """An index that was written; `why` it has not the version that is usual."""

    version: int
    why: str | None
    edges: int
    nodes: int
    predicates: int
    size: int


def write_index(
    runs: Sequence[GraphRuns],
    path: Path,
    plan: GraphPlan,
    *,
    source: str,
    base: GraphIndex | None = None,
) -> GraphWritten:
    """Write the index of `runs` to the empty file `path`; with `base`, its delta."""
    try:
        return GraphWritten(*write_graph_index(runs, path, plan, base))
    except KernelError as error:
        match error.args:
            case ("no_room", why):
                advice = (
                    "let the version be chosen" if plan.version else "split the file"
                )
                problem = f"the index has no room for it ({why})"
                raise UsageError(f"{source}: {problem}; {advice}") from None
            case _:
                raise


class Edge(NamedTuple):
    """An edge, seen from one of its ends.

    `node` is the other one, `offset` where its row begins, and `outgoing` whether it is
    followed in its own direction.
    """

    pred: str
    node: str
    offset: int
    outgoing: bool


def edges_of(
    access: GraphAccess,
    node: str,
    *,
    direction: Direction = "out",
    predicates: Sequence[str] | None = None,
    most: int | None = None,
) -> list[Edge] | None:
    """Return the edges of a node in file order; None if there is no such node."""
    found = access.edges(node, direction=direction, predicates=predicates, most=most)
    return None if found is None else [Edge(*edge) for edge in found]


class Reached(NamedTuple):
    """A node that was reached, `level` edges away, first along an edge that says `via`."""

    node: str
    level: int
    via: str | None


class Followed(NamedTuple):
    """An edge that was followed; `leads` if a node was reached along it for the first time."""

    from_: str
    pred: str
    to: str
    offset: int
    leads: bool


_STEPS = 1 << 15
"""How many steps are made before Python sees them."""


def steps(expansion: GraphExpansion) -> Iterator[Reached | Followed]:
    """Yield what an expansion comes upon; an edge comes before the node that it leads to."""
    most = 64
    while some := expansion.advance(most):
        most = _STEPS
        for step in some:
            yield Reached(*step) if len(step) == 3 else Followed(*step)


class Degrees(NamedTuple):
    """How many nodes have how many edges.

    `none`: without one. `powers`: with 1, with 2 or 3, with 4 to 7, and so on. `most` are
    those of the node `most_node`.
    """

    none: int
    powers: list[int]
    most: int
    most_node: str


class GraphStats(NamedTuple):
    """What a graph is like; `loops` are edges from a node to itself."""

    nodes: int
    edges: int
    loops: int
    predicates: dict[str, int]
    out: Degrees
    in_: Degrees
    components: int
    largest_component: int


def stats_of(index: GraphIndex) -> GraphStats:
    """Look at all edges of an index."""
    counts, predicates, out, incoming, components, largest = index.stats()
    return GraphStats(
        *counts,
        dict(predicates),
        Degrees(*out),
        Degrees(*incoming),
        components,
        largest,
    )
