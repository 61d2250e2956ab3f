"""Groups of tasks merged behind a shuffle that sorts them by name and place.

A merged group has the place of its first element. It goes through the stages that are local to it.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from headrace.engines.spark.query.task import TaskRun
from headrace.engines.spark.query.task_query import MergeShuffle, TaskQuery
from headrace.engines.spark.shuffle.group_task import Member, Piece
from headrace.engines.spark.shuffle.stage_task import each_stages, known_sources
from headrace.errors import HeadraceError, QueryFailedError
from headrace.kernel.programs import Texts
from headrace.kernel.rows import RowBatch
from headrace.kernel.sort_keys import KeyedRows
from headrace.kernel.values import DEEPEST
from headrace.physical.query_plan import StreamPlan

_NUMBER_BITS = 40
"""How many bits of a place the number of an element in its task takes."""


class GroupMerger:
    """Merges groups; those of one name come in the order of their places."""

    def __init__(self, query: TaskQuery, shuffle: MergeShuffle) -> None:
        (plan,) = query.plans
        assert isinstance(plan, StreamPlan)
        self._shuffle, self._plan = shuffle, plan
        self._run = TaskRun(query)
        self._query = self._run.reducing_query(plan)
        self._rows = KeyedRows(
            None,
            stages=each_stages(shuffle.stages),
            max_depth=DEEPEST,
            sources=known_sources(query.known, DEEPEST - 1),
        )
        self._failure: HeadraceError | None = None

    def merge(self, groups: Sequence[Member]) -> None:
        """Take in groups of tasks."""
        if self._failure is not None:
            return
        places = [group.task << _NUMBER_BITS | group.number for group in groups]
        try:
            self._query.merge_groups(places, [group.line for group in groups])
        except HeadraceError as error:
            self._failure = error

    def take(self) -> list[Piece]:
        """Return what becomes of the groups, of which no further one comes.

        Errors come first, in the order in which the query finds them: those of names, of slots and
        of stages.
        """
        if self._failure is not None:
            return [Piece(0, 0, 0, 0, b"", self._failure)]
        merged = self._query.merged_groups()
        self._query = self._run.reducing_query(self._plan)
        firsts = memoryview(merged.firsts).cast("q")
        made = self._rows.of(RowBatch.of_contents(0, list(_split(merged.texts))))
        pieces = [
            _failed(stage, found[0], self._run.of_reduction(self._plan, found[1]))
            for stage, found in enumerate((merged.colliding, merged.failed))
            if found is not None
        ]
        for refused in made.refused[:1]:
            error = QueryFailedError(
                self._plan.query, (refused.column or 1) - 1, refused.reason
            )
            failed = self._run.of_rest(self._plan, error)
            pieces.append(_failed(2, firsts[refused.row], failed))
        stage = 3 if self._shuffle.fails_first else 2
        one_object = self._shuffle.one_object
        positions = memoryview(made.positions).cast("i")
        for at, (position, line) in enumerate(
            zip(positions, _split(made.lines), strict=True)
        ):
            text = b"," + line[1:-1] if one_object else line + b"\n"
            pieces.append(Piece(stage, *_placed(firsts[position]), at, text))
        return pieces


def _failed(stage: int, place: int, error: HeadraceError) -> Piece:
    return Piece(stage, *_placed(place), 0, b"", error)


def _placed(place: int) -> tuple[int, int]:
    """Return the number of the task, and of the element in it."""
    return place >> _NUMBER_BITS, place & ((1 << _NUMBER_BITS) - 1)


def _split(texts: Texts) -> Iterator[bytes]:
    ends = memoryview(texts.ends).cast("i")
    return (texts.data[start:end] for start, end in pairwise(ends))
