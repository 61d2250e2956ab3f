"""Rows that a writer refused, in a file or as events.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.api.bad_rows import as_line
from headrace.cli.io.results import telling
from headrace.engines.query.options import BadRow
from headrace.errors import BadRowError, JsonTooLargeError
from headrace.store.files.atomic import destination, replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.cli.console import Console
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.write.record_writer import Refused as Error


class Refusals:
    """Reports refused rows of the batch that is being written."""

    def __init__(self, tell: Callable[[BadRow], object]) -> None:
        self.rows: RowBatch | None = None
        self._tell = tell

    def __call__(self, error: Error) -> None:
        """Report a row, with its bytes if there are any."""
        raw = None
        if isinstance(error, JsonTooLargeError):
            reason = (
                f"{error.length} bytes long, more than a file may have ({error.code})"
            )
            error = BadRowError(error.path, error.record, 0, reason)
        if not isinstance(error, BadRowError):
            raise error
        if self.rows is not None and error.line is not None:
            raw = self.rows.slice(error.line - 1 - self.rows.first_row, 1).contents()[0]
        self._tell(BadRow(error, raw))


@contextmanager
def collecting(path: str | None, console: Console) -> Iterator[Refusals]:
    """Write refused rows to a file, which appears when it is complete, or emit events."""
    if path is None:
        yield Refusals(telling(console))
        return
    with replacing(destination(path)) as file:
        yield Refusals(lambda row: file.write(as_line(row)))
