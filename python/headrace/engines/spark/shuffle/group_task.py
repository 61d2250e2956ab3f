"""Groups behind a shuffle: of elements, or of groups of tasks, which are sorted by key and place.

The key is the group's name.

A group has the place of its first element. It is passed on in pieces as its elements come,
unless the query maps groups: then a task holds one whole group at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from operator import itemgetter
from typing import NamedTuple

from headrace.engines.spark.query.task import TaskRun
from headrace.engines.spark.query.task_query import MergeShuffle, TaskQuery
from headrace.engines.spark.shuffle.stage_task import each_stages, known_sources
from headrace.errors import HeadraceError, MemoryExceededError, QueryFailedError
from headrace.kernel.programs import Program, RowQuery, Sources, Texts
from headrace.kernel.rows import RowBatch, rows_of
from headrace.kernel.sort_keys import KeyedRows
from headrace.kernel.values import DEEPEST
from headrace.physical.query_plan import GroupPlan, StreamPlan, whole_row

_CHECKED_TOGETHER = 64
"""The number of elements whose keys are checked together."""

_PIECE_BYTES = 4096
"""A piece ends at this size, so that the sample by which Spark divides pieces is fair."""


class Member(NamedTuple):
    """An element with the key of its group, and its place."""

    task: int
    number: int
    key: bytes
    line: bytes


class Piece(NamedTuple):
    """A part of the text of a group: the place of the group, and its own place in that.

    The first piece of an entry of an object begins with a comma. A group that fails has one
    piece, the error. Pieces of a lower `stage` come first.
    """

    stage: int
    task: int
    number: int
    place: int
    text: bytes
    failure: HeadraceError | None = None


class GroupMaker:
    """Makes groups of elements that are sorted by key and place."""

    def __init__(self, query: TaskQuery, plan: GroupPlan) -> None:
        self._plan = plan
        self._max_memory = query.options.max_memory
        self._key = Program("", plan.key)
        self._sources = (
            None if query.known is None else Sources(list(query.known), DEEPEST)
        )

    def pieces(self, members: Iterable[Member]) -> Iterator[Piece]:
        """Yield the pieces of all groups."""
        for _key, group in groupby(members, key=itemgetter(2)):
            yield from self._group(group)

    def _group(self, members: Iterator[Member]) -> Iterator[Piece]:
        first = next(members)
        name = self._key.evaluate(first.line, DEEPEST, self._sources)
        lines = self._checked(first.line, (each.line for each in members))
        texts = self._texts(name, first.line, lines)
        try:
            for place, text in enumerate(texts):
                yield Piece(1, first.task, first.number, place, text)
        except HeadraceError as error:
            yield Piece(0, first.task, first.number, 0, b"", error)

    def _checked(self, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
        """Yield elements of a group; raise if the type of a key differs from that of the first."""
        check = self._plan.check
        while some := list(islice(rest, _CHECKED_TOGETHER)):
            document = b"[%s]" % b",".join([first, *some])
            check.evaluate(document, DEEPEST, self._sources)
            yield from some

    def _texts(
        self, name: bytes, first: bytes, rest: Iterator[bytes]
    ) -> Iterator[bytes]:
        entry = _entry(name, first, rest)
        each = self._plan.each
        if each is None:
            yield from entry
            return
        held, size = [], 0
        for text in entry:
            held.append(text)
            size += len(text)
            if size > self._max_memory:
                raise MemoryExceededError(self._max_memory)
        document = b"{%s}" % b"".join(held)[1:]
        made = each.evaluate(document, DEEPEST, self._sources)
        yield from (
            _elements(made) if self._plan.gives == "elements" else [b"," + made[1:-1]]
        )


def _entry(name: bytes, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the entry of a group, whose value is the array of all elements."""
    held, size = [b",%s:[%s" % (name, first)], len(first)
    for line in rest:
        if size >= _PIECE_BYTES:
            yield b",".join(held)
            # The next piece begins with a comma.
            held, size = [b""], 0
        held.append(line)
        size += len(line)
    yield b",".join(held) + b"]"


def _elements(value: bytes) -> Iterator[bytes]:
    """Yield the elements of an array as lines."""
    query = RowQuery(
        whole_row(), output="elements", nulls=True, limit=None, max_depth=DEEPEST
    )
    for batch in rows_of(value):
        yield query.answer(batch, 0).lines


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
        one_object = self._shuffle.one_object
        positions = memoryview(made.positions).cast("i")
        for at, (position, line) in enumerate(
            zip(positions, _split(made.lines), strict=True)
        ):
            text = b"," + line[1:-1] if one_object else line + b"\n"
            pieces.append(Piece(3, *_placed(firsts[position]), at, text))
        return pieces


def _failed(stage: int, place: int, error: HeadraceError) -> Piece:
    return Piece(stage, *_placed(place), 0, b"", error)


def _placed(place: int) -> tuple[int, int]:
    """Return the number of the task, and of the element in it."""
    return place >> _NUMBER_BITS, place & ((1 << _NUMBER_BITS) - 1)


def _split(texts: Texts) -> Iterator[bytes]:
    ends = memoryview(texts.ends).cast("i")
    return (texts.data[start:end] for start, end in pairwise(ends))
