"""Access: how rows are reached, by a scan in some direction or through a key index.

All functions are pure and open no file: the store says what a source can do and what its indexes
would find, and the decision is made here. Every choice is correct, because the filters stay in the
query; it costs only time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.physical.query_plan import JoinPlan, PlainStage, ZipPlan
from headrace.store.rows.demand import IndexChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.physical.query_plan import StreamPlan
    from headrace.store.rows.demand import Capabilities, IndexEstimate

Scan: TypeAlias = Literal["forward", "reverse", "tail"]
"""In order, from the last row to the first, or only as many of the last as are needed."""

INDEXED_ROW_COST = 4
"""A row that an index leads to takes as long as this many rows of a scan."""

FEW = 1024
"""An index is always fast enough for this many rows or nodes."""

_MOST = 1 << 22
"""Limit on the rows of an index that are held, 8 bytes for each."""


def choose_scan(plan: StreamPlan, capabilities: Capabilities) -> Scan:
    """Choose the scan for the rows of a plan.

    A source that cannot begin at the end is read in order: the answer is the same.
    """
    if plan.reverse:
        return "reverse"
    return "tail" if capabilities.tail and needs_tail(plan) else "forward"


def needs_tail(plan: StreamPlan) -> bool:
    """Whether the answer depends only on the last elements, and each row can be read alone."""
    return (
        plan.reduction == "last"
        and not plan.reverse
        and all(
            isinstance(stage, PlainStage) and stage.kind == "each"
            for stage in plan.stages
        )
    )


def why_indivisible(plans: Sequence[StreamPlan]) -> str | None:
    """Return why parts of the rows cannot be reduced apart; None if their results can be merged.

    No stage may need other rows than its own; a join table has been read before.
    """
    if len(plans) > 1 and any(plan.limit is not None for plan in plans):
        return "its sub-queries end at different rows"
    for plan in plans:
        if plan.reduction == "last_from_end":
            return "only the last rows are read"
        for stage in plan.stages:
            match stage:
                case JoinPlan() | PlainStage("each"):
                    pass
                case PlainStage(kind):
                    name = kind.replace("_", " ")
                    return f"{name} depends on the elements before each one"
                case ZipPlan():
                    return "zip depends on the number of each element"
    return None


def most_rows(rows: int) -> int:
    """Return how many rows an index may lead to, of all `rows`, to be faster than a scan.

    >>> most_rows(100), most_rows(1_000_000)
    (1024, 250000)
    """
    return min(max(rows // INDEXED_ROW_COST, FEW), _MOST)


def choose_index(estimates: Sequence[IndexEstimate]) -> IndexChoice:
    """Choose the index that leads to the fewest rows, or a scan.

    >>> from headrace.store.rows.demand import IndexEstimate
    >>> choose_index([IndexEstimate("d.jnx", ("id",), 90, found=2, rows=100)]).reason
    '2 of 100 rows are read, found in d.jnx, the key index of id (90 keys)'
    >>> choose_index([IndexEstimate("d.jnx", refusal="source_modified")])
    IndexChoice(number=None, reason='all rows are read, d.jnx is not used: source_modified')
    """
    best = min(
        (
            (estimate.found, number)
            for number, estimate in enumerate(estimates)
            if estimate.found is not None and not estimate.refusal
        ),
        default=None,
    )
    if best is not None:
        found, number = best
        used = estimates[number]
        keys = "" if used.keys is None else f" ({used.keys} keys)"
        reason = (
            f"{found} of {used.rows} rows are read, found in {used.path}, the key index of "
            f"{','.join(used.key)}{keys}"
        )
        return IndexChoice(number, reason)
    if not estimates:
        return IndexChoice(None, "all rows are read, there is no key index of that")
    last = estimates[-1]
    refusal = last.refusal or "it leads to too many rows, so that a scan is faster"
    return IndexChoice(None, f"all rows are read, {last.path} is not used: {refusal}")
