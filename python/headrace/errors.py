"""Every exception that headrace raises on purpose.

Each says where, what, and what to do. All fields go to ``Exception.__init__`` and
the text is made in ``__str__``, so that an error survives the way from a Spark
executor to the driver.
"""

from __future__ import annotations

import re
from typing import ClassVar

_SEGMENT = re.compile(r"(?:^|/)(\d{20})\.jsonl(?:\.\w+)?$")
"""A file of a log, called by how many lines are before it."""


class HeadraceError(Exception):
    """The base of all of them; `has_lines` if the line breaks in its text are meant."""

    has_lines: ClassVar[bool] = False

    @property
    def what(self) -> str:
        """What happened and where, without what to do about it."""
        return str(self)


class UsageError(HeadraceError):
    """The call itself is wrong; nothing was read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class OnlyInOrderError(UsageError, TypeError):
    """Rows that come once, one after the other, were to be counted or reached by number."""

    def __str__(self) -> str:
        return (
            f"{self.reason}: its rows come in order and only once; "
            "they can be iterated over and asked, not counted or reached by number"
        )


class SourceNotFoundError(HeadraceError, FileNotFoundError):
    """There is no such file, or a pattern that matches none."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        if any(sign in self.path for sign in "*?["):
            return f"{self.path}: no file matches this pattern"
        return f"{self.path}: no such file; check the path"


class _OfPathError(HeadraceError):
    """Something is wrong with a file or directory."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


class _HeldError(HeadraceError):
    """Somebody else, the holder, is at work on something that one may be at a time."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(path, holder)
        self.path = path
        self.holder = holder


class UnreadableError(_OfPathError, OSError):
    """The operating system, or a remote store, does not let us read."""

    def __str__(self) -> str:
        return f"{self.path}: cannot be read: {self.reason}"


class RemoteDirectoryError(UnreadableError):
    """A URL is that of a directory."""


class NotNdjsonError(_OfPathError):
    """What is there is not newline-delimited JSON in UTF-8."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class _AtByteError(HeadraceError):
    """Something is wrong at a byte of a file."""

    def __init__(self, path: str, offset: int, reason: str) -> None:
        super().__init__(path, offset, reason)
        self.path = path
        self.offset = offset
        self.reason = reason


class DamagedSourceError(_AtByteError):
    """Compressed data ends early or cannot be decoded; rows before it were delivered.

    What a decoder gives before it finds a checksum wrong may be wrong as well; only
    data that just ends is right up to its end.
    """

    @property
    def ends_early(self) -> bool:
        """Whether the data just ends."""
        return "ends too early" in self.reason

    def __str__(self) -> str:
        before = (
            "the rows before it are whole"
            if self.ends_early
            else "rows from somewhere before it on may be wrong"
        )
        return (
            f"{self.path}: {self.reason} (compressed byte {self.offset}); "
            f"{before}, fetch or write the file again"
        )


class DamagedBlockError(DamagedSourceError):
    """A block of a compressed file cannot be decoded; all others can be read.

    `offset` is where it begins in the file, `rows` are those it has, None if nobody
    has counted them.
    """

    def __init__(
        self, path: str, offset: int, reason: str, block: int, rows: range | None
    ) -> None:
        super().__init__(path, offset, reason)
        self.args = (path, offset, reason, block, rows)
        self.block = block
        self.rows = rows

    def __str__(self) -> str:
        where = f"block {self.block}, compressed byte {self.offset}"
        lost = ""
        if self.rows is not None:
            lost = f"rows {self.rows.start} to {self.rows.stop - 1} of it are lost, "
        return (
            f"{self.path}: {self.reason} ({where}); {lost}the other blocks can be "
            "read, fetch or write the file again"
        )


class UnusableTableError(_AtByteError):
    """What a compressed file says of its blocks is wrong; its rows may be whole."""

    @property
    def what(self) -> str:
        """What is wrong, and where."""
        return f"{self.path}: {self.reason} (compressed byte {self.offset})"

    def __str__(self) -> str:
        return f"{self.what}; read it in order with blocks=False, or write it again"


class DecompressionLimitError(_AtByteError):
    """Compressed data stands for more than may be decoded."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.reason} (compressed byte {self.offset}); if you trust "
            "it, raise max_ratio (--max-ratio) or max_decoded (--max-decoded)"
        )


class SourceChangedError(_AtByteError):
    """The file is no longer the one that was opened."""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason} (byte {self.offset}); open it again"


