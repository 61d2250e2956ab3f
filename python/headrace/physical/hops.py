"""Graph hops on Spark: the strategy that finds the edges of the nodes of a level.

With an *index*, each task reads the edges of some nodes. Otherwise all rows are scanned: every
task holds all nodes (*broadcast*), or a *shuffle* brings nodes and edges together. The time of an
index grows with the edges that it finds, the time of a scan with all edges. The edges are the same.
Nothing else decides between the three; no file is opened here. Scanned edges are not kept for the
next level: docs/graphs.md says what that would cost.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from headrace.physical.access import FEW, INDEXED_ROW_COST
from headrace.physical.choice import Choice
from headrace.record import record

Strategy: TypeAlias = Literal["index", "broadcast", "shuffle"]

HopChoice: TypeAlias = Choice[Strategy]

MOST_HELD = 1_000_000
"""Limit on the nodes that every task holds."""


@record
class Indexed:
    """The number of edges in the indexes of a graph, and of the nodes that these belong to."""

    edges: int
    nodes: int

    @property
    def degree(self) -> float:
        """The average number of edges of a node."""
        return self.edges / max(self.nodes, 1)


def choose(nodes: int, indexed: Indexed | None) -> HopChoice:
    """Choose the fastest strategy for which tasks have the memory.

    >>> choose(5_000, Indexed(edges=1_000_000, nodes=100_000))
    Choice(strategy='index', reason='5000 nodes have some 50000 of 1000000 edges')
    >>> choose(50_000, Indexed(edges=1_000_000, nodes=100_000))
    Choice(strategy='broadcast', reason='50000 nodes have some 500000 of 1000000 edges')
    >>> choose(7, None)
    Choice(strategy='broadcast', reason='there is no index to use')
    >>> choose(2_000_000, None).strategy
    'shuffle'
    """
    reason = "there is no index to use"
    if indexed is not None:
        found = min(round(nodes * indexed.degree), indexed.edges)
        reason = f"{nodes} nodes have some {found} of {indexed.edges} edges"
        if nodes <= FEW or found * INDEXED_ROW_COST <= indexed.edges:
            return Choice("index", reason)
    if nodes <= MOST_HELD:
        return Choice("broadcast", reason)
    return Choice("shuffle", f"{reason}, and {nodes} nodes are too many for every task")
