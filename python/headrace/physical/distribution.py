"""Distribution: the part of a query that runs in tasks, each over some rows, and the part on the driver.

A stage is *local* if it needs only one row. If all stages are local, tasks run them and reduce
their results; the driver only combines these in the order of the rows. Otherwise tasks send the
rows that pass the first stages, and the driver runs the query over these rows. A *shuffle* brings
together elements of different tasks that have the same key. Every division gives the same answer;
a good one sends less to the driver.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.physical.access import needs_tail
from headrace.physical.query_plan import JoinPlan, PlainStage, StreamPlan, ValuePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.physical.joins import SparkChoice, SparkStrategy
    from headrace.physical.query_plan import QueryPlan, StagePlan

Division: TypeAlias = Literal[
    "lines", "sorted", "grouped", "parts", "unique", "joined", "rows", "driver"
]
"""What tasks send to the driver: lines of output (also in the order of a key), groups of elements,
reduced parts, the first element of each key, elements joined by their keys, unchanged rows; or
nothing, because the driver reads the rows itself."""

_ENDING = ("take", "take_while")


def division(
    plan: StreamPlan, joins_in_tasks: Callable[[JoinPlan], bool] | None = None
) -> Division:
    """Divide the work of a plan.

    `joins_in_tasks` says whether the right side of a join can be held in every task.
    """
    if plan.source is not None or plan.reverse:
        return "driver"
    local = _local(plan.stages, joins_in_tasks)
    if len(local) == len(plan.stages):
        if plan.reduction == "lines":
            return "lines"
        if plan.order is not None:
            return "sorted"
        return "parts" if plan.group is None else "grouped"
    if plan.limit is None and (shuffle := _shuffle(plan.stages[len(local) :])):
        return shuffle
    return "rows" if sifting(plan.stages, joins_in_tasks) else "driver"


def _shuffle(stages: Sequence[StagePlan]) -> Literal["unique", "joined"] | None:
    """Return the shuffle for the first of some stages, if all other stages can follow.

    If an element may become several, all other stages must be local: a row that fails after a
    join contributes none of them.
    """
    rest = stages[1:]
    if may_end_early(rest, None) or any(isinstance(each, JoinPlan) for each in rest):
        return None
    match stages[0]:
        case PlainStage("distinct"):
            return "unique"
        case JoinPlan(kind, right=right) if _is_plain(right):
            many = kind in ("join", "left_join")
            return None if many and not are_local(rest) else "joined"
        case _:
            return None


def joins_by_shuffle(stages: Sequence[StagePlan]) -> bool:
    """Whether a shuffle can run the first of some stages, a join, and all others can follow."""
    return _shuffle(stages) == "joined"


def are_local(stages: Sequence[StagePlan]) -> bool:
    """Whether stages need only the element, and no other source."""
    return all(
        isinstance(stage, PlainStage) and stage.kind == "each" for stage in stages
    )


def _is_plain(right: StreamPlan) -> bool:
    """Whether the other side of a join is computed from each of its rows alone."""
    return (
        right.source is not None
        and right.reduction == "lines"
        and not right.reverse
        and are_local(right.stages)
    )


def sifting(
    stages: Sequence[StagePlan],
    joins_in_tasks: Callable[[JoinPlan], bool] | None = None,
) -> tuple[StagePlan, ...]:
    """Return the first stages, which select the rows that the other stages need.

    Of equal elements, only the first in a task is needed.
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


def _local(
    stages: Sequence[StagePlan], joins_in_tasks: Callable[[JoinPlan], bool] | None
) -> tuple[StagePlan, ...]:
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
    └─ tasks reduce their rows; the driver puts the results together
    """
    *others, last = _described(query, found)
    return "\n".join(["on Spark", *(f"├─ {each}" for each in others), f"└─ {last}"])


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
            yield _SENTENCES["lines"]


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
    lines = [
        f"@{name} by {choice.strategy}, since {choice.reason}: {_JOINS[choice.strategy]}"
        for name, choice in joins
    ]
    if not lines:
        return ""
    *others, last = lines
    return "\n".join(["joins", *(f"├─ {each}" for each in others), f"└─ {last}"])


_JOINS: dict[SparkStrategy, str] = {
    "index": "tasks look their keys up",
    "broadcast": "every task reads and holds it",
    "driver": "the driver holds the rows that are needed",
    "shuffle": "tasks read it, and a shuffle brings rows with the same key together",
}

_SENTENCES: dict[Division, str] = {
    "lines": "tasks answer their rows; the driver puts the lines in order",
    "sorted": "tasks make the elements and their keys; a shuffle sorts them; "
    "the driver takes the lines in that order",
    "grouped": "tasks make the elements and the names of their groups; a shuffle brings these "
    "together; the driver {groups}",
    "parts": "tasks reduce their rows; the driver puts the results together",
    "unique": "tasks find the first element of each key among their rows, and a shuffle finds "
    "the first of all if there are many; {behind}",
    "joined": "a shuffle joins elements by their keys; {behind}",
    "rows": "tasks send the rows that pass the first {count}; the driver does the rest",
    "driver": "the driver reads the rows: the first stage leaves none out",
}


def _behind(plan: StreamPlan) -> str:
    """Return whether tasks or the driver run the stages after the first shuffle."""
    rest = plan.stages[len(sifting(plan.stages)) :]
    if not are_local(rest):
        return "the driver does the rest"
    return (
        "tasks do the rest; the driver puts the "
        f"{'lines in order' if plan.reduction == 'lines' else 'results together'}"
    )


def _groups(plan: StreamPlan) -> str:
    """Return what the driver does with groups."""
    if plan.group is None or plan.group.rest is None:
        return "orders them by their first element"
    return "runs the rest of the query on the results"


def _sentence(plan: StreamPlan) -> str:
    if plan.source is not None:
        return f"the driver reads @{plan.source}"
    if plan.reverse:
        return "the driver reads the rows, from the last to the first"
    count = len(sifting(plan.stages))
    stages = "stage" if count == 1 else f"{count} stages"
    sentence = _SENTENCES[division(plan)].format(
        count=stages, behind=_behind(plan), groups=_groups(plan)
    )
    for at, stage in enumerate(plan.stages):
        if isinstance(stage, JoinPlan) and division(plan) != "driver":
            shuffled = plan.limit is None and _shuffle(plan.stages[at:]) == "joined"
            by = "a shuffle" if shuffled else "the driver"
            sentence += (
                f"; @{stage.right.source} is read by every task if it is small, looked up "
                f"by tasks if it is large and has a key index, otherwise joined by {by}"
            )
    if plan.rest is not None and division(plan) not in ("sorted", "grouped"):
        sentence += ", and runs the rest of the query on the result"
    if needs_tail(plan):
        sentence += "; the driver reads only the end of seekable files"
    return sentence
