"""How rows are reached: from what the source is capable of and what the query demands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.physical.query_plan import PlainStage

if TYPE_CHECKING:
    from headrace.physical.query_plan import StreamPlan
    from headrace.store.rows.provider import Capabilities

Access: TypeAlias = Literal["forward", "reverse", "tail"]
"""In order, from the last to the first, or only as many of the last as are needed."""


def choose(plan: StreamPlan, capabilities: Capabilities) -> Access:
    """Return how the rows of a plan are best reached.

    Who cannot begin at the end is read in order: the answer is the same.
    """
    if plan.reverse:
        return "reverse"
    return "tail" if capabilities.tail and needs_tail(plan) else "forward"


def needs_tail(plan: StreamPlan) -> bool:
    """Whether only the last elements count, and each row can be asked by itself."""
    return (
        plan.reduction == "last"
        and not plan.reverse
        and all(
            isinstance(stage, PlainStage) and stage.kind == "each"
            for stage in plan.stages
        )
    )