def _line_told(path: str, line: int | None) -> str:
    """Return which line it is; of a segment of a log, in the log as well.

    >>> _line_told("trades/00000000000000000700.jsonl", 3)
    'line 3 (line 703 of the log), '
    """
    if line is None:
        return ""
    segment = _SEGMENT.search(path)
    of_log = f" (line {int(segment[1]) + line} of the log)" if segment else ""
    return f"line {line}{of_log}, "


class BadRowError(HeadraceError, ValueError):
    """A line is not one JSON value. `line` is None where it was not counted.

    `cure` is what helps, if the file looks like something else than JSON lines.
    """

    cure = ""

    def __init__(self, path: str, line: int | None, offset: int, reason: str) -> None:
        super().__init__(path, line, offset, reason)
        self.path = path
        self.line = line
        self.offset = offset
        self.reason = reason

    @property
    def what(self) -> str:
        """What is wrong, and where."""
        line = _line_told(self.path, self.line)
        return f"{self.path}: {line}byte {self.offset}: {self.reason}"

    def __str__(self) -> str:
        skip = "on_error='skip' (--on-error skip) passes over it"
        return f"{self.what}; {self.cure or skip}"


class UnreadRowError(BadRowError):
    """A line was to be a value, and is bad."""

    def __str__(self) -> str:
        return (
            f"{self.what}; ds.raw has its bytes, ds.records(on_error='skip') and "
            "`headrace query --on-error skip` pass over it"
        )


class StrictRowError(BadRowError):
    """A line is bad, and whoever reads it wants none."""

    def __str__(self) -> str:
        return f"{self.what}; strict (--strict) allows no such line"


class InvalidRecordError(BadRowError):
    """A line is JSON, but not a record as it was required."""

    def __str__(self) -> str:
        return f"{self.what}; validation='trusted' does not look at that"


class FaultyRowError(BadRowError):
    """A row of a Spark read is not as its schema says, and mode FAILFAST stops at it."""

    def __str__(self) -> str:
        return f"{self.what}; mode PERMISSIVE reads it, with the reason in `_error`"


class RowFailedError(HeadraceError):
    """A query cannot be computed on a row, which itself is good."""

    def __init__(
        self, path: str, line: int | None, offset: int, reason: str, column: int
    ) -> None:
        super().__init__(path, line, offset, reason, column)
        self.path = path
        self.line = line
        self.offset = offset
        self.reason = reason
        self.column = column

    @property
    def what(self) -> str:
        """What cannot be computed, and where."""
        line = _line_told(self.path, self.line)
        return (
            f"{self.path}: {line}byte {self.offset}: {self.reason} "
            f"(column {self.column} of the query)"
        )

    def __str__(self) -> str:
        advice = (
            "on_error='skip' (--on-error skip) passes over it, try … else … answers it"
        )
        return f"{self.what}; {advice}"


class LineTooLongError(HeadraceError, ValueError):
    """A line is over the limit. `line` is None where it was not counted."""

    def __init__(
        self, path: str, line: int | None, offset: int, length: int, limit: int
    ) -> None:
        super().__init__(path, line, offset, length, limit)
        self.path = path
        self.line = line
        self.offset = offset
        self.length = length
        self.limit = limit

    def __str__(self) -> str:
        line = _line_told(self.path, self.line)
        return (
            f"{self.path}: {line}byte {self.offset}: {self.length} bytes long, over the "
            f"limit of {self.limit}; raise it with max_line (--max-line)"
        )


class BadRecordError(HeadraceError, ValueError):
    """A record that was to be written is not one JSON value on one line.

    `record` counts from 1 what the writer was given, `offset` is a byte of it.
    """

    def __init__(self, path: str, record: int, offset: int, reason: str) -> None:
        super().__init__(path, record, offset, reason)
        self.path = path
        self.record = record
        self.offset = offset
        self.reason = reason

    @property
    def what(self) -> str:
        """What is wrong, and where."""
        return f"{self.path}: record {self.record}, byte {self.offset}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.what}; on_error='skip' (--on-error skip) leaves it out"


class UnwritableRecordError(HeadraceError, ValueError):
    """A row of a Spark frame cannot be written as a line of JSON.

    `partition` and `row` say where it is in the frame, both from 0.
    """

    def __init__(self, path: str, partition: int, row: int, reason: str) -> None:
        super().__init__(path, partition, row, reason)
        self.path = path
        self.partition = partition
        self.row = row
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{self.path}: row {self.row} of partition {self.partition} of the frame: "
            f"{self.reason}; nothing was written"
        )


