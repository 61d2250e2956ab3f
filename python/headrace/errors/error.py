"""The base of every exception, bases that several share, and errors of files, rows and queries."""

from __future__ import annotations

import re
from typing import ClassVar, dataclass_transform

_PACKAGE = "headrace.errors"
"""Where programs, tracebacks and pickles find the exceptions."""


@dataclass_transform(eq_default=False)
class HeadraceError(Exception):
    """The base of all of them.

    A class lists its fields as annotations, as a dataclass does. All of them go to
    ``Exception.__init__``, and the text is made of them when it is needed, so that an error
    survives pickling from a Spark executor to the driver. `WHAT` and `ADVICE` are templates
    that are filled with the fields.
    """

    __module__ = _PACKAGE

    FIELDS: ClassVar[tuple[str, ...]] = ()
    WHAT: ClassVar[str] = "{reason}"
    ADVICE: ClassVar[str] = ""

    has_lines: ClassVar[bool] = False
    """Whether the text has line breaks that must be kept."""

    def __init_subclass__(cls) -> None:
        own = [
            name for name, kind in cls.__annotations__.items() if "ClassVar" not in kind
        ]
        cls.FIELDS = tuple(dict.fromkeys([*cls.FIELDS, *own]))
        if cls.__module__.startswith(_PACKAGE):
            cls.__module__ = _PACKAGE

    def __init__(self, *values: object, **named: object) -> None:
        facts = {
            name: getattr(type(self), name)
            for name in self.FIELDS
            if hasattr(type(self), name)
        }
        facts |= dict(zip(self.FIELDS, values, strict=False)) | named
        if len(values) > len(self.FIELDS) or facts.keys() != set(self.FIELDS):
            raise TypeError(
                f"{type(self).__name__} has fields {', '.join(self.FIELDS)}"
            )
        super().__init__(*(facts[name] for name in self.FIELDS))
        for name in self.FIELDS:
            setattr(self, name, facts[name])

    @property
    def what(self) -> str:
        """What happened and where, without what to do about it."""
        return self.WHAT.format_map(vars(self))

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.ADVICE.format_map(vars(self))

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.what, self.advice)))


class UsageError(HeadraceError):
    """The call itself is wrong; nothing was read."""

    reason: str


class PathError(HeadraceError):
    """Something is wrong with a file or directory."""

    WHAT = "{path}: {reason}"

    path: str
    reason: str


class ByteError(HeadraceError):
    """Something is wrong at a byte of a file."""

    WHAT = "{path}: {reason} (byte {offset})"

    path: str
    offset: int
    reason: str


class LockedError(HeadraceError):
    """Another process, the holder, has the lock."""

    WHAT = "{path}: {holder} has the lock"

    path: str
    holder: str


class HeadraceWarning(UserWarning):
    """Something the user should know, which does not stop the work."""

    __module__ = _PACKAGE


class MemoryWarning(HeadraceWarning):
    """A query holds most of the memory it may use."""

    __module__ = _PACKAGE


_SEGMENT = re.compile(r"(?:^|/)(\d{20})\.jsonl(?:\.\w+)?$")
"""A segment of a log: its name is the number of lines before it."""


_WIDTH = 72
"""Characters of a long line of a query that are shown around a mistake."""


class OnlyInOrderError(UsageError, TypeError):
    """Rows that can be read only once, in order, were to be counted or reached by number."""

    WHAT = "{reason}: its rows can be read only once, in order"
    ADVICE = (
        "iterate over them or query them; they cannot be counted or reached by number"
    )


class SourceNotFoundError(HeadraceError, FileNotFoundError):
    """There is no such file, or a pattern matches none."""

    path: str

    @property
    def what(self) -> str:
        """Which file or pattern."""
        if any(sign in self.path for sign in "*?["):
            return f"{self.path}: no file matches this pattern"
        return f"{self.path}: no such file; check the path"


class UnreadableError(PathError, OSError):
    """The operating system, or a remote store, refuses to read."""

    WHAT = "{path}: cannot be read: {reason}"


class RemoteDirectoryError(UnreadableError):
    """A URL is that of a directory."""


