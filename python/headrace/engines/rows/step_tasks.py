"""Step tasks: each puts the rows of some fragments through all steps, into staged parts.

A task has a number, and each attempt at it writes files with other names. It returns plain data.
Rejected rows are staged too, with the number of their fragment: their line in the file is known
only when all earlier fragments have been read, so a second kind of task writes them with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from headrace.engines.rows import rejected as writing_down
from headrace.engines.rows.fragment import rows_of
from headrace.engines.rows.partition_key import PathKeys
from headrace.engines.rows.row_steps import RowSteps
from headrace.kernel.values import MAX_DEPTH, parse
from headrace.store.rows.row_file import BATCH_BYTES, BATCH_ROWS
from headrace.store.shards.write.line_writer import LineWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from headrace.engines.query.options import QueryOptions
    from headrace.engines.rows.row_steps import Rejected, Step, StepCounts
    from headrace.kernel.rows import RowBatch
    from headrace.physical.fragment import Fragment
    from headrace.store.rows.row_file import RowOptions
    from headrace.store.shards.job.job import Job
    from headrace.store.shards.metadata import Part

OTHER_REASONS = "other reasons"
_MOST_REASONS = 1000
"""Limit on the distinct reasons that a task counts."""


@dataclass(frozen=True, slots=True)
class RowsDone:
    """The result of a task; `rows` are the numbers of rows of its fragments.

    `rejected` is the file of rejected rows, if there are any.
    """

    parts: tuple[Part, ...]
    counts: tuple[StepCounts, ...]
    rows: tuple[int, ...]
    rejected: str | None


@dataclass(frozen=True, slots=True)
class RowTasks:
    """The tasks of a pass over rows; they stage rejected rows in the directory `staging`."""

    fragments: tuple[tuple[Fragment, ...], ...]
    steps: tuple[Step, ...]
    reading: RowOptions
    options: QueryOptions
    job: Job
    staging: Path

    def __call__(self, task: int) -> RowsDone:
        """Run one task."""
        steps = self._begun()
        path = self.job.partition_by
        keys = None if path is None else PathKeys(path, MAX_DEPTH)
        rows = [0] * len(self.fragments[task])
        rejected_file = _RejectedFile(self.staging / f"{task:08}-{uuid4().hex}.jsonl")
        with rejected_file, self.job.attempt(task, keys) as written:
            for number, fragment in enumerate(self.fragments[task]):
                for batch in self._batches(fragment):
                    lines, rejected = steps.take(batch)
                    written.write_lines(lines)
                    rejected_file.add(number, rows[number], fragment, batch, rejected)
                    rows[number] += len(batch)
            parts = written.close()
            return RowsDone(
                parts, tuple(steps.counts), tuple(rows), rejected_file.close()
            )

    def _begun(self) -> RowSteps:
        """Return the steps of the job; tasks of one process share the tables of joins."""
        name = self.job.home.token
        if name not in _kept:
            _kept.clear()
            _kept[name] = RowSteps(self.steps, self.reading, self.options)
        return _kept[name].anew()

    def _batches(self, fragment: Fragment) -> Iterator[RowBatch]:
        decoding = self.reading.decoding
        rows = rows_of(fragment, self.reading.max_line, decoding)
        while (batch := rows.next_batch(BATCH_ROWS, BATCH_BYTES)) is not None:
            yield batch


_kept: dict[str, RowSteps] = {}


class _RejectedFile:
    """A file of rejected rows, each with its fragment; created with the first row."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: LineWriter | None = None

    def add(
        self,
        number: int,
        before: int,
        fragment: Fragment,
        batch: RowBatch,
        rejected: Sequence[Rejected],
    ) -> None:
        """Write rows of a batch, which has `before` rows before it in the fragment."""
        for each in rejected:
            (raw,) = batch.slice(each.position, 1).contents()
            line = before + each.position + 1
            path = fragment.source.location
            facts = writing_down.facts(path, line, each.offset, each.reason, raw)
            if self._writer is None:
                self._writer = LineWriter(self._path, validate=False)
            self._writer.write([number, each.kind, {"stage": each.step, **facts}])

    def close(self) -> str | None:
        """Finish the file, and return its name if there is one."""
        if self._writer is None:
            return None
        self._writer.close()
        return self._path.name

    def __enter__(self) -> _RejectedFile:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._writer is not None:
            self._writer.abort()  # does nothing if it was closed


@dataclass(frozen=True, slots=True)
class Numbering:
    """A file of rejected rows to write with their line numbers.

    `before` has the number of rows of the file before each fragment.
    """

    rejected: Path
    before: tuple[int, ...]
    target: Path


@dataclass(frozen=True, slots=True)
class NumberingTasks:
    """The tasks that write rejected rows with their line numbers."""

    files: tuple[Numbering, ...]

    def __call__(self, task: int) -> dict[str, int]:
        """Run one task, and return the number of rejected rows for each reason.

        Reasons of queries may contain values of rows, so the number of reasons is limited.
        """
        file = self.files[task]
        reasons: dict[str, int] = {}
        with file.rejected.open("rb") as rows, LineWriter(file.target) as written:
            for row in rows:
                number, kind, facts = cast(
                    "tuple[int, str, dict[str, Any]]", parse(row)
                )
                facts["line"] += file.before[number]
                written.write_lines(writing_down.as_line(facts))
                reason = f"{facts['stage']}: {kind}"
                if reason not in reasons and len(reasons) >= _MOST_REASONS:
                    reason = OTHER_REASONS
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons
