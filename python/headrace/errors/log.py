"""Errors of logs, streams and pipelines."""

from __future__ import annotations

from headrace.errors.error import HeadraceError, LockedError, LogDamagedError, PathError


class LogLockedError(LockedError):
    """Another process is writing the log."""

    WHAT = "{path}: {holder} is writing this log"
    ADVICE = "a log has one writer, wait until it is done, or write another log"


class LogBusyError(LogLockedError):
    """Another process is writing the log, and only it may compress or remove its segments."""

    WHAT = "{path}: {holder} is writing this log, and alone may change its segments"
    ADVICE = (
        "let it do so (`headrace log append --codec zstd --retain-age 7d "
        "--retain-bytes 10GiB`, or LogWriter), or wait until it is done"
    )


class LineGivenUpError(LogDamagedError):
    """A line of a log was given up in a repair; no line has its number any more."""

    ADVICE = "its remains are in quarantine/ beside the file"

    def __init__(self, path: str, offset: int, line: int) -> None:
        super().__init__(path, offset, f"line {line} was given up in a repair")
        self.args = (path, offset, line)
        self.line = line


class LogFileMissingError(LogDamagedError):
    """A file of a log is gone; it can be made again from the others."""

    ADVICE = "`headrace log recover` makes it again, as the next writer does"


class TornTailError(HeadraceError):
    """The last bytes of a log are not a whole record, and the caller forbade a repair."""

    WHAT = "{path}: byte {offset}: the last {length} bytes are no record: {reason}"
    ADVICE = "`headrace log recover --tail auto` moves them to quarantine/"

    path: str
    offset: int
    length: int
    reason: str


class BackupError(PathError):
    """A backup of a log cannot be used, or a file of it is not what was copied."""

    ADVICE = "`headrace log verify` checks all of a backup"


class BackupLossError(BackupError):
    """A backup has lines that the log has lost, so it was left as it is."""

    def __str__(self) -> str:
        return (
            f"{self.what}, so the backup was left as it is; restore the log "
            "from it (`headrace log restore`), back up to another directory, or give these "
            "lines up with --accept-loss (accept_loss=True)"
        )


class LogFailedError(PathError, OSError):
    """A writer of a log met a failure after which the content of the disk is unknown."""

    WHAT = "{path}: this writer has failed: {reason}"
    ADVICE = (
        "what was acknowledged is in the log, open another writer, which recovers it"
    )


class LogRemovedError(LogFailedError):
    """Files of a log were removed while it was written, and its lines with them."""

    ADVICE = (
        "bring the files back from a backup, or open another writer for a log without "
        "these lines"
    )


class LineOutOfRangeError(HeadraceError, IndexError):
    """A line that is not in the log: not yet, or no longer. Lines count from 1."""

    path: str
    line: int
    first: int
    last: int

    @property
    def what(self) -> str:
        """Which line, and which lines the log has."""
        if 1 <= self.line < self.first:
            return (
                f"{self.path}: line {self.line} was removed by retention; the log begins "
                f"with line {self.first}"
            )
        there = (
            f"it has lines {self.first} to {self.last}"
            if self.first <= self.last
            else "it has none"
        )
        return f"{self.path}: no line {self.line}; {there}"


class LinesGoneError(HeadraceError):
    """Lines that were to be read next are no longer in the log."""

    path: str
    first: int
    last: int

    @property
    def what(self) -> str:
        """Which lines."""
        count = self.last - self.first + 1
        if count == 1:
            return f"{self.path}: line {self.first} is gone"
        return f"{self.path}: lines {self.first} to {self.last} are gone, {count} lines"

    def __str__(self) -> str:
        return (
            f"{self.what}: retention removed them, or a repair gave them up; gone='skip' "
            "(--gone skip) goes on behind them"
        )


class LogReplacedError(PathError):
    """A log is not the one that was read before, or has lost lines that were read."""

    ADVICE = "begin again, a consumer with `headrace log consumers DIR --set NAME=0`"


class ConsumerBusyError(LockedError):
    """Another process reads the log as the same consumer."""

    WHAT = "{path}: {holder} reads as this consumer"
    ADVICE = "wait until it is done, or take another name"


class CheckpointDamagedError(PathError):
    """The file with the position of a consumer is not what was written."""

    ADVICE = (
        "set it with `headrace log consumers DIR --set NAME=LINE`, 0 to begin again"
    )


class StreamReplacedError(PathError):
    """A source of a stream is not the one it has read before."""

    ADVICE = "put back what was there, or begin anew with another checkpoint directory"


class StreamLossError(PathError):
    """Data is gone that a stream was yet to read."""

    ADVICE = "with option onDataLoss=skip the stream goes on without"


class StreamNotContinuedError(HeadraceError):
    """A batch does not follow the last batch of its stream in the set."""

    WHAT = "{path}: {reason}; {remedy}"

    path: str
    reason: str
    remedy: str


class UnaccountedRowsError(HeadraceError):
    """The counts of rows that were read and written differ; nothing was committed."""

    WHAT = "{path}: the rows do not add up, so nothing was committed: {counts}"
    ADVICE = "this is a bug of headrace: please report it"

    path: str
    counts: str


class PipelineRunningError(LockedError):
    """Another process is running a pipeline in the same directory."""

    WHAT = "{path}: {holder} is running a pipeline there"
    ADVICE = "wait until it is done, or give each pipeline its own directory"
