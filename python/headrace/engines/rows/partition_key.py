"""Partition keys: the value of a row at a path is its partition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.kernel.programs import RowQuery
from headrace.physical.query_plan import RowPlan, plan_query

if TYPE_CHECKING:
    from headrace.kernel.rows import RowBatch


class PathKeys:
    """The values of rows at a path, found by the core."""

    def __init__(self, path: str, max_depth: int) -> None:
        if not all(str(path).split(".")):
            raise UsageError(
                f"partition_by {path!r}: it is a path such as 'user.country'"
            )
        self.key = path
        steps = "".join(f"[{json.dumps(step)}]" for step in path.split("."))
        plan = plan_query(f"${steps}", stream=False, distinct_by=None).main
        if not isinstance(plan, RowPlan):
            raise UsageError(f"partition_by {path!r}: it is not about each row")
        self._program = plan.program
        self._max_depth = max_depth

    def of(self, batch: RowBatch) -> tuple[list[bytes], tuple[int, int, str] | None]:
        """Return the value of each row as JSON, up to a row that is not JSON."""
        query = RowQuery(
            self._program,
            output="answer",
            nulls=True,
            limit=None,
            max_depth=self._max_depth,
        )
        answers = query.answer(batch, 0)
        values = iter(answers.lines.splitlines())
        refused = answers.refused
        count = answers.end if refused is None else answers.end - 1
        rows = batch.contents()[:count]
        found = [next(values) if row and not row.isspace() else b"null" for row in rows]
        if refused is None:
            return found, None
        return found, (refused.row - batch.first_row, refused.offset, refused.reason)
