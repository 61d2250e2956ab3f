"""How Spark's tasks find the edges of the nodes of a level.

By an *index*, each task those of some of the nodes; or by a scan of all rows: every task holds all
nodes (*broadcast*), or a *shuffle* brings nodes and edges together. An index takes as long as
the edges that are found are many, a scan as all of them. The edges are the same. Nothing else
decides between the three; no file is opened here. What a scan has found is not kept for the next
level: docs/graphs.md says what that would cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Strategy: TypeAlias = Literal["index", "broadcast", "shuffle"]

MOST_HELD = 1_000_000
"""Nodes that every task may hold."""

_DEARER = 4
"""An edge that an index leads to takes as long as so many that are scanned."""

_FEW = 1024
"""Nodes that an index is always good enough for."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What indexes know of a graph: how many edges it has, and of how many nodes these are."""

    edges: int
    nodes: int

    @property
    def degree(self) -> float:
        """How many edges a node has, on the average."""
        return self.edges / max(self.nodes, 1)


@dataclass(frozen=True, slots=True)
class HopChoice:
    """How, and why."""

    strategy: Strategy
    reason: str


def choose(nodes: int, indexed: Indexed | None) -> HopChoice:
    """Pick what takes less time, and memory that tasks have.

    >>> choose(5_000, Indexed(edges=1_000_000, nodes=100_000))
    HopChoice(strategy='index', reason='5000 nodes have some 50000 of 1000000 edges')
    >>> choose(50_000, Indexed(edges=1_000_000, nodes=100_000))
    HopChoice(strategy='broadcast', reason='50000 nodes have some 500000 of 1000000 edges')
    >>> choose(7, None)
    HopChoice(strategy='broadcast', reason='there is no index to use')
    >>> choose(2_000_000, None).strategy
    'shuffle'
    """
    reason = "there is no index to use"
    if indexed is not None:
        found = min(round(nodes * indexed.degree), indexed.edges)
        reason = f"{nodes} nodes have some {found} of {indexed.edges} edges"
        if nodes <= _FEW or found * _DEARER <= indexed.edges:
            return HopChoice("index", reason)
    if nodes <= MOST_HELD:
        return HopChoice("broadcast", reason)
    return HopChoice(
        "shuffle", f"{reason}, and {nodes} nodes are too many for every task"
    )