class JsonTooLargeError(HeadraceError, ValueError):
    """A record fits in no file that obeys the limit; nothing of it was written.

    `length` is None where the file has no room left for a record that would fit in
    another. `name` is the limit that was set, empty where no file can have such a line.
    """

    code: ClassVar[str] = "ERR_JSON_TOO_LARGE"

    def __init__(
        self, path: str, record: int, length: int | None, name: str, limit: int
    ) -> None:
        super().__init__(path, record, length, name, limit)
        self.path = path
        self.record = record
        self.length = length
        self.name = name
        self.limit = limit

    def __str__(self) -> str:
        if not self.name:
            return (
                f"{self.path}: record {self.record}, {self.length} bytes long, is longer "
                f"than the {self.limit} bytes that a line can have ({self.code}); "
                "on_error='skip' (--on-error skip) leaves it out"
            )
        option = "--" + self.name.replace("_", "-")
        limit = f"a file of at most {self.limit} bytes ({self.code})"
        if self.length is None:
            return (
                f"{self.path}: record {self.record} does not fit any more in {limit}; "
                f"raise {self.name} ({option}), or write a set of shards"
            )
        return (
            f"{self.path}: record {self.record}, {self.length} bytes long, does not fit "
            f"in {limit}; raise {self.name} ({option}), or leave it out with "
            "on_error='skip' (--on-error skip)"
        )


class UnwritableError(HeadraceError, OSError):
    """The operating system does not let us write. `left` says what is there now."""

    def __init__(self, path: str, reason: str, left: str) -> None:
        super().__init__(path, reason, left)
        self.path = self.filename = path
        self.reason = reason
        self.left = left

    def __str__(self) -> str:
        return f"{self.path}: cannot be written: {self.reason}; {self.left}"


class SpoolError(_OfPathError, OSError):
    """What is decoded to be reached by row number cannot be kept in a temporary file."""

    def __str__(self) -> str:
        return (
            f"{self.path}: cannot keep decoded rows there: {self.reason}; name another directory "
            "in HEADRACE_SPOOL_DIR"
        )


class UncertainCommitError(UnwritableError):
    """An object store did not say whether it has created what commits a set."""


class BadSetError(_OfPathError):
    """A set of shards is not what its metadata says, or the metadata makes no sense."""

    @property
    def what(self) -> str:
        """What is wrong, and where."""
        return f"{self.path}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.what}; fetch or write the set again"


class EmptySetError(HeadraceError):
    """A set that has rows would be replaced by one that has none."""

    def __init__(self, path: str, records: int) -> None:
        super().__init__(path, records)
        self.path = path
        self.records = records

    def __str__(self) -> str:
        return (
            f"{self.path}: nothing was written, and the set that is there has {self.records} "
            "rows; it stays. To replace it by nothing, give allow_empty=True (--allow-empty)"
        )


class SetLockedError(_HeldError):
    """Somebody else is writing the set."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.holder} is writing this set; "
            "wait until it is done, or write under another name"
        )


class LogLockedError(_HeldError):
    """Somebody else is writing the log."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.holder} is writing this log; a log has one writer, "
            "wait until it is done, or write another log"
        )


