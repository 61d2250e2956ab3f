"""What tasks saw of a side before a shuffle, as the driver puts it together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.kernel.programs import Counts

if TYPE_CHECKING:
    from headrace.engines.spark.query.chunk_order import Arrived
    from headrace.engines.spark.query.survey_task import Looked
    from headrace.engines.spark.query.task import (
        RefusedRow,
        TaskQuery,
    )


@dataclass(slots=True)
class Seen:
    """What tasks saw of a side before a shuffle, asked `query`.

    `wrong` are its rows without an answer, `failed` the first of them that is not just no
    JSON; to abort, any is. `late`: an element has no key, and its row is not one of these.
    """

    query: TaskQuery
    size: int = 0
    counts: Counts = field(default_factory=Counts)
    objects: bool = True
    late: bool = False
    has_several: bool = False
    wrong: list[tuple[Arrived, RefusedRow]] = field(default_factory=list)
    failed: tuple[Arrived, RefusedRow] | None = None

    def add(self, arrived: Arrived, looked: Looked) -> None:
        """Take in a chunk."""
        chunk, aborts = arrived.chunk, self.query.options.on_error == "abort"
        self.size += looked.size
        self.counts += chunk.counts
        self.objects = self.objects and looked.objects
        self.late = self.late or looked.late
        if looked.elements > chunk.counts.emitted:
            self.has_several = True
        for row in chunk.refused:
            self.wrong.append((arrived, row))
            if self.failed is None and (aborts or row.refused.column is not None):
                self.failed = arrived, row
