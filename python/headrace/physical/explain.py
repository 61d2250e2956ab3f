"""What a query will do, as a tree that people can read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.language.parser import parse
from headrace.language.routine import deep
from headrace.language.unparse import unparse
from headrace.logical.demand import fields_of
from headrace.logical.sources import lifted
from headrace.logical.stream import (
    JoinStage,
    StreamPlan,
    StreamStage,
    ValuePlan,
    ZipStage,
    plan_source,
    plan_stream,
)
from headrace.physical.query_plan import lanes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.logical.demand import Fields
    from headrace.logical.stream import Stage


_REDUCTIONS = {
    "lines": "each element is a line of output",
    "collect": "held all at once, up to --memory",
    "last": "only the last are held; a file is read from its end for them, if it can be",
    "last_from_end": "only the last are read",
    "count": "counted",
    "count_by": "counted by what they are; each that is different is held",
    "sum": "added up, exactly",
    "avg": "averaged, exactly",
    "min": "the smallest is kept",
    "max": "the largest is kept",
}


_SPREAD = "each element of the answer is a line of output"


def explain(query: str, *, stream: bool = False) -> str:
    """Return the plan of a query, one step on a line.

    >>> print(explain("$.rows().filter(x > 1).map(x).take(3)"))
    all rows, from the first to the last
    ├─ fields that are read: x
    ├─ each: [$].filter(x > 1).map(x)
    ├─ take 3, then stop reading
    └─ each element is a line of output

    >>> print(explain("$.sort(-x).take(3)", stream=True))
    all rows, from the first to the last
    ├─ only the best 3 are held, by $.sort(-x).take(3)
    ├─ asked of that: $.sort(-x).take(3)
    └─ each element of the answer is a line of output
    """
    with deep():
        return _explained(parse(query), stream=stream)


def _explained(tree: ast.Node, *, stream: bool) -> str:
    plan = plan_stream(tree, whole=stream)
    if plan is None:
        steps = [*_fields(fields_of(tree)), unparse(tree)]
        lines = [_drawn("each row by itself", steps)]
        trees = [tree]
    elif isinstance(plan, ValuePlan):
        spread = [_SPREAD] if plan.spread else []
        lines = [_drawn("what was asked beforehand", [unparse(tree), *spread])]
        trees = [plan.tree]
    else:
        lines = [_drawn(_first(plan), _steps(plan))]
        trees = list(_programs(plan))
    asked = {name: node for each in trees for name, node in lifted(each)[1].items()}
    for question in asked.values():
        asked_of = plan_source(question)
        if asked_of.reduction == "lines":
            asked_of = replace(asked_of, reduction="collect")
        what = f"beforehand: {unparse(question)}, {_first(asked_of)}"
        lines.append(_drawn(what, _steps(asked_of)))
    return "\n".join(lines)


def _drawn(first: str, steps: Iterable[str]) -> str:
    *others, last = steps
    return "\n".join([first, *(f"├─ {step}" for step in others), f"└─ {last}"])


def _first(plan: StreamPlan) -> str:
    rows = "all rows" if plan.source is None else f"all rows of @{plan.source}"
    order = (
        "from the last to the first" if plan.reverse else "from the first to the last"
    )
    return f"{rows}, {order}"


def _fields(fields: Fields) -> Iterator[str]:
    if fields:
        yield f"fields that are read: {', '.join(sorted(fields))}"


def _steps(plan: StreamPlan) -> Iterator[str]:
    yield from _fields(lanes(plan).fields)
    for stage in plan.stages:
        yield _stage(stage)
    needed = "" if plan.limit is None else f"; {plan.limit} at most are needed"
    if plan.prune is None:
        yield _REDUCTIONS[plan.reduction] + needed
    else:
        yield f"only the best {plan.prune.keep} are held, by {unparse(plan.prune.program)}"
    if plan.rest is not None:
        yield f"asked of that: {unparse(plan.rest)}"
    if plan.spread:
        yield _SPREAD


def _stage(stage: Stage) -> str:
    match stage:
        case JoinStage():
            keys = f"{unparse(stage.key)} == {unparse(stage.right_key)}"
            held = (
                "the keys of the right side are held"
                if stage.kind in ("diff", "intersect")
                else "the right side is held by its keys"
            )
            smaller = "only those of the left side, if that is much smaller"
            return f"{stage.kind} {_right(stage.right)} on {keys}; {held}, {smaller}"
        case ZipStage():
            return f"zip {_right(stage.right)}, which is read alongside"
        case StreamStage(kind, program, count):
            if program is not None:
                return f"{kind.replace('_', ' ')}: {unparse(program)}"
            return (
                f"take {count}, then stop reading"
                if kind == "take"
                else f"{kind} {count}"
            )


def _right(plan: StreamPlan) -> str:
    source = "$" if plan.source is None else f"@{plan.source}"
    return "; ".join([source, *map(_stage, plan.stages)])


def _programs(plan: StreamPlan) -> Iterator[ast.Node]:
    """Yield all that is asked of elements and of the result."""
    for stage in plan.stages:
        match stage:
            case JoinStage():
                yield from (stage.key, stage.right_key, *_programs(stage.right))
            case ZipStage():
                yield from _programs(stage.right)
            case StreamStage(program=ast.Located() as program):
                yield program
            case _:
                pass
    if plan.rest is not None:
        yield plan.rest