class LogBusyError(LogLockedError):
    """Somebody is writing the log, and alone may compress or remove its segments."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.holder} is writing this log, and alone may change its "
            "segments; let it do so (`headrace log append --compress zstd --retain-age 7d "
            "--retain-bytes 10GiB`, or LogWriter), or wait until it is done"
        )


class LogDamagedError(_AtByteError):
    """A file of a log is not what was written, and that is not what a crash leaves."""

    @property
    def what(self) -> str:
        """What is wrong, and where."""
        return f"{self.path}: byte {self.offset}: {self.reason}"

    def __str__(self) -> str:
        return (
            f"{self.what}; bring the file back from a backup, or see what is left with "
            "`headrace log check` and give up the rest with `headrace log recover --repair`"
        )


class DamagedLineError(LogDamagedError):
    """A line of a log is not what was written; those behind it may be."""

    def __str__(self) -> str:
        return (
            f"{self.what}; bring the file back from a backup, or read past the line: "
            "`headrace log cat --on-error skip`, Log.range(on_error='skip')"
        )


class DamagedEntryError(LogDamagedError):
    """An entry of an index of a log is not good; its line may be."""

    def __str__(self) -> str:
        return (
            f"{self.what}; `headrace log recover --repair` makes it again from its line"
        )


class LineGivenUpError(LogDamagedError):
    """A line of a log was given up in a repair; no line has its number any more."""

    def __init__(self, path: str, offset: int, line: int) -> None:
        super().__init__(path, offset, f"line {line} was given up in a repair")
        self.args = (path, offset, line)
        self.line = line

    def __str__(self) -> str:
        return f"{self.what}; what was left of it is in quarantine/ beside the file"


class LogFileMissingError(LogDamagedError):
    """A file of a log is gone that follows from the others."""

    def __str__(self) -> str:
        return f"{self.what}; `headrace log recover` makes it again, as the next writer does"


class TornTailError(HeadraceError):
    """The last bytes of a log are no whole record, and were to be left as they are."""

    def __init__(self, path: str, offset: int, length: int, reason: str) -> None:
        super().__init__(path, offset, length, reason)
        self.path = path
        self.offset = offset
        self.length = length
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{self.path}: byte {self.offset}: the last {self.length} bytes are no record: "
            f"{self.reason}; `headrace log recover --tail auto` puts them aside"
        )


class BackupError(_OfPathError):
    """A backup of a log cannot be used, or a file of it is not what was copied."""

    @property
    def what(self) -> str:
        """What is wrong, and where."""
        return f"{self.path}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.what}; `headrace log verify` checks all of a backup"


class BackupLossError(BackupError):
    """A backup has lines that the log has lost, so it was left as it is."""

    def __str__(self) -> str:
        return (
            f"{self.what}, so the backup was left as it is; restore the log "
            "from it (`headrace log restore`), back up to another directory, or give these "
            "lines up with --accept-loss (accept_loss=True)"
        )


class RefusedRecordError(BadRecordError):
    """A record was not appended to a log, for it is not one JSON value on one line.

    `record` counts from 1 what the call was given; those before it are in the log.
    """

    def __str__(self) -> str:
        before = self.record - 1
        if before == 0:
            return f"{self.what}; no record was appended"
        are = (
            "record before it is" if before == 1 else f"{before} records before it are"
        )
        return f"{self.what}; the {are} in the log"


class LogFailedError(_OfPathError, OSError):
    """A writer of a log met a failure after which nobody knows what is on disk."""

    def __str__(self) -> str:
        return (
            f"{self.path}: this writer has failed: {self.reason}; what was acknowledged is "
            "in the log, open another writer, which recovers it"
        )


class LogRemovedError(LogFailedError):
    """Files of a log were removed while it was written, and its lines with them."""

    def __str__(self) -> str:
        return (
            f"{self.path}: this writer has failed: {self.reason}; bring the files back from "
            "a backup, or open another writer for a log without these lines"
        )


class LineOutOfRangeError(HeadraceError, IndexError):
    """A line that is not in the log: not yet, or no more. Lines count from 1."""

    def __init__(self, path: str, line: int, first: int, last: int) -> None:
        super().__init__(path, line, first, last)
        self.path = path
        self.line = line
        self.first = first
        self.last = last

    def __str__(self) -> str:
        there = (
            f"it has lines {self.first} to {self.last}"
            if self.first <= self.last
            else "it has none"
        )
        if 1 <= self.line < self.first:
            return (
                f"{self.path}: line {self.line} was removed by retention; the log begins "
                f"with line {self.first}"
            )
        return f"{self.path}: no line {self.line}; {there}"


class LinesGoneError(HeadraceError):
    """Lines that were to be read next are no longer in the log."""

    def __init__(self, path: str, first: int, last: int) -> None:
        super().__init__(path, first, last)
        self.path = path
        self.first = first
        self.last = last

    @property
    def what(self) -> str:
        """Which they are."""
        count = self.last - self.first + 1
        if count == 1:
            return f"{self.path}: line {self.first} is gone"
        return f"{self.path}: lines {self.first} to {self.last} are gone, {count} lines"

    def __str__(self) -> str:
        return (
            f"{self.what}: retention removed them, or a repair gave them up; gone='skip' "
            "(--gone skip) goes on behind them"
        )


class LogReplacedError(_OfPathError):
    """A log is not the one of which lines were read before, or has lost some of those."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.reason}; begin again, a consumer with `headrace log "
            "consumers DIR --set NAME=0`"
        )


