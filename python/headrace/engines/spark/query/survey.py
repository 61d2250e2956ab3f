"""Survey of one side of a shuffle: the driver's sum of the surveys of all its chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.kernel.programs import Counts

if TYPE_CHECKING:
    from headrace.engines.spark.query.row_order import PlacedChunk
    from headrace.engines.spark.query.survey_task import Survey
    from headrace.engines.spark.query.task_query import RefusedRow, TaskQuery


@dataclass(slots=True)
class SideSurvey:
    """The survey of a side by `query`.

    `bad` are its refused rows; `failed` is the first of them that a program refused or that
    ends the query. `late`: an element has no key, and its row is not refused.
    """

    query: TaskQuery
    size: int = 0
    counts: Counts = field(default_factory=Counts)
    objects: bool = True
    late: bool = False
    has_several: bool = False
    bad: list[tuple[PlacedChunk, RefusedRow]] = field(default_factory=list)
    failed: tuple[PlacedChunk, RefusedRow] | None = None

    def add(self, placed: PlacedChunk, survey: Survey) -> None:
        """Add the survey of a chunk."""
        chunk = placed.chunk
        self.size += survey.size
        self.counts += chunk.counts
        self.objects = self.objects and survey.objects
        self.late = self.late or survey.late
        if survey.elements > chunk.counts.emitted:
            self.has_several = True
        for row in chunk.refused:
            self.bad.append((placed, row))
            fails = self.query.aborts or row.refused.column is not None
            if self.failed is None and fails:
                self.failed = placed, row