class UnwritableError(HeadraceError, OSError):
    """The operating system refuses to write. `left` says what is there now."""

    WHAT = "{path}: cannot be written: {reason}; {left}"

    path: str
    reason: str
    left: str

    def __init__(self, path: str, reason: str, left: str) -> None:
        super().__init__(path, reason, left)
        self.filename = path


class UncertainCommitError(UnwritableError):
    """An object store did not say whether it created the metadata that commits a set."""


class SpoolError(PathError, OSError):
    """Rows cannot be kept in a temporary file, which row numbers and types of columns need."""

    WHAT = "{path}: cannot keep rows there: {reason}"
    ADVICE = "name another directory in HEADRACE_SPOOL_DIR"


class NotNdjsonError(PathError):
    """The content is not newline-delimited JSON in UTF-8."""


class DamagedSourceError(ByteError):
    """Compressed data ends early or cannot be decoded; rows before it were delivered.

    Data that a decoder returns before it finds a wrong checksum may be wrong as well; only
    data that just ends is right up to its end.
    """

    @property
    def ends_early(self) -> bool:
        """Whether the data just ends."""
        return "ends too early" in self.reason

    @property
    def what(self) -> str:
        """What is wrong, where, and which rows can be relied on."""
        before = (
            "the rows before it are whole"
            if self.ends_early
            else "rows from somewhere before it on may be wrong"
        )
        return f"{self.path}: {self.reason} (compressed byte {self.offset}); {before}"

    def __str__(self) -> str:
        return f"{self.what}, fetch or write the file again"


class DamagedBlockError(DamagedSourceError):
    """A block of a compressed file cannot be decoded; all others can be read.

    `offset` is the byte of the file at which it begins, `rows` are the rows it has, None if
    they were not counted.
    """

    block: int
    rows: range | None

    @property
    def what(self) -> str:
        """What is wrong, where, and which rows are lost."""
        where = f"block {self.block}, compressed byte {self.offset}"
        lost = ""
        if self.rows is not None:
            lost = f"rows {self.rows.start} to {self.rows.stop - 1} of it are lost, "
        return (
            f"{self.path}: {self.reason} ({where}); {lost}the other blocks can be read"
        )


class UnusableTableError(ByteError):
    """The block table of a compressed file is wrong; its rows may be whole."""

    WHAT = "{path}: {reason} (compressed byte {offset})"
    ADVICE = "read it in order with blocks=False, or write it again"


class DecompressionLimitError(ByteError):
    """Compressed data decodes to more bytes than the limit allows."""

    WHAT = "{path}: {reason} (compressed byte {offset})"
    ADVICE = (
        "if you trust it, raise max_ratio (--max-ratio) or max_decoded (--max-decoded)"
    )


class SourceChangedError(ByteError):
    """The file is no longer the one that was opened."""

    ADVICE = "open it again"


class _RowError(HeadraceError):
    """Something is wrong with a row. `line` is None where lines were not counted."""

    WHAT = "{path}: {place}: {reason}"

    path: str
    line: int | None
    offset: int

    @property
    def place(self) -> str:
        """The line, of a segment also in its log, and the byte of the file.

        >>> BadRowError("trades/00000000000000000700.jsonl", 3, 20, "").place
        'line 3 (line 703 of the log), byte 20'
        """
        byte = f"byte {self.offset}"
        if self.line is None:
            return byte
        segment = _SEGMENT.search(self.path)
        of_log = f" (line {int(segment[1]) + self.line} of the log)" if segment else ""
        return f"line {self.line}{of_log}, {byte}"

    @property
    def what(self) -> str:
        """What is wrong, and where."""
        return self.WHAT.format(place=self.place, **vars(self))


class BadRowError(_RowError, ValueError):
    """A line is not one JSON value.

    `cure` is the advice where the file looks like another format than JSON lines.
    """

    ADVICE = "on_error='skip' (--on-error skip) skips it"

    reason: str

    cure = ""

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.cure or super().advice


class UnreadRowError(BadRowError):
    """A bad line was to be returned as a value."""

    ADVICE = (
        "ds.raw has its bytes, ds.records(on_error='skip') and "
        "`headrace query --on-error skip` skip it"
    )


