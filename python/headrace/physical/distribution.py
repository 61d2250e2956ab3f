"""Strategies of a query on Spark: what tasks do, each over some of the rows, and what the driver does.

A stage is *local* to a row if it needs no other row. Where all stages are local, tasks run
them and reduce their elements; the driver puts the results together in the order of the rows.
Otherwise tasks pass on the rows that the first stages need, and the driver runs the query over
these. A *shuffle* brings elements of different tasks together by their keys. Every strategy
gives the same answer; a good one sends less to the driver.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.physical.access import needs_tail
from headrace.physical.query_plan import (
    GroupPlan,
    JoinPlan,
    OrderPlan,
    PlainStage,
    StagePlan,
    StreamPlan,
    ValuePlan,
)
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.physical.joins import SparkChoice, SparkStrategy
    from headrace.physical.query_plan import QueryPlan

Stages: TypeAlias = tuple[StagePlan, ...]

_LOCAL = "no stage needs more than one row"


@record
class DriverScan:
    """The driver reads the rows."""

    reason: str


@record
class TaskLines:
    """Tasks make the lines of output; the driver puts them in order."""

    reason: str = _LOCAL


@record
class TaskParts:
    """Tasks reduce their rows; the driver merges the results."""

    reason: str = _LOCAL


@record
class Sorted:
    """Tasks make elements with sort keys; a shuffle sorts the lines of output."""

    order: OrderPlan
    reason: str = "the answer is sorted by keys"


@record
class Grouped:
    """Tasks make elements with group keys; a shuffle makes the groups."""

    group: GroupPlan
    reason: str = "elements are grouped by a key"


@record
class Unique:
    """A shuffle leaves the first element of each key.

    `first` are the stages before it and the one that it replaces, `rest` those behind it.
    """

    first: Stages
    distinct: PlainStage
    rest: Stages
    reason: str = "equal elements may be in different tasks"


@record
class Joined:
    """A shuffle joins elements by their keys, between the stages `first` and `rest`."""

    first: Stages
    join: JoinPlan
    rest: Stages
    reason: str = "no task can hold the right side"


@record
class SiftedRows:
    """Tasks pass on the rows that get through `stages`; the driver runs the query over these."""

    stages: Stages
    reason: str = "a later stage needs rows in their order"


Strategy: TypeAlias = (
    DriverScan | TaskLines | TaskParts | Sorted | Grouped | Unique | Joined | SiftedRows
)

_ENDING = ("take", "take_while")


def strategy_of(
    plan: StreamPlan, joins_in_tasks: Callable[[JoinPlan], bool] | None = None
) -> Strategy:
    """Return the strategy of a plan.

    `joins_in_tasks` returns whether tasks can join with a right side [default: all].
    """
    if plan.source is not None:
        return DriverScan(f"@{plan.source} is not the main source")
    if plan.reverse:
        return DriverScan("they are read from the last to the first")
    local = _local(plan.stages, joins_in_tasks)
    rest = plan.stages[len(local) :]
    if not rest:
        if plan.reduction == "lines":
            return TaskLines()
        if plan.order is not None:
            return Sorted(plan.order)
        return TaskParts() if plan.group is None else Grouped(plan.group)
    if plan.limit is None and (shuffle := _shuffle(local, rest)):
        return shuffle
    stages = sifting(plan.stages, joins_in_tasks)
    if not stages:
        return DriverScan("the first stage leaves none out")
    return SiftedRows(stages)


def _shuffle(local: Stages, stages: Stages) -> Unique | Joined | None:
    """Return the shuffle that does the first of `stages`, if the others can follow it.

    Where an element may become several, all others must be local: a row that fails behind
    a join contributes none of its elements.
    """
    stage, rest = stages[0], stages[1:]
    if may_end_early(rest, None) or any(isinstance(each, JoinPlan) for each in rest):
        return None
    match stage:
        case PlainStage("distinct"):
            return Unique((*local, stage), stage, rest)
        case JoinPlan(kind, right=right) if _is_plain(right):
            many = kind in ("join", "left_join")
            return None if many and not are_local(rest) else Joined(local, stage, rest)
        case _:
            return None


def joins_by_shuffle(stages: Stages) -> bool:
    """Whether a shuffle can do the first of some stages, a join, and the others follow it."""
    return isinstance(_shuffle((), stages), Joined)


def are_local(stages: Sequence[StagePlan]) -> bool:
    """Whether stages need nothing but the element, not even another side."""
    return all(
        isinstance(stage, PlainStage) and stage.kind == "each" for stage in stages
    )


def _is_plain(right: StreamPlan) -> bool:
    """Whether each element of a right side comes from one row alone."""
    return (
        right.source is not None
        and right.reduction == "lines"
        and not right.reverse
        and are_local(right.stages)
    )


def sifting(
    stages: Stages,
    joins_in_tasks: Callable[[JoinPlan], bool] | None = None,
) -> Stages:
    """Return the first stages, with which a task finds the rows that the others need.

    Of equal elements, only the first among the rows of a task is needed.
    """
    local = _local(stages, joins_in_tasks)
    match stages[len(local) :]:
        case (PlainStage("distinct") as distinct, *_):
            return (*local, distinct)
        case _:
            return local


def may_end_early(stages: Sequence[StagePlan], limit: int | None) -> bool:
    """Whether the first rows may be enough."""
    return limit is not None or any(
        not isinstance(stage, JoinPlan)
        and (not isinstance(stage, PlainStage) or stage.kind in _ENDING)
        for stage in stages
    )


def _local(stages: Stages, joins_in_tasks: Callable[[JoinPlan], bool] | None) -> Stages:
    def is_local(stage: StagePlan) -> bool:
        match stage:
            case PlainStage(kind):
                return kind == "each"
            case JoinPlan(right=right):
                return right.source is not None and (
                    joins_in_tasks is None or joins_in_tasks(stage)
                )
            case _:
                return False

    return tuple(takewhile(is_local, stages))


class Found(NamedTuple):
    """Rows that key indexes lead to, and the bytes of all bytes that tasks would read for them.

    `here`: they are few enough for the driver.
    """

    rows: int
    here: bool
    bytes: int
    of_bytes: int


def described(query: QueryPlan, found: Found | None = None) -> str:
    """Explain where the parts of a query run, one on a line; `found` through key indexes, if used.

    >>> from headrace.physical.query_plan import plan_query
    >>> print(described(plan_query("$.rows().filter(x > 1).sum(y)")))
    on Spark
    └─ tasks reduce their rows; the driver puts the results together (no stage needs more than one row)
    """
    from headrace.physical.explain import drawn

    return drawn("on Spark", _described(query, found))


def _described(query: QueryPlan, found: Found | None) -> Iterator[str]:
    for number, question in enumerate(query.questions, 1):
        yield f"beforehand, {number}: {_sentence(question)}"
    if found is not None and found.here:
        rows = "row" if found.rows == 1 else "rows"
        yield (
            f"the driver queries the {found.rows} {rows} that key indexes lead to: too few "
            "for tasks"
        )
        return
    if found is not None:
        yield (
            f"tasks read {found.bytes} of {found.of_bytes} bytes, which hold the "
            f"{found.rows} rows that key indexes lead to, and files without one"
        )
    match query.main:
        case StreamPlan() as plan:
            yield _sentence(plan)
        case ValuePlan():
            yield "the driver computes the answer from the parts above"
        case _:
            yield _text(TaskLines(), None)


def described_joins(joins: Iterable[tuple[str, SparkChoice]]) -> str:
    """Explain how named sources are joined, one on a line; empty if there are none.

    >>> from headrace.physical.joins import SparkChoice
    >>> print(
    ...     described_joins(
    ...         [("users", SparkChoice("index", "the left side is much smaller"))]
    ...     )
    ... )
    joins
    └─ @users by index, since the left side is much smaller: tasks look their keys up
    """
    from headrace.physical.explain import drawn

    lines = [
        f"@{name} by {choice.strategy}, since {choice.reason}: {_JOINS[choice.strategy]}"
        for name, choice in joins
    ]
    return drawn("joins", lines) if lines else ""


_JOINS: dict[SparkStrategy, str] = {
    "index": "tasks look their keys up",
    "broadcast": "every task reads and holds it",
    "driver": "the driver holds the rows that are needed",
    "shuffle": "tasks read it, and a shuffle brings rows with the same key together",
}


def _text(strategy: Strategy, plan: StreamPlan | None) -> str:
    return f"{_work(strategy, plan)} ({strategy.reason})"


def _work(strategy: Strategy, plan: StreamPlan | None) -> str:
    """Return the work of tasks and of the driver."""
    match strategy:
        case DriverScan():
            return "the driver reads the rows"
        case TaskLines():
            return "tasks answer their rows; the driver puts the lines in order"
        case TaskParts():
            return "tasks reduce their rows; the driver puts the results together"
        case Sorted():
            return (
                "tasks make the elements and their keys; a shuffle sorts them; the driver "
                "takes the lines in that order"
            )
        case Grouped(group):
            then = (
                "orders them by their first element"
                if group.rest is None
                else "runs the rest of the query on the results"
            )
            return (
                "tasks make the elements and the names of their groups; a shuffle brings "
                f"these together; the driver {then}"
            )
        case Unique(rest=rest):
            return (
                "tasks find the first element of each key among their rows, and a shuffle "
                f"finds the first of all if there are many; {_behind(rest, plan)}"
            )
        case Joined(rest=rest):
            return f"a shuffle joins elements by their keys; {_behind(rest, plan)}"
        case SiftedRows(stages):
            count = "stage" if len(stages) == 1 else f"{len(stages)} stages"
            return f"tasks send the rows that pass the first {count}; the driver does the rest"


def _behind(rest: Stages, plan: StreamPlan | None) -> str:
    """Return who runs the stages behind a shuffle."""
    if not are_local(rest):
        return "the driver does the rest"
    lines = plan is not None and plan.reduction == "lines"
    results = "lines in order" if lines else "results together"
    return f"tasks do the rest; the driver puts the {results}"


def _sentence(plan: StreamPlan) -> str:
    strategy = strategy_of(plan)
    text = _text(strategy, plan)
    if isinstance(strategy, DriverScan) and (plan.source is not None or plan.reverse):
        return text
    for at, stage in enumerate(plan.stages):
        if isinstance(stage, JoinPlan) and not isinstance(strategy, DriverScan):
            shuffled = plan.limit is None and joins_by_shuffle(plan.stages[at:])
            by = "a shuffle" if shuffled else "the driver"
            text += (
                f"; @{stage.right.source} is read by every task if it is small, looked up "
                f"by tasks if it is large and has a key index, otherwise joined by {by}"
            )
    if plan.rest is not None and not isinstance(strategy, (Sorted, Grouped)):
        text += ", and runs the rest of the query on the result"
    if isinstance(strategy, TaskParts) and plan.merged is not None:
        text += (
            "; groups that take more than --memory are merged by a shuffle of those that each "
            "task has made"
        )
    if needs_tail(plan):
        text += "; the driver reads only the end of seekable files"
    return text
