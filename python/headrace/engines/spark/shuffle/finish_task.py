"""Chunks of elements behind a shuffle and all stages, in the order of their rows.

A task writes the elements as lines or reduces them, and counts their rows, each once, and the
rows that failed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from headrace.engines.spark.query.task import TaskRun
from headrace.engines.spark.query.task_query import Chunk, RefusedRow, TaskQuery
from headrace.kernel.programs import Counts, Refused
from headrace.kernel.rows import RowBatch
from headrace.physical.query_plan import ELEMENTS, StreamPlan


class Element(NamedTuple):
    """An element of a row; or the `reason` why the row failed, without a line.

    `offset` is the byte of the row in its source, `at` the byte of the error from there on.
    """

    task: int
    fragment: int
    row: int
    offset: int
    line: bytes | None
    reason: str | None = None
    column: int | None = None
    at: int | None = None


class ChunkMaker:
    """Makes chunks of the elements of one partition; `plan` is the plan behind the shuffle."""

    def __init__(self, query: TaskQuery, plan: StreamPlan) -> None:
        self._run = TaskRun(query)
        self._plan = replace(plan, source=ELEMENTS, stages=())
        self._nulls = query.form.nulls
        self._aborts = query.aborts
        self._last = self._failed = (-1, -1, -1)

    def chunks(self, elements: Iterable[Element]) -> Iterator[tuple[int, Chunk]]:
        """Yield chunks with the numbers of their tasks."""
        for (task, fragment), group in groupby(elements, key=itemgetter(0, 1)):
            yield task, self._chunk(task, fragment, list(group))

    def _chunk(self, task: int, fragment: int, elements: Sequence[Element]) -> Chunk:
        chunk = Chunk(fragment, 0)
        refused = {each.row: _refused(each) for each in elements if each.line is None}
        if self._aborts and refused:
            elements = [each for each in elements if each.row < min(refused)]
            refused = {min(refused): refused[min(refused)]}
        made = [
            each
            for each in elements
            if each.line is not None and each[:3] != self._failed
        ]
        if self._plan.reduction == "lines":
            made = [each for each in made if self._nulls or each.line != b"null"]
            chunk.lines = b"".join(b"%s\n" % each.line for each in made)
        else:
            refused |= self._reduced(chunk, made)
        self._count(chunk, {each[:3] for each in made}, task, refused)
        chunk.refused = [RefusedRow(refused[row], None) for row in sorted(refused)]
        return chunk

    def _reduced(self, chunk: Chunk, elements: Sequence[Element]) -> dict[int, Refused]:
        """Reduce elements; return the errors of rows with an element that cannot be reduced.

        As in a scan, the elements of such a row before that one are reduced.
        """
        query = self._run.reducing_query(self._plan)
        batch = RowBatch.of_contents(0, [each.line or b"" for each in elements])
        refused, start = dict[int, Refused](), 0
        while start < len(elements):
            answers = query.answer(batch, start)
            start = answers.end
            if answers.refused is not None:
                failed = elements[answers.refused.row]
                offset = failed.offset + answers.refused.offset
                reason = answers.refused.reason
                wrong = Refused(failed.row, offset, reason, self._plan.column)
                refused[failed.row], self._failed = wrong, failed[:3]
                while start < len(elements) and elements[start].row == failed.row:
                    start += 1
                if self._aborts:
                    break
        chunk.parts = (query.part(),)
        return refused

    def _count(
        self,
        chunk: Chunk,
        made: set[tuple[int, int, int]],
        task: int,
        refused: Iterable[int],
    ) -> None:
        """Count rows; the elements of one row may come in two batches."""
        failed = {(task, chunk.fragment, row) for row in refused}
        before = {self._last}
        used = len(made - failed - before) - len(failed & before)
        chunk.counts = Counts(used + len(failed), used, skipped=len(failed))
        if made:
            self._last = max(made)


def _refused(element: Element) -> Refused:
    assert element.reason is not None
    offset = element.offset + (element.at or 0)
    return Refused(element.row, offset, element.reason, element.column)
