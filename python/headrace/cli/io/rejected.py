"""Rows and records that a writer refused, in a file or as events.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from headrace.cli.io.results import telling
from headrace.engines.query.options import BadRow
from headrace.engines.rows.rejected import as_line, facts, reporting
from headrace.errors import (
    BadRowError,
    JsonTooLargeError,
    UsageError,
)
from headrace.store.files.atomic import unwritable
from headrace.store.log.names import is_within_log

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from headrace.cli.console import Console
    from headrace.errors import RefusedRecordError
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.write.record_writer import Refused as Error

_INPUT = "-"
"""The name of standard input."""


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
    with reporting(telling(console) if path is None else path) as tell:
        assert tell is not None
        yield Refusals(tell)


def refused_records(options: Namespace, console: Console) -> RefusedRecords | None:
    """Return the collector of bad lines, None if the first one ends the command."""
    policy = options.on_error
    if options.errors is not None:
        if policy not in (None, "collect"):
            raise UsageError(
                f"--errors keeps bad lines, and --on-error {policy} does not"
            )
        policy = "collect"
    if policy in (None, "abort"):
        return None
    file = None if options.errors is None else _opened(Path(options.errors))
    return RefusedRecords(
        console, file, most=options.max_record, tell=policy == "collect"
    )


def _opened(path: Path) -> BinaryIO:
    """Open a file for appending; each line is written when its record is refused."""
    if is_within_log(path.absolute()):
        raise UsageError(f"{path}: is in the directory of a log; name a file elsewhere")
    with unwritable(path, "nothing was appended"):
        return path.open("ab", buffering=0)


class RefusedRecords:
    """The bad lines of one run; with `tell`, each is reported.

    A line of more than `most` bytes is reported without its bytes.
    """

    def __init__(
        self, console: Console, file: BinaryIO | None, *, most: int, tell: bool
    ) -> None:
        self.count = 0
        self._console = console
        self._file = file
        self._most = most
        self._tell = tell

    def note(self, number: int, error: RefusedRecordError, line: bytes) -> None:
        """Count and report line `number` of the input, from 1."""
        self.count += 1
        if not self._tell:
            return
        raw = line if len(line) <= self._most else None
        known = facts(_INPUT, number, error.offset, error.reason, raw)
        if self._file is not None:
            self._file.write(as_line(known))
            return
        where = f"line {number} of the input, byte {error.offset}"
        self._console.emit("bad_row", f"{where}: {error.reason}", **known)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
