"""What a query will do, as a tree that people can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.logical.stream import plan_stream
from headrace.query.parser import parse
from headrace.query.unparse import unparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.logical.stream import StreamPlan

_REDUCTIONS = {
    "lines": "each element is a line of output",
    "collect": "held all at once, up to --memory",
    "last": "only the last are held",
    "count": "counted",
    "sum": "added up, exactly",
    "avg": "averaged, exactly",
    "min": "the smallest is kept",
    "max": "the largest is kept",
}


def explain(query: str, *, stream: bool = False) -> str:
    """Return the plan of a query, one step on a line.

    >>> print(explain("$.rows().filter(x > 1).map(x).take(3)"))
    all rows, from the first to the last
    ├─ each: [$].filter(x > 1).map(x)
    ├─ take 3, then stop reading
    └─ each element is a line of output
    """
    tree = parse(query)
    plan = plan_stream(tree, whole=stream)
    if plan is None:
        return f"each row by itself\n└─ {unparse(tree)}"
    first, *steps = _steps(plan)
    signs = ["├─"] * (len(steps) - 1) + ["└─"]
    return "\n".join(
        [first, *(f"{sign} {step}" for sign, step in zip(signs, steps, strict=True))]
    )


def _steps(plan: StreamPlan) -> Iterator[str]:
    order = (
        "from the last to the first" if plan.reverse else "from the first to the last"
    )
    yield f"all rows, {order}"
    for stage in plan.stages:
        if stage.program is not None:
            yield f"{stage.kind.replace('_', ' ')}: {unparse(stage.program)}"
        elif stage.kind == "take":
            yield f"take {stage.count}, then stop reading"
        else:
            yield f"{stage.kind} {stage.count}"
    needed = "" if plan.limit is None else f"; {plan.limit} at most are needed"
    yield _REDUCTIONS[plan.reduction] + needed
    if plan.rest is not None:
        yield f"asked of that: {unparse(plan.rest)}"
    if plan.spread:
        yield "each element of the answer is a line of output"
