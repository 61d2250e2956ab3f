"""The fragments of files in the order of their rows, and where a chunk of one stands.

Chunks arrive in that order, whichever task was first. So the number of a row in its file is
the number of rows in the chunks before it, and a bad row comes behind everything that stands
before it in the files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.engines.spark.asking import TaskRun
from headrace.engines.spark.splits import absolute, packed
from headrace.errors import BadRowError, RowFailedError, UnusableTableError
from headrace.physical.fragment import Fragment, fragments
from headrace.store.opened import read_in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.engines.spark.asking import Chunk, TaskQuery
    from headrace.errors import HeadraceError
    from headrace.kernel.programs import Refused
    from headrace.store.source import Source

MOST_TASKS = 1024
"""How many tasks run for one job: the next job begins when their answers have been taken."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A chunk, the fragment it is of, and how many rows of the file are before that.

    `number` is that of the fragment, in the order of the rows. `is_distrusted`: the file's
    blocks are not what their table says.
    """

    source: Source
    number: int
    fragment: Fragment
    before: int
    chunk: Chunk
    is_distrusted: bool = False

    def error(self, refused: Refused) -> BadRowError | RowFailedError:
        """Return what is wrong with a row that has no answer."""
        path, line = self.source.location, self.before + refused.row + 1
        if refused.column is None:
            return BadRowError(path, line, refused.offset, refused.reason)
        return RowFailedError(
            path, line, refused.offset, refused.reason, refused.column
        )

    def failure(self, error: HeadraceError) -> HeadraceError:
        """Return what went wrong with the file, by the name that it was given by."""
        path, *facts = error.args
        if path != self.fragment.source.location:
            return error
        return type(error)(self.source.location, *facts)

    def place(self, row: int, offset: int, *, reverse: bool) -> tuple[int | None, int]:
        """Return the line and the byte of something in a row that was passed on."""
        assert not reverse
        passed_on = self.chunk.passed_on[row]
        return self.before + passed_on.position + 1, passed_on.offset + offset


class RowOrder:
    """The fragments of some files, numbered in the order of their rows.

    `partitions` are runs of numbers, each for one task. With `whole_files`, compressed
    files are not cut.
    """

    def __init__(
        self, sources: Sequence[Source], partition_bytes: int, *, whole_files: bool
    ) -> None:
        self.fragments: list[Fragment] = []
        self._sources = sources
        self._files: list[int] = []
        for file, source in enumerate(sources):
            placed = absolute(source)
            if whole_files:
                placed = replace(placed, blocks=False)
            cut = fragments(placed, partition_bytes)
            self.fragments += cut
            self._files += [file] * len(cut)
        numbers = iter(range(len(self.fragments)))
        self.partitions = [
            [next(numbers) for _ in partition]
            for partition in packed(self.fragments, partition_bytes)
        ]
        self._file = self._number = -1
        self._rows = self._before = 0
        self._distrusted: set[int] = set()

    def fragments_of(self, numbers: Sequence[int]) -> list[Fragment]:
        """Return the fragments that have these numbers."""
        return [self.fragments[number] for number in numbers]

    def arrived(self, query: TaskQuery, number: int, chunk: Chunk) -> Iterator[Arrived]:
        """Yield a chunk of a fragment with its place, the next in the order of rows.

        If the blocks of a file are not what their table says, the rest of it is asked here.
        """
        file, fragment = self._files[number], self.fragments[number]
        if file in self._distrusted:
            return
        if file != self._file:
            self._file, self._rows = file, 0
        if number != self._number:
            self._number, self._before = number, self._rows
        self._rows += chunk.rows
        arrived = Arrived(self._sources[file], number, fragment, self._before, chunk)
        if not isinstance(chunk.failure, UnusableTableError):
            yield arrived
            return
        self._distrusted.add(file)
        distrusted = replace(arrived, is_distrusted=True)
        yield replace(distrusted, chunk=replace(chunk, failure=None))
        source = read_in_order(self._sources[file], chunk.failure)
        whole = Fragment(source, 0, source.size)
        for rest in TaskRun(query).ask(whole, 0, first=self._rows):
            yield Arrived(source, number, whole, 0, rest)


def jobs_of(
    partitions: Sequence[list[int]], *, early: bool
) -> Iterator[Sequence[list[int]]]:
    """Divide partitions among jobs, the first ones small if they may be enough."""
    start, size = 0, 1 if early else MOST_TASKS
    while start < len(partitions):
        yield partitions[start : start + size]
        start, size = start + size, min(size * 2, MOST_TASKS)
