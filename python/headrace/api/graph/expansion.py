"""Expansions: the nodes that are reached from others, level by level."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Self

from headrace.api.graph.names import at_most, predicates_of
from headrace.api.options import ExpandOptions, refuse_unknown
from headrace.errors import UsageError
from headrace.kernel.graph import reached_columns, steps
from headrace.kernel.rows import SidecarError, reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow

    from headrace.api.graph.access import Reach
    from headrace.api.graph.graph import Graph
    from headrace.api.options import Emit
    from headrace.kernel.graph import (
        Direction,
        Followed,
        GraphAccess,
        GraphExpansion,
        Reached,
        ReachedColumns,
    )


class Expansion:
    """An expansion: an iterator over the nodes that are reached, level by level.

    `missing`, `unknown`, `truncated` and `capped` are known when it has ended.
    """

    def __init__(
        self,
        graph: Graph,
        seeds: list[str],
        hops: int | None,
        options: ExpandOptions,
    ) -> None:
        refuse_unknown(options, ExpandOptions)
        self._graph = graph
        self._direction: Direction = options.get("direction", "out")
        self._emit: Emit = options.get("emit", "nodes")
        self._found: GraphExpansion | None = None
        preds = predicates_of(options.get("pred"))
        most, limit = at_most("hops", hops), at_most("limit", options.get("limit"))
        most_edges = at_most("most_edges", options.get("most_edges"))

        def begin(access: GraphAccess) -> GraphExpansion:
            return access.expand(
                seeds,
                hops=most,
                predicates=preds,
                direction=self._direction,
                emit=self._emit,
                limit=limit,
                most_edges=most_edges,
            )

        self._begin = begin
        self._steps = self._run()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Reached | Followed:
        return next(self._steps)

    def _run(self) -> Iterator[Reached | Followed]:
        graph, given = self._graph, 0
        while True:
            reach = graph.reach(self._direction)
            try:
                with reading(graph.location):
                    self._found = self._begin(reach.access)
                    # These steps came by way of the damaged index already.
                    for step in islice(steps(self._found), given, None):
                        given += 1
                        yield step
            except SidecarError as error:
                graph.give_up(reach, self._direction, error)
            else:
                graph.check_source(reach)
                return

    def to_arrow(self) -> pyarrow.Table:
        """Return all nodes that are reached as an Arrow table: ``node``, ``level``, ``via``.

        This takes less than half the time of iterating. It is an error with edges, and after
        the iteration has begun.
        """
        from headrace.api.graph.tables import reached_as_arrow

        if self._emit != "nodes" or self._found is not None:
            raise UsageError(
                "a table has all nodes and no edges: call expand(...).to_arrow() without emit"
            )

        def run(reach: Reach) -> ReachedColumns:
            self._found = self._begin(reach.access)
            return reached_columns(self._found)

        return reached_as_arrow(self._graph.on_edges(self._direction, run))

    @property
    def missing(self) -> list[str]:
        """The nodes to begin with that the graph does not have."""
        return [] if self._found is None else self._found.missing

    @property
    def unknown(self) -> list[str]:
        """The predicates that no edge has, as far as the index has all edges."""
        return [] if self._found is None else self._found.unknown

    @property
    def truncated(self) -> bool:
        """Whether `limit` left nodes out."""
        return self._found is not None and self._found.truncated

    @property
    def capped(self) -> int:
        """How many nodes have more than `most_edges` edges."""
        return 0 if self._found is None else self._found.capped