class StrictRowError(BadRowError):
    """A line is bad, and the reader is strict."""

    ADVICE = "strict (--strict) allows no such line"


class InvalidRecordError(BadRowError):
    """A line is JSON, but not the kind of record that was required."""

    ADVICE = "validation='trusted' does not check that"


class FaultyRowError(BadRowError):
    """A row of a Spark read does not match its schema, and mode FAILFAST stops at it."""

    ADVICE = "mode PERMISSIVE reads it, with the reason in `_error`"


class RowFailedError(_RowError):
    """A query cannot be computed on a row, which itself is good."""

    WHAT = "{path}: {place}: {reason} (column {column} of the query)"
    ADVICE = "on_error='skip' (--on-error skip) skips it, try … else … answers it"

    reason: str
    column: int


class LineTooLongError(_RowError, ValueError):
    """A line is over the limit."""

    WHAT = "{path}: {place}: {length} bytes long, over the limit of {limit}"
    ADVICE = "raise it with max_line (--max-line)"

    length: int
    limit: int


class RowOutOfRangeError(HeadraceError, IndexError):
    """A row number beyond the last row."""

    path: str
    row: int
    total: int

    @property
    def what(self) -> str:
        """Which row, and how many there are."""
        last = f"the last is row {self.total - 1}" if self.total else "there are none"
        return f"{self.path}: no row {self.row}; of {self.total} rows {last}"


class BadRecordError(HeadraceError, ValueError):
    """A record that was to be written is not one JSON value on one line.

    `record` is its number among the records given to the writer, from 1; `offset` is a byte of it.
    """

    WHAT = "{path}: record {record}, byte {offset}: {reason}"
    ADVICE = "on_error='skip' (--on-error skip) leaves it out"

    path: str
    record: int
    offset: int
    reason: str


class RefusedRecordError(BadRecordError):
    """A record was not appended to a log, because it is not one JSON value on one line.

    `record` is its number in the call, from 1; the records before it are in the log.
    """

    @property
    def advice(self) -> str:
        """Which records of the call are in the log."""
        before = self.record - 1
        if before == 0:
            return "no record was appended"
        are = (
            "record before it is" if before == 1 else f"{before} records before it are"
        )
        return f"the {are} in the log"


class UnwritableRecordError(HeadraceError, ValueError):
    """A row of a Spark frame cannot be written as a line of JSON.

    `partition` and `row` say where it is in the frame, both from 0.
    """

    WHAT = "{path}: row {row} of partition {partition} of the frame: {reason}"
    ADVICE = "nothing was written"

    path: str
    partition: int
    row: int
    reason: str


class JsonTooLargeError(HeadraceError, ValueError):
    """A record fits in no file that obeys the limit; nothing of it was written.

    `length` is None where the file has no room left for a record that would fit in
    another. `name` is the limit that was set, empty where no file can have such a line.
    """

    code = "ERR_JSON_TOO_LARGE"

    path: str
    record: int
    length: int | None
    name: str
    limit: int

    @property
    def what(self) -> str:
        """Which record is too long for which limit."""
        record = f"{self.path}: record {self.record}"
        if not self.name:
            return (
                f"{record}, {self.length} bytes long, is longer than the {self.limit} bytes "
                f"that a line can have ({self.code})"
            )
        limit = f"in a file of at most {self.limit} bytes ({self.code})"
        if self.length is None:
            return f"{record} does not fit any more {limit}"
        return f"{record}, {self.length} bytes long, does not fit {limit}"

    @property
    def advice(self) -> str:
        """What to do about it."""
        skip = "on_error='skip' (--on-error skip)"
        if not self.name:
            return f"{skip} leaves it out"
        more = f"raise {self.name} (--{self.name.replace('_', '-')}), or"
        if self.length is None:
            return f"{more} write a set of shards"
        return f"{more} leave it out with {skip}"


class BadSetError(PathError):
    """A set of shards does not match its metadata, or the metadata makes no sense."""

    ADVICE = "fetch or write the set again"


class EmptySetError(HeadraceError):
    """A set that has rows would be replaced by one that has none."""

    WHAT = (
        "{path}: nothing was written, and the set that is there has {records} rows; it "
        "stays. To replace it by nothing, give allow_empty=True (--allow-empty)"
    )

    path: str
    records: int


