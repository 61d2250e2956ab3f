"""Task query: the plain data that the driver sends to tasks, and the chunks that come back.

What goes wrong with a file is part of a chunk, so that the driver can raise it in its place,
behind everything before it. Rows are numbered from the first of their fragment: the driver
adds the rows before that, which it knows from the chunks of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.engines.query.run import ALL_LINES, LineForm
from headrace.kernel.programs import Counts, SiftedRow
from headrace.physical.query_plan import StreamPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.engines.query.options import QueryOptions
    from headrace.engines.spark.query.survey_task import Survey
    from headrace.errors import HeadraceError
    from headrace.kernel.programs import GroupParts, Refused
    from headrace.physical.fragment import Fragment
    from headrace.physical.query_plan import GroupPlan, JoinPlan, RowPlan, StagePlan
    from headrace.store.files.source import Source
    from headrace.store.index.key_scan import Proven
    from headrace.store.rows.row_file import RowOptions

Output: TypeAlias = Literal["lines", "parts", "groups", "rows", "survey", "shuffle"]
"""What tasks make of their rows: lines of output, reduced parts, groups one by one, the rows that
are needed, counts and a sample of their keys, or elements for a shuffle."""

RowPlace: TypeAlias = tuple[int, int]
"""The number of a fragment, and of a row in it."""

_NUMBERS = ("count", "sum", "avg", "min", "max")


@dataclass(frozen=True, slots=True)
class ShuffleKey:
    """The key of elements for a shuffle, as the code of a program.

    With `descending`, it returns an array, one entry for each sort key. Elements go through
    `then` when they have their key. With `compact`, a row that is an element is written
    without its spaces. `stop` is the place of a row: only rows before it are shuffled.
    """

    code: bytes
    then: tuple[StagePlan, ...] = ()
    descending: tuple[bool, ...] = ()
    compact: bool = False
    stop: RowPlace | None = None


@dataclass(frozen=True, slots=True)
class JoinKey(ShuffleKey):
    """The key of one side of a join: a key that joins with nothing is empty.

    An element without a key makes its row a bad row. With `lookup`, nothing is shuffled: the
    survey reports whether indexes can look up all keys of that join.
    """

    lookup: JoinPlan | None = None


@dataclass(frozen=True, slots=True)
class SortShuffle:
    """Lines in the order of their keys, in partitions that are divided by `bounds`."""

    bounds: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class UniqueShuffle:
    """The first element of each key, in the order of the rows.

    Tasks run the plan `behind` over these; without one, they pass them on as rows.
    """

    buckets: int
    behind: StreamPlan | None


@dataclass(frozen=True, slots=True)
class JoinShuffle:
    """Elements joined with those of `other`, in the order of the rows; `behind` as above."""

    join: JoinPlan
    other: TaskQuery
    tasks: tuple[tuple[Fragment, ...], ...]
    buckets: int
    behind: StreamPlan | None


@dataclass(frozen=True, slots=True)
class GroupShuffle:
    """Groups of elements with the same key, in the order in which the keys first come."""

    plan: GroupPlan
    buckets: int


@dataclass(frozen=True, slots=True)
class MergeShuffle:
    """Groups of tasks merged by their names, in the order in which these first come.

    A merged group goes through `stages`, which are local to it. With `one_object`, its elements
    are objects of one entry, which are put together. The first failure comes before all elements.
    """

    stages: tuple[bytes, ...]
    buckets: int
    one_object: bool


Shuffle: TypeAlias = (
    "SortShuffle | UniqueShuffle | JoinShuffle | GroupShuffle | MergeShuffle"
)


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """The query of a task over the rows of its fragments, and what it makes of them.

    Several plans share a scan only where their rows are reduced to parts. `known` are the
    results of subqueries, `named` the sources of right sides. With `raw`, refused rows come
    with their bytes. The right rows of the joins `by_index` are found by indexes that are
    `proven` to fit their files.
    """

    output: Output
    plans: tuple[RowPlan | StreamPlan, ...]
    options: QueryOptions
    reading: RowOptions
    known: tuple[str, ...] | None = None
    named: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)
    form: LineForm = ALL_LINES
    raw: bool = False
    key: ShuffleKey | None = None
    shuffle: Shuffle | None = None
    by_index: tuple[JoinPlan, ...] = ()
    proven: tuple[Proven, ...] = ()

    @property
    def aborts(self) -> bool:
        """Whether a bad row ends the query."""
        return self.options.on_error == "abort"

    @property
    def has_small_results(self) -> bool:
        """Whether a task returns a few numbers, however many rows it reads."""
        return (
            self.output == "parts"
            and self.aborts
            and all(
                isinstance(plan, StreamPlan) and plan.reduction in _NUMBERS
                for plan in self.plans
            )
        )


class RefusedRow(NamedTuple):
    """A row without an answer; its bytes, if they were requested and can be read."""

    refused: Refused
    raw: bytes | None


@dataclass(slots=True)
class Chunk:
    """The result of a run of rows of one fragment, up to a row that ends the query.

    `first` is how many rows of the fragment are before them. `counts` are those of all its
    rows, without the `sifted` ones: the driver counts these.
    """

    fragment: int
    first: int
    rows: int = 0
    counts: Counts = Counts()  # noqa: RUF009, frozen
    lines: bytes = b""
    parts: tuple[bytes, ...] = ()
    groups: GroupParts | None = None
    sifted: list[SiftedRow] = field(default_factory=list)
    refused: list[RefusedRow] = field(default_factory=list)
    failure: HeadraceError | None = None
    survey: Survey | None = None

    def next(self) -> Chunk:
        """Return an empty chunk for the rows behind these."""
        return Chunk(self.fragment, self.first + self.rows)
