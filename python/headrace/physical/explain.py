"""Explain: the plan of a query as a tree for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.language.tokens import UNBOUND
from headrace.language.traversal import deep
from headrace.language.unparse import unparse
from headrace.logical import key_filter
from headrace.logical.methods import fields_of
from headrace.logical.named_sources import lifted
from headrace.logical.resolution import read_query
from headrace.logical.stream_plan import (
    JoinStage,
    StreamPlan,
    StreamStage,
    ValuePlan,
    ZipStage,
)
from headrace.logical.stream_planner import plan_source, plan_stream
from headrace.physical.query_plan import lanes, reads_place
from headrace.record import field, record, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from headrace.language.tokens import Bindings
    from headrace.logical.methods import Fields
    from headrace.logical.stream_plan import Prune, Stage
    from headrace.store.rows.demand import KeyFilter, KeyValue


_REDUCTIONS = {
    "lines": "each element is a line of output",
    "collect": "held in memory, up to --memory",
    "last": "only the last are held; a seekable file is read from its end",
    "last_from_end": "only the last are read",
    "count": "counted",
    "count_by": "counted by value; each distinct value is held",
    "index_by": "the last one of each key is held",
    "pivot": "the last value of each key is held",
    "pivot_cells": "the last value of each row and column is held",
    "sum": "added up, exactly",
    "avg": "averaged, exactly",
    "min": "the smallest is kept",
    "max": "the largest is kept",
    "group": "grouped by their keys; the aggregates of each group are held",
    "group_by": "grouped by the text of their key; the aggregates of each group are held",
    "aggregate": "aggregated; one group is held",
}


_SPREAD = "each element of the answer is a line of output"


@deep()
def explain(
    query: str,
    *,
    stream: bool = False,
    indexes: bool = True,
    bindings: Bindings = UNBOUND,
) -> str:
    """Explain the plan of a query, one step on a line; `indexes`: key indexes may be used.

    >>> print(explain("$.rows().filter(id == 7).map(x)"))
    all rows, from the first to the last
    ├─ fields that are read: id, x
    ├─ only rows with id == 7 in files with a key index of it
    ├─ each: [$].filter(id == 7).map(x)
    └─ each element is a line of output

    >>> print(explain("$.rows().filter(x > 1).map(x).take(3)"))
    all rows, from the first to the last
    ├─ fields that are read: x
    ├─ each: [$].filter(x > 1).map(x)
    ├─ take 3, then stop reading
    └─ each element is a line of output

    >>> print(explain("$.sort(-x).take(3)", stream=True))
    all rows, from the first to the last
    ├─ only the best 3 are held, by -x
    ├─ on the result: $.sort(-x).take(3)
    └─ each element of the answer is a line of output
    """
    return explain_tree(read_query(query, bindings), stream=stream, indexes=indexes)


@record
class Measured:
    """What a run measured of one part of a plan.

    `elements` are how many came to each stage, and out of the last one; `rights` describe what was
    read for the stage of a number. The others describe the scan, the reduction and the rest.
    """

    scan: str = ""
    elements: tuple[int, ...] = ()
    rights: Mapping[int, str] = field(default_factory=dict)
    reduction: str = ""
    rest: str = ""

    def passed(self, stage: int) -> str:
        """Describe how many elements came to a stage, and out of it."""
        if not self.elements:
            return ""
        came, left = self.elements[stage : stage + 2]
        right = self.rights.get(stage)
        return f"{came:,} -> {left:,}" + (f"; {right}" if right else "")


NOT_MEASURED: Mapping[str | None, Measured] = {}


def measured_line(line: str, measured: str) -> str:
    """Return a line of a plan with what was measured of it behind it.

    >>> measured_line("take 3", "10 -> 3"), measured_line("take 3", "")
    ('take 3  [10 -> 3]', 'take 3')
    """
    return f"{line}  [{measured}]" if measured else line


def explain_tree(
    tree: ast.Node,
    *,
    stream: bool = False,
    indexes: bool = True,
    measured: Mapping[str | None, Measured] = NOT_MEASURED,
) -> str:
    """Return the plan of a parsed query, one step on a line.

    `measured` has the parts of the plan: the sub-queries by their text, and None for the others.
    """
    plan, main = plan_stream(tree, whole=stream), measured.get(None, Measured())
    if plan is None:
        each = measured_line(unparse(tree), main.passed(0))
        first = measured_line("each row by itself", main.scan)
        lines = [drawn(first, [*_fields(fields_of(tree)), each])]
        trees = [tree]
    elif isinstance(plan, ValuePlan):
        spread = [_SPREAD] if plan.spread else []
        rest = measured_line(unparse(tree), main.rest)
        lines = [drawn("the parts above", [rest, *spread])]
        trees = [plan.tree]
    else:
        first = measured_line(_first(plan), main.scan)
        spills = not reads_place(tree)
        steps = _steps(plan, main, indexes=indexes, spills=spills)
        lines = [drawn(first, steps)]
        trees = list(_programs(plan))
    questions = {name: node for each in trees for name, node in lifted(each)[1].items()}
    for name, question in questions.items():
        part = measured.get(name, Measured())
        read = plan_source(question)
        if read.reduction == "lines":
            read = replace(read, reduction="collect")
        what = f"beforehand: {unparse(question)}, {_first(read)}"
        steps = _steps(read, part, indexes=indexes, spills=False)
        lines.append(drawn(measured_line(what, part.scan), steps))
    return "\n".join(lines)


def drawn(first: str, steps: Iterable[str]) -> str:
    """Return a tree: a line, and lines below it."""
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


def _steps(
    plan: StreamPlan, measured: Measured, *, indexes: bool, spills: bool
) -> Iterator[str]:
    """Yield the steps of a plan; `spills`: a sort of its elements may use a file."""
    yield from _fields(lanes(plan).fields)
    found_by = key_filter.of_stream(plan) if indexes else None
    if found_by is not None:
        yield f"only rows with {_keys(found_by)} in files with a key index of it"
    for number, stage in enumerate(plan.stages):
        yield measured_line(_stage(stage, indexes=indexes), measured.passed(number))
    needed = "" if plan.limit is None else f"; {plan.limit} at most are needed"
    if spills and _sorts_lines(plan):
        reduction = "sorted; what does not fit into --memory is in a temporary file"
    elif plan.prune is None:
        reduction = _REDUCTIONS[plan.reduction] + _of_groups(plan) + needed
    else:
        keys = _sort_keys(plan.prune)
        reduction = f"only the best {plan.prune.keep} are held, by {keys}"
    yield measured_line(reduction, measured.reduction)
    if plan.rest is not None:
        yield measured_line(f"on the result: {unparse(plan.rest)}", measured.rest)
    if plan.spread:
        yield _SPREAD


def _sorts_lines(plan: StreamPlan) -> bool:
    """Whether the answer is sorted as lines: no stage needs other rows than its own."""
    return (
        plan.order is not None
        and plan.spread
        and plan.prune is None
        and plan.limit is None
        and not plan.reverse
        and all(map(_is_elementwise, plan.stages))
    )


def _is_elementwise(stage: Stage) -> bool:
    return isinstance(stage, JoinStage) or (
        isinstance(stage, StreamStage) and stage.kind == "each"
    )


def _of_groups(plan: StreamPlan) -> str:
    """Explain what grows with the number of elements, where there are groups."""
    if plan.group is not None:
        return ", since what becomes of the groups needs all of their elements"
    if any(shape.kind in ("collect", "numbers") for shape in plan.slots):
        return ", some of them with a value of every element"
    return ""


def _sort_keys(prune: Prune) -> str:
    signs = ["-" if falls else "" for falls in prune.falling]
    keys = zip(signs, prune.keys, strict=True)
    return ", ".join(sign + unparse(key) for sign, key in keys)


def _keys(keys: KeyFilter) -> str:
    def one_of(name: str, values: Sequence[KeyValue]) -> str:
        texts = [json.dumps(value, ensure_ascii=False) for value in values]
        if len(texts) == 1:
            return f"{name} == {texts[0]}"
        return f"{name} in [{', '.join(texts)}]"

    return " and ".join(one_of(name, values) for name, values in keys.fields)


def explain_files(keys: KeyFilter, reached: Sequence[tuple[str, str]]) -> str:
    """Explain how rows with some keys are reached, one file on a line.

    >>> from headrace.store.rows.demand import KeyFilter
    >>> filter = KeyFilter((("id", (7, 8)), ("on", (True,))))
    >>> print(explain_files(filter, [("a.jsonl", "all rows are read")]))
    rows with id in [7, 8] and on == true
    └─ a.jsonl: all rows are read
    """
    return drawn(
        f"rows with {_keys(keys)}", [f"{path}: {how}" for path, how in reached]
    )


def _stage(stage: Stage, *, indexes: bool) -> str:
    match stage:
        case JoinStage():
            keys = f"{unparse(stage.key)} == {unparse(stage.right_key)}"
            held = (
                "the keys of the right side are held"
                if stage.kind in ("diff", "intersect")
                else "the right side is held by its keys"
            )
            smaller = "only the keys of the left side, if that is much smaller"
            if indexes and key_filter.of_join(stage) is not None:
                smaller += ", found in files with a key index of them"
            right = _right(stage.right, indexes=indexes)
            return f"{stage.kind} {right} on {keys}; {held}, {smaller}"
        case ZipStage():
            right = _right(stage.right, indexes=indexes)
            return f"zip {right}, which is read at the same time"
        case StreamStage(kind, program, count):
            if program is not None:
                return f"{kind.replace('_', ' ')}: {unparse(program)}"
            return (
                f"take {count}, then stop reading"
                if kind == "take"
                else f"{kind} {count}"
            )


def _right(plan: StreamPlan, *, indexes: bool) -> str:
    source = "$" if plan.source is None else f"@{plan.source}"
    stages = (_stage(stage, indexes=indexes) for stage in plan.stages)
    return "; ".join([source, *stages])


def _programs(plan: StreamPlan) -> Iterator[ast.Node]:
    """Yield the programs of the stages and of the rest."""
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
