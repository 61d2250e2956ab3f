"""Plan of a query over the stream of all rows: its stages, its reduction and the rest.

The query is cut in three. *Stages* handle one element after the other, beginning with the
rows. Their output is *reduced* to a value, one whose size does not depend on the number of rows
wherever the query allows it. The *rest* of the query is evaluated on that value. Every cut gives
the right answer; a good one holds less in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.record import record

if TYPE_CHECKING:
    from headrace.language import ast
    from headrace.logical.group_slots import SlotShape
    from headrace.logical.methods import JoinKind

Reduction: TypeAlias = Literal[
    "lines", "collect", "last", "last_from_end", "count", "count_by", "index_by", "pivot",
    "pivot_cells", "sum", "avg", "min", "max", "group", "group_by", "aggregate",
]  # fmt: skip
"""Result of the stages: a line of output per element, an array, a number, an object of counts or of
the last elements, or an array of groups, each an array of its keys and an array of its slots
(`headrace.logical.group_slots`). An `aggregate` has one group, also without elements. ``group_by``
tells groups apart by the text of one key, which must not come from values of two kinds.

``last_from_end`` is ``last`` for rows that are read in reverse.
"""


@record
class StreamStage:
    """Stage that handles each element; `program` runs with the element as its document."""

    kind: Literal["each", "distinct", "take", "skip", "take_while", "drop_while"]
    program: ast.Node | None = None
    count: int = 0


@record
class JoinStage:
    """Join with the elements of another stream; the keys are computed from each element."""

    kind: JoinKind
    key: ast.Node
    right: StreamPlan
    right_key: ast.Node
    name: str | None


@record
class ZipStage:
    """Pairs of the elements at the same position of two streams."""

    right: StreamPlan
    longest: bool


Stage: TypeAlias = StreamStage | JoinStage | ZipStage


@record
class Prune:
    """The `keep` best elements: those that a stable sort by keys puts first.

    `keys` run with the element as their document; `falling` says which of them are in descending
    order.
    """

    keys: tuple[ast.Node, ...]
    falling: tuple[bool, ...]
    keep: int


@record
class Order:
    """Stable sort by keys, and the stages behind it that handle each element by itself.

    `key` runs with the element as its document and gives an array of all keys; `falling` says
    which of them are in descending order.
    """

    key: ast.Node
    falling: tuple[bool, ...]
    then: tuple[Stage, ...]


@record
class Group:
    """Grouping by the text of a key, and what is computed for each group by itself.

    `key` runs with the element as its document and gives the name of its group; `check` runs on
    an array of elements of one group, and fails if their keys are of two kinds. `each` runs on an
    object that has one group only; None if nothing is computed for a group. Its results are combined into what it ``gives``: one object, or
    elements. `rest` runs on that; None if the elements are the lines of output.
    """

    key: ast.Node
    check: ast.Node
    each: ast.Node | None
    gives: Literal["object", "elements"]
    rest: ast.Node | None


@record
class MergedGroups:
    """What a query makes of groups with slots, once a shuffle has merged these.

    `behind` is its plan over the groups, each an array of keys and one of slots. Its elements are
    objects of one entry if the result is one ``object`` of all entries.
    """

    behind: StreamPlan
    gives: Literal["object", "elements"]


@record
class StreamPlan:
    """A query over all rows of `source`, or of the main one.

    `limit`: the number of elements that are needed. `prune`: elements that cannot be part of the
    answer are dropped. `rest`: runs on the result of the reduction, None if that is the answer.
    `order` is the same as `rest` if that is a sort by keys, `group` if it begins with groups,
    `merged` if it is about groups with `slots`. `spread`: the answer is an array whose elements
    are lines of output. `reverse`: rows are read from the last to the first. `offset`: where the
    step that reduces the elements begins in the query.
    """

    stages: tuple[Stage, ...]
    reduction: Reduction
    source: str | None = None
    limit: int | None = None
    rest: ast.Node | None = None
    spread: bool = False
    reverse: bool = False
    prune: Prune | None = None
    order: Order | None = None
    group: Group | None = None
    merged: MergedGroups | None = None
    slots: tuple[SlotShape, ...] = ()
    offset: int = 0


@record
class ValuePlan:
    """A query that uses only results of sub-queries over sources, the main one among them.

    `spread`: the answer is an array whose elements are lines of output.
    """

    tree: ast.Node
    spread: bool
