"""Lines of the input that are not JSON, left out of a log and reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import BinaryIO

    from headrace.cli.console import Console
    from headrace.errors import RefusedRecordError

_INPUT = "-"
"""The name of standard input."""


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
    from headrace.errors import UnwritableError
    from headrace.store.log.names import is_within_log

    if is_within_log(path.absolute()):
        raise UsageError(f"{path}: is in the directory of a log; name a file elsewhere")
    try:
        return path.open("ab", buffering=0)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwritableError(str(path), reason, "nothing was appended") from error


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
        from headrace.engines.rows.rejected import as_line, facts

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