class ConsumerBusyError(_HeldError):
    """Somebody else reads the log as the same consumer."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.holder} reads as this consumer; wait until it is done, "
            "or take another name"
        )


class CheckpointDamagedError(_OfPathError):
    """The file with the position of a consumer is not what was written."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.reason}; set it with `headrace log consumers DIR "
            "--set NAME=LINE`, 0 to begin again"
        )


class StreamReplacedError(_OfPathError):
    """What a stream reads is not what it has read before."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.reason}; put back what was there, or begin anew with "
            "another checkpoint directory"
        )


class StreamLossError(_OfPathError):
    """Something is gone that a stream was yet to read."""

    @property
    def what(self) -> str:
        """What is gone."""
        return f"{self.path}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.what}; with option onDataLoss=skip the stream goes on without"


class StreamNotContinuedError(HeadraceError):
    """A batch does not follow those of its stream that are in the set."""

    def __init__(self, path: str, reason: str, advice: str) -> None:
        super().__init__(path, reason, advice)
        self.path = path
        self.reason = reason
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; {self.advice}"


class PipelineRunningError(_HeldError):
    """Somebody else is running the pipeline, or another one in its directory."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.holder} is running a pipeline there; wait until it is "
            "done, or give each pipeline a directory of its own"
        )


class DuplicateKeyError(HeadraceError):
    """Two rows have a key that only one may have. `line` and `other` count from 1."""

    def __init__(self, path: str, key: str, line: int, other: int) -> None:
        super().__init__(path, key, line, other)
        self.path = path
        self.key = key
        self.line = line
        self.other = other

    def __str__(self) -> str:
        key = self.key if len(self.key) <= 100 else f"{self.key[:100]}…"
        return (
            f"{self.path}: lines {self.line} and {self.other} both have the key {key!r}; "
            "a unique index has one row for each; one that is not unique (--mode multi) has both"
        )


class KeyIndexError(HeadraceError):
    """A key index cannot be used; the data is not in doubt.

    `kind` is ``missing``, ``stale``, ``grown``, ``limits``, ``other``, ``locked``,
    ``corrupt``, ``newer``, ``foreign`` or ``taken``; of edges in ``several`` files, there is
    none. `build` has the options with which one is built that can be used.
    """

    _NAME: ClassVar = "key index"
    _BUILD: ClassVar = "--on KEY"
    _WORDS: ClassVar = {
        "source_modified": "the file was changed since it was made",
        "source_replaced": "the file is another one now",
        "source_truncated": "the file is shorter now",
        "source_grown": "the file has grown",
        "index_newer": "it was updated after the file was opened; open the file again",
        "source_unseekable": "the file cannot be entered in the middle any more",
        "source_end_changed": "the end of the file was changed",
        "set_replaced": "the set has other parts now",
        "set_grown": "the set has more parts now",
        "part_modified": "a part of the set was changed since it was made",
        "no_incoming_edges": "it has no incoming edges",
        "older_index": "it does not say how the file ended, as older ones do not",
        "buckets_full": "it has too many rows for the size that it was made for",
    }

    def __init__(
        self, path: str, index: str, kind: str, reason: str, build: str | None = None
    ) -> None:
        super().__init__(path, index, kind, reason, build)
        self.path = path
        self.index = index
        self.kind = kind
        self.reason = reason
        self.build = build or self._BUILD

    @property
    def what(self) -> str:
        """What is wrong, without what to do."""
        said = self._WORDS.get(self.reason, self.reason)
        place = [self.path] if self.kind == "several" else [self.path, self.index]
        return ": ".join([*place, said])

    def __str__(self) -> str:
        together = f"put them into one: `headrace query '$' {self.path} > edges.jsonl`"
        advice = {
            "several": together,
            "newer": "a newer headrace wrote it, use that one",
            "foreign": f"it is no {self._NAME}, name another place",
            "taken": "replace it with --force, or name another place",
            "locked": "wait until it is done",
        }.get(self.kind, f"run `headrace index build {self.path} {self.build}`")
        return f"{self.what}; {advice}"


class GraphIndexError(KeyIndexError):
    """A graph index cannot be used; the data is not in doubt."""

    _NAME: ClassVar = "graph index"
    _BUILD: ClassVar = "--graph --from FIELD --pred FIELD --to FIELD"


class KeyIndexLockedError(_HeldError):
    """Somebody else is writing the key index."""

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.holder} is writing this index; wait until it is done"
        )


