"""Groups of elements behind a shuffle that sorts them by key; the key is the group's name.

A group has the place of its first element. It is passed on in pieces as its elements come,
unless the query maps groups: then a task holds one whole group at a time.
"""

from __future__ import annotations

from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import HeadraceError, MemoryExceededError
from headrace.kernel.programs import Program, RowQuery, Sources
from headrace.kernel.rows import rows_of
from headrace.kernel.values import DEEPEST
from headrace.physical.query_plan import GroupPlan, whole_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.engines.spark.query.task_query import TaskQuery

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