class SetLockedError(LockedError):
    """Another process is writing the set."""

    WHAT = "{path}: {holder} is writing this set"
    ADVICE = "wait until it is done, or write under another name"


class QuerySyntaxError(HeadraceError, ValueError):
    """The text is not a query; `offset` counts the characters before the mistake."""

    has_lines = True

    text: str
    offset: int
    reason: str
    hint: str = ""

    @property
    def line(self) -> int:
        """The line of the mistake, counted from 1."""
        return self.text.count("\n", 0, self.offset) + 1

    @property
    def column(self) -> int:
        """The column of the mistake in its line, counted from 1."""
        return self.offset - self.text.rfind("\n", 0, self.offset)

    @property
    def what(self) -> str:
        """The place of the mistake, and what it is."""
        return f"line {self.line}, column {self.column}: {self.reason}"

    def __str__(self) -> str:
        shown, caret = self._excerpt()
        lines = [self.what, f"  {shown}", f"  {caret}^"]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)

    def _excerpt(self) -> tuple[str, str]:
        """Return the line, or the part around the mistake, and the caret's indent."""
        start = self.offset - self.column + 1
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        at = self.column - 1

        cut = max(0, min(at - _WIDTH // 2, len(line) - _WIDTH))
        before = "…" if cut else ""
        after = "…" if cut + _WIDTH < len(line) else ""
        shown = before + line[cut : cut + _WIDTH] + after
        # A tab keeps its width whatever the terminal makes of it.
        lead = before + line[cut:at]
        caret = "".join("\t" if sign == "\t" else " " for sign in lead)
        return shown.replace("\r", " "), caret


class QueryMeaningError(QuerySyntaxError):
    """A query with the right syntax has an unknown function or source, or wrong arguments."""


class QueryFailedError(HeadraceError):
    """A query met a value it cannot be computed on. `offset` is a character of the query.

    `query` is empty where the place in it is not known.
    """

    ADVICE = "{cure}"

    query: str
    offset: int
    reason: str
    cure: str = ""

    @property
    def what(self) -> str:
        """Why, and where in the query."""
        if not self.query:
            return self.reason
        near = self.query[self.offset : self.offset + 40]
        return f"{self.reason}, at column {self.offset + 1} of the query: {near}"


class MemoryExceededError(HeadraceError):
    """A query that holds all its elements in memory has too many of them.

    `groups` is how many groups it has so far, if it has aggregates of groups.
    """

    WHAT = "the query must hold more than {limit} bytes of elements at once"
    ADVICE = "raise memory (--memory), or filter before it sorts, groups or joins"

    limit: int
    groups: int | None = None

    @property
    def what(self) -> str:
        """The limit, and what it has been too little for."""
        if self.groups is None:
            return super().what
        return (
            f"the aggregates of {self.groups} groups take more than {self.limit} bytes"
        )

    @property
    def advice(self) -> str:
        """What to do about it."""
        if self.groups is None:
            return super().advice
        return (
            "raise memory (--memory), filter before it groups, choose a key with fewer values, or "
            "let tasks of Spark merge them (--engine spark)"
        )


class MissingExtraError(HeadraceError, ImportError):
    """A package that only one feature needs is not installed."""

    WHAT = "{package} is not installed"
    ADVICE = "run: pip install 'headrace[{extra}]'"

    extra: str
    package: str


class LogDamagedError(ByteError):
    """A file of a log is not what was written, and a crash does not explain it."""

    WHAT = "{path}: byte {offset}: {reason}"
    ADVICE = (
        "bring the file back from a backup, or see what is left with "
        "`headrace log check` and give up the rest with `headrace log recover --repair`"
    )


class DamagedLineError(LogDamagedError):
    """A line of a log is not what was written; later lines may be."""

    ADVICE = (
        "bring the file back from a backup, or read past the line: "
        "`headrace log cat --on-error skip`, Log.range(on_error='skip')"
    )


class DamagedEntryError(LogDamagedError):
    """An entry of an index of a log is damaged; its line may be good."""

    ADVICE = "`headrace log recover --repair` makes it again from its line"