class RowOutOfRangeError(HeadraceError, IndexError):
    """A row number beyond the last row."""

    def __init__(self, path: str, row: int, total: int) -> None:
        super().__init__(path, row, total)
        self.path = path
        self.row = row
        self.total = total

    def __str__(self) -> str:
        last = f"the last is row {self.total - 1}" if self.total else "there are none"
        return f"{self.path}: no row {self.row}; of {self.total} rows {last}"


class UnaccountedRowsError(HeadraceError):
    """Rows were read of which nobody knows what became; nothing was committed."""

    def __init__(self, path: str, counts: str) -> None:
        super().__init__(path, counts)
        self.path = path
        self.counts = counts

    def __str__(self) -> str:
        return (
            f"{self.path}: the rows do not add up, so nothing was committed: {self.counts}; "
            "this is a fault of headrace: please report it"
        )


class MissingExtraError(HeadraceError, ImportError):
    """A package that only one feature needs is not installed."""

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(extra, package)
        self.extra = extra
        self.package = package

    def __str__(self) -> str:
        return f"{self.package} is not installed; run: pip install 'headrace[{self.extra}]'"


class JavaNotFoundError(HeadraceError):
    """Spark cannot be started without Java."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"Spark needs Java 17 or later, but {self.reason}; install it "
            "(pip install 'headrace[jre]'; "
            "Debian, Ubuntu: apt-get install openjdk-17-jre-headless; "
            "macOS: brew install openjdk@17) or set JAVA_HOME"
        )


class SparkFailedError(HeadraceError):
    """Spark could not run tasks."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"Spark could not run the tasks: {self.reason}; see its log, and that every "
            "node has headrace and the files"
        )


class MasterUnreachableError(HeadraceError):
    """Nobody answers where Spark's master should be."""

    def __init__(self, master: str, reason: str) -> None:
        super().__init__(master, reason)
        self.master = master
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"no Spark master answers at {self.master}: {self.reason}; check the address, "
            "or start one there"
        )


class NotSharedError(HeadraceError):
    """Tasks on other machines would write where the driver may not see it."""

    def __init__(self, path: str, master: str) -> None:
        super().__init__(path, master)
        self.path = path
        self.master = master

    def __str__(self) -> str:
        return (
            f"{self.path}: tasks of {self.master} may run on other machines, and would "
            "write it there; name a directory that every machine sees at the same path, "
            f"and say that it is one: HEADRACE_SHARED={self.path}"
        )


class OtherVersionError(HeadraceError):
    """A node of the cluster has another headrace than the driver."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(found, wanted)
        self.found = found
        self.wanted = wanted

    def __str__(self) -> str:
        return (
            f"this node has headrace {self.found}, but the driver {self.wanted}; "
            "install the same version in the Python of every node (PYSPARK_PYTHON)"
        )


class QueryFailedError(HeadraceError):
    """A query met a value it cannot be computed on. `offset` is where in the query."""

    def __init__(self, query: str, offset: int, reason: str) -> None:
        super().__init__(query, offset, reason)
        self.query = query
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        near = self.query[self.offset : self.offset + 40]
        return f"{self.reason}, at column {self.offset + 1} of the query: {near}"


class MemoryExceededError(HeadraceError):
    """A query needs all its elements at once, and they are too many."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return (
            f"the query must hold more than {self.limit} bytes of elements at once; "
            "raise memory (--memory), or filter before it sorts, groups or joins"
        )


class JoinTooLargeError(HeadraceError):
    """The right side of a join does not fit into memory. `key` is what it is joined on."""

    def __init__(self, path: str, key: str, limit: int) -> None:
        super().__init__(path, key, limit)
        self.path = path
        self.key = key
        self.limit = limit

    def __str__(self) -> str:
        return (
            f"{self.path}: its rows take more than the {self.limit} bytes that a join may "
            f"hold; run `headrace index build {self.path} --on {self.key}`, which then "
            "leads to them, or raise memory (--memory)"
        )


class JoinKeyTooLargeError(HeadraceError):
    """One key of a join has more rows than a task may hold."""

    def __init__(self, key: str, limit: int) -> None:
        super().__init__(key, limit)
        self.key = key
        self.limit = limit

    def __str__(self) -> str:
        shown = self.key if len(self.key) <= 80 else f"{self.key[:80]}…"
        return (
            f"the rows of the right side with the key {shown} take more than {self.limit} "
            "bytes; raise memory (--memory), or filter them before the join"
        )


class HeadraceWarning(UserWarning):
    """Something that does not stop the work, and that somebody should know."""


class MemoryWarning(HeadraceWarning):
    """A query holds most of what it may hold."""
