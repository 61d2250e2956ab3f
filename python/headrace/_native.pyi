from collections.abc import Callable, Sequence
from os import PathLike
from typing import Literal, Self, TypeAlias, final

from typing_extensions import disjoint_base

from headrace.kernel.arrow.lines import Column
from headrace.kernel.graph import EdgeFields, GraphPlan
from headrace.kernel.index_meta import SourceMark
from headrace.kernel.join import Form, RightIndex
from headrace.kernel.key_index import Kept, Plan
from headrace.kernel.log import Place
from headrace.kernel.programs import Frame
from headrace.kernel.rows import Decoding

__all__ = [
    "AnswerColumns",
    "Answers",
    "BadBlock",
    "BlockTable",
    "Cancel",
    "ColumnBuffers",
    "ColumnBuilder",
    "ColumnFault",
    "ColumnLines",
    "Compressor",
    "Counts",
    "Decoded",
    "EdgeScan",
    "File",
    "FilledColumns",
    "GraphAccess",
    "GraphColumns",
    "GraphExpansion",
    "GraphIndex",
    "GraphRuns",
    "GroupParts",
    "IndexBuild",
    "Inference",
    "JoinTable",
    "KernelError",
    "KeyCandidates",
    "KeyIndex",
    "KeyPackets",
    "KeyRequest",
    "KeyRuns",
    "KeyScan",
    "KeyedElements",
    "KeyedRows",
    "LargeTexts",
    "LineRefusal",
    "LogChecking",
    "LogClock",
    "LogEntry",
    "LogLines",
    "LogMerge",
    "LogTail",
    "MergedGroups",
    "Packer",
    "Program",
    "ReachedColumns",
    "Reader",
    "Refused",
    "RowBatch",
    "RowIndex",
    "RowJoin",
    "RowQuery",
    "RowRefusal",
    "RowStream",
    "ScannedEdges",
    "SealedIndex",
    "Shard",
    "SidecarSource",
    "SiftedRow",
    "SortedLines",
    "Sources",
    "Stage",
    "StreamQuery",
    "Tally",
    "Texts",
    "ValueSplitter",
    "WantedKeys",
    "__version__",
    "available_threads",
    "builtins",
    "cells",
    "codec_table",
    "codecs",
    "count_rows",
    "crc32c",
    "csv_header",
    "csv_records",
    "digest",
    "foreign_format",
    "format_problem",
    "graph_columns",
    "has_blocks",
    "hash_all",
    "hash_blocks",
    "log_entry",
    "log_lines_between",
    "log_time_span",
    "new_columns",
    "parse",
    "reach_back",
    "reached_columns",
    "rows_at",
    "sniff",
    "unknown_group",
    "verify_log",
    "verify_log_lines",
    "write_graph_index",
    "write_key_index",
    "wrong_literal",
]

__version__: str
_Bytes: TypeAlias = bytes

class KernelError(Exception): ...

def new_columns(lines: bytes, known: Sequence[str] = ...) -> list[str]:
    """Return the columns of lines of JSON that are not `known`, in the order they are met."""

def cells(
    lines: bytes, columns: Sequence[str]
) -> tuple[list[list[str | None]], list[tuple[int, str]]]:
    """Return the cells of each line, None for null and what is missing.

    Strings are as they are, all else is JSON. Second come the unknown columns, each with
    the position of the first line that has it.
    """

def csv_header(columns: Sequence[str]) -> bytes:
    """Return the names of columns as comma-separated values."""

def csv_records(lines: bytes, columns: Sequence[str]) -> tuple[bytes, int, str | None]:
    """Return lines as comma-separated values, and how many they are.

    They end before a line with another column, whose name is third.
    """

@final
class Cancel:
    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

@final
class ColumnLines:
    @staticmethod
    def objects(batch: Column, skip_nulls: bool, null_for_nan: bool) -> ColumnLines: ...
    @staticmethod
    def as_they_are(column: Column) -> ColumnLines: ...
    def next(self, enough: int) -> tuple[_Bytes, tuple[int, str, str] | None]: ...

@final
class Compressor:
    def __new__(cls, codec: str) -> Compressor: ...
    def add(self, data: bytes) -> bytes: ...
    def finish(self) -> bytes: ...

@final
class Packer:
    def __new__(
        cls,
        codec: str,
        *,
        level: int,
        values: list[int],
        block_bytes: int,
        max_bytes: int | None = None,
        max_logical_bytes: int | None = None,
        max_records: int | None = None,
        max_depth: int | None = None,
        threads: int = 1,
    ) -> Packer: ...
    def add(
        self, data: bytes, start: int = 0
    ) -> tuple[list[tuple[bytes, Shard | None]], LineRefusal | None]: ...
    def add_rows(
        self, batch: RowBatch, start: int = 0
    ) -> tuple[list[tuple[bytes, Shard | None]], RowRefusal | None]: ...
    def finish(self, *, always: bool = False) -> list[tuple[bytes, Shard | None]]: ...
    def rest(self) -> None: ...
    @property
    def records(self) -> int: ...
    @property
    def blank(self) -> int: ...
    @property
    def logical_bytes(self) -> int: ...

@final
class LineRefusal:
    begin: int
    end: int
    kind: str
    offset: int
    reason: str
    def __new__(
        cls, begin: int, end: int, kind: str, offset: int, reason: str
    ) -> LineRefusal: ...

@final
class RowRefusal:
    position: int
    kind: str
    offset: int
    reason: str
    def __new__(
        cls, position: int, kind: str, offset: int, reason: str
    ) -> RowRefusal: ...

@final
class Shard:
    @property
    def records(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def logical_bytes(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def checkpoints(self, file: File) -> _Bytes: ...

def codec_table() -> list[
    tuple[
        str,
        str,
        tuple[int, int, int] | None,
        list[tuple[str, int, int]],
    ]
]: ...
def wrong_literal(parameter: str, text: str) -> str | None: ...
def available_threads() -> int: ...
def builtins() -> list[
    tuple[
        str,
        list[str],
        str,
        list[tuple[str, str, bool]],
        int,
        str,
        list[tuple[str, str, str]],
    ]
]: ...
def codecs() -> list[str]: ...
def format_problem(spec: str) -> str | None:
    """Return why a format of an f-string means nothing; None if it does."""

def unknown_group(pattern: str, template: str) -> str | None:
    """Return the first group that a template names and its pattern has not."""

def crc32c(data: bytes) -> int: ...
def digest(file: File, size: int) -> str:
    """Return the XXH3 of the first `size` bytes of a file, as metadata has it."""

def foreign_format(head: bytes) -> str | None: ...
def sniff(head: bytes) -> str: ...
def has_blocks(codec: str, head: bytes, tail: bytes) -> bool: ...
def parse(line: bytes, max_depth: int = 256) -> object:
    """Return the value of a line, None if it is blank."""

def count_rows(file: File, size: int, start: int, end: int) -> int: ...
def reach_back(
    file: File, *, start: int = 0, end: int, max_rows: int, max_bytes: int
) -> tuple[int, int]: ...

@final
class File:
    def __new__(cls, path: str | PathLike[str]) -> File: ...
    @staticmethod
    def remote(
        read_at: Callable[[int, int], bytes], stat: Callable[[], tuple[int, int, int]]
    ) -> File: ...
    def stat(self) -> tuple[int, int, int]: ...
    def read_at(self, offset: int, length: int) -> bytes: ...
    def identity(self) -> str: ...
    def fingerprint(self, size: int) -> tuple[str, str]: ...
    def checked(
        self, index: File, place: tuple[int, int, int], rows: int, positions: bool
    ) -> File: ...
    @property
    def checked_size(self) -> int | None: ...
    @property
    def bytes_read(self) -> int: ...

@final
class BadBlock:
    block: int
    offset: int
    rows: tuple[int, int] | None
    reason: str

@final
class BlockTable:
    @staticmethod
    def find(file: File, codec: str, size: int) -> BlockTable | None: ...
    def decoded(
        self,
        file: File,
        size: int,
        decoding: Decoding | None = None,
        *,
        strict: bool = False,
    ) -> File: ...
    def index(self) -> RowIndex | None: ...
    def at_physical(self, physical: int) -> tuple[int, int]: ...
    def at_offset(self, offset: int) -> tuple[int, int, int] | None: ...
    def at_row(self, row: int) -> tuple[int, int, int]: ...
    def encode(self, file: File, size: int, codec: str) -> bytes: ...
    def check(self, file: File, start: int, stop: int) -> list[BadBlock]: ...
    def __len__(self) -> int: ...
    @property
    def counted(self) -> bool: ...
    @property
    def logical_size(self) -> int: ...

@final
class Decoded:
    def __new__(
        cls,
        source: File | Reader,
        codec: str,
        *,
        size: int,
        decoding: Decoding | None = None,
    ) -> Decoded: ...
    def read(self, most: int = ...) -> bytes: ...

@final
class Reader:
    def __new__(cls, path: str | PathLike[str]) -> Reader: ...
    @staticmethod
    def stdin() -> Reader: ...
    @staticmethod
    def of_bytes(data: bytes) -> Reader: ...
    @staticmethod
    def calling(read: Callable[[int], bytes]) -> Reader: ...
    def peek(self, length: int) -> bytes: ...

@final
class RowStream:
    def __new__(
        cls,
        source: File | Reader,
        codec: str,
        *,
        size: int,
        start: int = 0,
        end: int = ...,
        first_row: int = 0,
        max_line: int,
        at_row: bool = False,
        decoding: Decoding | None = None,
        ends_at_long_row: bool = False,
    ) -> RowStream: ...
    @property
    def offset(self) -> int: ...
    def skip_rows(self, count: int) -> None: ...
    def next_batch(self, max_rows: int, max_bytes: int) -> RowBatch | None: ...

@final
class ValueSplitter:
    def __new__(
        cls, *, max_value: int, max_depth: int, keeps_arrays: bool, aborts: bool
    ) -> ValueSplitter: ...
    def feed(
        self, text: bytes
    ) -> tuple[bytes, list[tuple[int, int, str, bytes | None]]]: ...
    @property
    def counts(self) -> tuple[int, int]: ...

@final
class RowBatch:
    @staticmethod
    def of_contents(first_row: int, contents: list[bytes]) -> RowBatch: ...
    def __len__(self) -> int: ...
    @property
    def first_row(self) -> int: ...
    @property
    def offsets(self) -> list[int]: ...
    @property
    def too_long(self) -> list[tuple[int, int]]: ...
    def contents(self) -> list[bytes | None]: ...
    def lines(self) -> bytes: ...
    def slice(self, start: int, count: int) -> RowBatch: ...
    def values(
        self, max_depth: int, *, start: int = 0, skip_blank: bool = False
    ) -> tuple[list[object], tuple[int, int, str] | None]: ...
    def arrow_buffers(self) -> tuple[bytes, bytes]: ...
    def offsets_buffer(self) -> bytes: ...

@disjoint_base
class Tally:
    def __new__(cls, path: str, max_depth: int) -> Self: ...
    def add(self, batch: RowBatch) -> None: ...
    def advance(self, stream: RowStream) -> bool: ...
    @property
    def counts(self) -> tuple[int, int, int, int, int]: ...
    @property
    def first_bad(self) -> list[tuple[str, int, int, str]]: ...

@final
class SidecarSource:
    size: int
    mtime_ns: int
    ctime_ns: int
    head_hash: str
    tail_hash: str
    codec: str
    file: str

@final
class RowIndex:
    def __new__(cls, interval: int) -> RowIndex: ...
    @staticmethod
    def known(
        interval: int,
        offsets: list[int],
        total_rows: int,
        size: int,
        *,
        terminated: bool = True,
        bom: bool = False,
    ) -> RowIndex: ...
    @staticmethod
    def load(
        path: str | PathLike[str],
    ) -> tuple[RowIndex, SidecarSource]: ...
    @staticmethod
    def from_bytes(
        data: bytes,
    ) -> tuple[RowIndex, SidecarSource]: ...
    @property
    def blocks(self) -> BlockTable | None: ...
    def encode(self, file: File, stat: tuple[int, int, int], codec: str) -> bytes: ...
    def resume(self) -> RowIndex: ...
    def checkpoint(self, row: int) -> tuple[int, int]: ...
    def checkpoints(self) -> list[int]: ...
    @property
    def total_rows(self) -> int: ...
    @property
    def scanned(self) -> int: ...
    @property
    def terminated(self) -> bool: ...
    @property
    def bom(self) -> bool: ...
    @property
    def complete(self) -> bool: ...
    def read(
        self,
        file: File,
        *,
        size: int,
        first: int,
        count: int,
        max_line: int,
        max_bytes: int,
    ) -> RowBatch: ...

@final
class IndexBuild:
    def __new__(
        cls,
        source: File | Reader,
        codec: str,
        *,
        size: int,
        index: RowIndex,
        copy_dir: str | PathLike[str] | None = None,
        decoding: Decoding | None = None,
    ) -> IndexBuild: ...
    def advance(self, max_bytes: int) -> bool: ...
    @property
    def copy(self) -> File | None: ...

@final
class Program:
    """A query that is ready to run: its text and its code. It can be sent to another process."""

    def __new__(cls, query: str, code: bytes) -> Program: ...
    def __getnewargs__(self) -> tuple[str, bytes]: ...
    @property
    def query(self) -> str: ...
    @property
    def code(self) -> bytes: ...
    def evaluate(
        self, document: bytes, max_depth: int, sources: Sources | None = None
    ) -> bytes:
        """Return the answer over one document, as JSON."""

@final
class Sources:
    def __new__(cls, values: list[str], max_depth: int) -> Sources: ...

@final
class JoinTable:
    @property
    def held(self) -> int: ...
    def keys(self, most: int) -> list[bytes] | None: ...

@final
class Stage:
    @staticmethod
    def plain(kind: str, code: bytes | None, count: int) -> Stage: ...
    @staticmethod
    def join(kind: str, key: bytes, table: JoinTable, name: str | None) -> Stage: ...
    @staticmethod
    def table(kind: str | None, key: bytes, wanted: JoinTable | None) -> Stage: ...
    @staticmethod
    def zip(more: Callable[[], bytes], longest: bool) -> Stage: ...

@final
class Counts:
    rows: int
    emitted: int
    filtered: int
    skipped: int
    blank: int
    outside: int
    def __new__(
        cls,
        rows: int = 0,
        emitted: int = 0,
        filtered: int = 0,
        skipped: int = 0,
        blank: int = 0,
        outside: int = 0,
    ) -> Counts: ...
    def __add__(self, value: Counts, /) -> Counts: ...
    def __radd__(self, value: Counts, /) -> Counts: ...
    def __sub__(self, value: Counts, /) -> Counts: ...
    def __rsub__(self, value: Counts, /) -> Counts: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs__(self) -> tuple[int, int, int, int, int, int]: ...

@final
class Refused:
    """A row that has no answer. `column` is where in the query, if the row is good."""

    row: int
    offset: int
    reason: str
    column: int | None
    def __new__(
        cls, row: int, offset: int, reason: str, column: int | None
    ) -> Refused: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs__(self) -> tuple[int, int, str, int | None]: ...

@final
class Answers:
    """Lines of output; `end` is the position in the batch behind the last evaluated row."""

    lines: bytes
    end: int
    refused: Refused | None
    def __new__(cls, lines: bytes, end: int, refused: Refused | None) -> Answers: ...

@final
class SiftedRow:
    """A row that is passed on: its position in its batch, its byte in the source."""

    position: int
    offset: int
    content: bytes
    def __new__(cls, position: int, offset: int, content: bytes) -> SiftedRow: ...
    def __getnewargs__(self) -> tuple[int, int, bytes]: ...

@final
class RowQuery:
    """A query over rows, each by itself; it is done when `limit` lines were written."""

    def __new__(
        cls,
        program: Program,
        *,
        output: str,
        nulls: bool,
        limit: int | None,
        max_depth: int,
        frame: Frame | None = None,
        whole: bool = False,
        sources: Sources | None = None,
        cancel: Cancel | None = None,
    ) -> RowQuery: ...
    def answer(self, batch: RowBatch, start: int, *, reverse: bool = False) -> Answers:
        """Run over the rows of a batch from `start` on, up to one that the query fails on."""

    def stand_in(self, file: str, lines_before: int, rows_before: int) -> None:
        """Set the file, line and row before the rows that follow."""

    def absorb(self, counts: Counts, lines: int) -> None:
        """Count the rows of a query like this one, and the lines that it yielded."""

    @property
    def wanted(self) -> int:
        """How many more lines can be written."""

    @property
    def done(self) -> bool:
        """Whether no further row can change the result."""

    @property
    def counts(self) -> Counts:
        """What was counted so far."""

@final
class Texts:
    """Arrow's buffers of texts: where each ends, 32 bits, beginning with 0; the bytes."""

    ends: bytes
    data: bytes

@final
class KeyedElements:
    """The elements of a batch: where their rows stand, their lines, and their keys.

    `positions` are those in the batch, 32 bits each, `offsets` bytes of the source, 64 bits.
    `refused` are rows that have none. In `late` are those whose elements came out of the
    stages, but have no key, or failed afterwards.
    """

    length: int
    positions: bytes
    offsets: bytes
    lines: Texts
    keys: Texts
    refused: list[Refused]
    late: list[Refused]

@final
class KeyedRows:
    """Makes rows, or what stages make of them, elements with keys.

    `key` is the code of a program that returns the key of an element; without it, keys are
    empty. Keyed elements go through `then`, and what comes out has the same key. With
    `falling`, the program returns an array with a key for each entry, true for descending.
    With `joins`, a key that matches nothing, such as null, is empty. With `compact`, a row
    that is an element is written without its spaces. With `counts_elements`, `arrived` has the
    elements that came to each of `stages`.
    """

    def __new__(
        cls,
        key: bytes | None,
        *,
        stages: Sequence[Stage] = ...,
        then: Sequence[Stage] = ...,
        falling: Sequence[bool] = ...,
        joins: bool = False,
        compact: bool = False,
        max_depth: int = 256,
        frame: Frame | None = None,
        whole: bool = False,
        sources: Sources | None = None,
        counts_elements: bool = False,
    ) -> KeyedRows: ...
    def of(self, batch: RowBatch) -> KeyedElements:
        """Return the elements of the rows of a batch.

        Raises OverflowError if they take more than 2 GiB: then the batch is too large.
        """

    @property
    def arrived(self) -> list[int]:
        """How many elements came to each stage, and last how many came out of all of them."""

    @property
    def counts(self) -> Counts:
        """What was counted so far; rows that are refused late are emitted as well."""

@disjoint_base
class SortedLines:
    """Lines take about `memory` bytes; what does not fit is in a nameless file in `directory`."""

    def __new__(
        cls, directory: str | PathLike[str], memory: int, threads: int
    ) -> Self: ...
    def add(
        self, rows: KeyedRows, batch: RowBatch
    ) -> tuple[list[Refused], list[Refused]]:
        """Add the elements of a batch; return its rows without any, as `KeyedElements` has them."""

    def append(self, other: Self) -> None:
        """Add the lines of another, which has none afterwards, behind those that are here."""

    def sort(self) -> None:
        """Sort the lines; none can be added afterwards."""

    def next(self, nulls: bool, left: int) -> tuple[bytes, int]: ...
    @property
    def held(self) -> int:
        """How many bytes are in memory."""

@final
class GroupParts:
    """Groups one by one, for a shuffle, in the order of the first element of each.

    `came` is how many elements came, `firsts` how many of them came before each group, 64 bits
    each. `names` tell groups apart; `parts` are for `StreamQuery.merge_groups`.
    """

    came: int
    firsts: bytes
    names: Texts
    parts: Texts

@final
class MergedGroups:
    """Groups that were merged: the place of the first element of each, 64 bits, and its text.

    A text is an array of the keys and one of the slots, or of a name and its value. `colliding` has
    the place of the first element whose name came with two kinds, `failed` that of the first group
    with a slot without a result, which has no text, each with the reason.
    """

    firsts: bytes
    texts: Texts
    colliding: tuple[int, str] | None
    failed: tuple[int, str] | None

@final
class StreamQuery:
    """A query over the stream of all rows: the part that is done row by row.

    `max_memory` is what may be held in all, `held_before` what others hold of it; where it is too
    little, `MemoryExceededError` is raised. With `counts_elements`, `arrived` has the elements that
    came to each stage.
    """

    def __new__(
        cls,
        stages: Sequence[Stage],
        *,
        reduction: str,
        limit: int | None,
        nulls: bool,
        max_memory: int,
        held_before: int,
        max_depth: int,
        frame: Frame | None = None,
        whole: bool = False,
        prune: tuple[bytes, Sequence[bool], int] | None = None,
        slots: Sequence[tuple[str, int, tuple[bool, ...], str]] = ...,
        sources: Sources | None = None,
        cancel: Cancel | None = None,
        counts_elements: bool = False,
    ) -> StreamQuery: ...
    def answer(self, batch: RowBatch, start: int, *, reverse: bool = False) -> Answers:
        """Take in the rows of a batch from position `start` on."""

    def sift(
        self, batch: RowBatch, start: int
    ) -> tuple[list[SiftedRow], int, Refused | None]:
        """Filter the rows of a batch from `start` on, for a query that runs elsewhere.

        Returns those that contribute elements or that the query fails on, the position behind
        the last row that was read, and the refusal of that row if it is too long to pass on.
        """

    def part(self) -> bytes:
        """Return what the rows were reduced to, for a run like this one to `merge`."""

    def merge(self, part: bytes) -> None:
        """Take in what the rows behind those so far were reduced to elsewhere."""

    def append(self, other: StreamQuery) -> None:
        """Take in what another query has reduced the rows behind those so far to; it has ended then."""

    def group_parts(self) -> GroupParts:
        """Return the groups of the rows one by one, for a run like this one to `merge_groups`."""

    def merge_groups(self, places: Sequence[int], parts: Sequence[bytes]) -> None:
        """Take in groups; those of one name come in the order of the places of their elements."""

    def merged_groups(self) -> MergedGroups:
        """Return the groups that were merged."""

    def absorb(self, counts: Counts, lines: int) -> None:
        """Count the rows of a query like this one, and the lines that it yielded."""

    def absorb_arrived(self, others: Sequence[int]) -> None:
        """Count the elements that came to the stages of a query like this one."""

    def end(self) -> bytes:
        """Take in what is left when all rows have been; return lines of output."""

    def finish(self) -> bytes:
        """Return what the rows were reduced to, as JSON."""

    def table(self) -> JoinTable:
        """Return the table that the last stage has filled."""

    def stand_in(self, file: str, lines_before: int, rows_before: int) -> None:
        """Set the file, line and row before the rows that follow."""

    @property
    def has_groups(self) -> bool:
        """Whether the rows are reduced to groups."""

    @property
    def max_memory(self) -> int:
        """How many bytes may be held in all."""

    @property
    def held(self) -> int:
        """How many bytes are held in all."""

    @property
    def elements(self) -> int:
        """How many elements are held, where they are held in order."""

    @property
    def wanted(self) -> int:
        """How many more lines or elements can change the result."""

    @property
    def done(self) -> bool:
        """Whether no further row can change the result."""

    @property
    def arrived(self) -> list[int]:
        """How many elements came to each stage, and last how many came out of all of them."""

    @property
    def counts(self) -> Counts:
        """What was counted so far."""

@final
class ColumnBuffers:
    length: int
    validity: _Bytes | None
    others: list[_Bytes]

@final
class ColumnFault:
    position: int
    row: int | None
    offset: int
    is_json: bool
    reason: str

@final
class FilledColumns:
    columns: list[ColumnBuffers]
    positions: _Bytes | None
    faults: list[ColumnFault]

@disjoint_base
class ColumnBuilder:
    def __new__(
        cls,
        shape: str,
        *,
        max_depth: int,
        keep_faulty: bool,
        keep: Program | None = None,
        project: Program | None = None,
    ) -> Self: ...
    def fill(self, batch: RowBatch) -> FilledColumns: ...

@disjoint_base
class AnswerColumns:
    def __new__(cls, shape: str, max_depth: int) -> Self: ...
    def fill(self, lines: bytes) -> FilledColumns: ...

@disjoint_base
class Inference:
    def __new__(cls, max_depth: int, expected: Sequence[str] | None = None) -> Self: ...
    def add(self, batch: RowBatch) -> None: ...
    def add_lines(self, lines: bytes, first: int) -> None: ...
    def merge(self, other: Self) -> None: ...
    def shape(
        self, *, may_follow: bool = False
    ) -> tuple[str, list[tuple[str, str]]]: ...
    @property
    def width(self) -> int: ...
    @property
    def counts(self) -> tuple[int, int]: ...

_Counts: TypeAlias = tuple[int, int, int, int, int, int, int, int]
_At: TypeAlias = tuple[tuple[int, int], tuple[int, int]]

@final
class KeyRequest:
    def __new__(cls, json: str, fields: int, typed: bool) -> KeyRequest: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    @staticmethod
    def of_text(text: str) -> KeyRequest: ...

@final
class KeyRuns:
    def __new__(cls, directory: str | PathLike[str], memory: int) -> KeyRuns: ...
    def add(self, packet: bytes) -> None: ...
    def finish(self) -> None: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def saved(path: str | PathLike[str]) -> KeyRuns: ...

@final
class KeyPackets:
    def __new__(cls, segments: int) -> KeyPackets: ...
    def advance(self, scan: KeyScan, stream: RowStream) -> bool: ...
    def take(self, least: int) -> list[tuple[int, bytes]]: ...

@final
class WantedKeys:
    def __new__(cls, requests: Sequence[KeyRequest]) -> WantedKeys: ...

@final
class KeyScan:
    def __new__(
        cls,
        fields: Sequence[str],
        *,
        max_depth: int,
        unterminated: int | None = None,
        all_skipped: bool = False,
        apart: bool = False,
    ) -> KeyScan: ...
    def advance(self, stream: RowStream, runs: KeyRuns) -> bool: ...
    def find(
        self, stream: RowStream, wanted: WantedKeys
    ) -> list[tuple[int, int]] | None: ...
    def among(self, batch: RowBatch, wanted: WantedKeys) -> list[int]: ...
    @property
    def lines(self) -> _Counts: ...
    @property
    def records(self) -> int: ...
    @property
    def last(self) -> str | None: ...
    @property
    def first_skipped(self) -> list[tuple[int, int, str, str]]: ...
    @property
    def plain_numbers(self) -> bool: ...

@final
class KeyCandidates:
    def __len__(self) -> int: ...
    def offset(self, number: int) -> int | None: ...
    @property
    def offsets(self) -> list[int]: ...
    def within(self, start: int, end: int) -> KeyCandidates: ...

@disjoint_base
class SealedIndex:
    @property
    def meta(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def build_id(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def delta(self) -> tuple[str, int, int] | None: ...
    def verify(self) -> None: ...
    def fit(self, file: File, size: int) -> Literal["whole", "covered"] | None: ...
    def hashes(self, first: int, end: int) -> list[int]: ...
    def all_hashes(self) -> list[int]: ...
    def restamp(self, path: str | PathLike[str], source: SourceMark) -> None: ...

@final
class KeyIndex(SealedIndex):
    def __new__(
        cls, path: str | PathLike[str], delta: str | PathLike[str] | None = None
    ) -> KeyIndex: ...
    @staticmethod
    def in_segments(
        segments: Sequence[str | PathLike[str]],
        deltas: Sequence[str | PathLike[str]] | None = None,
    ) -> KeyIndex: ...
    @property
    def segments(self) -> list[tuple[int, int]]: ...
    def is_of_all(self, runs: Sequence[KeyRuns], file: File) -> bool: ...
    def get(
        self,
        file: File,
        request: KeyRequest,
        *,
        size: int,
        below: int,
        max_bytes: int,
        at: _At | None = None,
    ) -> tuple[RowBatch, _At | None]: ...
    def candidates(
        self, requests: Sequence[KeyRequest], most: int
    ) -> KeyCandidates | None: ...
    def rows(
        self,
        file: File,
        candidates: KeyCandidates,
        *,
        size: int,
        first: int,
        count: int,
        max_bytes: int,
        begins: int = 0,
    ) -> RowBatch: ...

_Direction: TypeAlias = Literal["out", "in", "both"]
_Edge: TypeAlias = tuple[str, str, int, bool]
_Degrees: TypeAlias = tuple[int, list[int], int, str]

@final
class GraphRuns:
    def __new__(
        cls, directory: str | PathLike[str], memory: int, number: int
    ) -> GraphRuns: ...
    def advance(self, stream: RowStream, scan: KeyScan, before: int) -> bool: ...
    def keep(self, index: GraphIndex, whole: bool) -> None: ...
    def finish(self) -> None: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def saved(path: str | PathLike[str]) -> GraphRuns: ...

@final
class GraphIndex(SealedIndex):
    def __new__(
        cls, path: str | PathLike[str], delta: str | PathLike[str] | None = None
    ) -> GraphIndex: ...
    def has_edges_of(self, other: GraphIndex) -> bool: ...
    def stats(
        self,
    ) -> tuple[
        tuple[int, int, int], list[tuple[str, int]], _Degrees, _Degrees, int, int
    ]: ...

@final
class GraphAccess:
    @staticmethod
    def of_graph(index: GraphIndex) -> GraphAccess: ...
    @staticmethod
    def of_keys(
        fields: EdgeFields,
        file: File,
        size: int,
        *,
        from_index: KeyIndex | None = None,
        to_index: KeyIndex | None = None,
    ) -> GraphAccess: ...
    def edges(
        self,
        node: str,
        *,
        direction: _Direction = "out",
        predicates: Sequence[str] | None = None,
        most: int | None = None,
    ) -> list[_Edge] | None: ...
    def expand(
        self,
        seeds: Sequence[str],
        *,
        hops: int | None = None,
        predicates: Sequence[str] | None = None,
        direction: _Direction = "out",
        emit: Literal["nodes", "edges", "tree"] = "nodes",
        limit: int | None = None,
        most_edges: int | None = None,
    ) -> GraphExpansion: ...
    def shortest_path(
        self,
        start: str,
        goal: str,
        *,
        hops: int | None = None,
        predicates: Sequence[str] | None = None,
        direction: _Direction = "out",
    ) -> list[_Edge] | None: ...

@final
class GraphExpansion:
    def advance(
        self, most: int
    ) -> list[tuple[str, int, str | None] | tuple[str, str, str, int, bool]]: ...
    @property
    def missing(self) -> list[str]: ...
    @property
    def unknown(self) -> list[str]: ...
    @property
    def truncated(self) -> bool: ...
    @property
    def capped(self) -> int: ...

def write_graph_index(
    runs: Sequence[GraphRuns],
    path: str | PathLike[str],
    plan: GraphPlan,
    base: GraphIndex | None = None,
) -> tuple[int, str | None, int, int, int, int]: ...

@final
class LargeTexts:
    places: _Bytes
    data: _Bytes
    def __len__(self) -> int: ...
    def listed(self) -> list[str]: ...

@final
class GraphColumns:
    nodes: LargeTexts
    predicates: LargeTexts
    from_: _Bytes
    pred: _Bytes
    to: _Bytes
    offset: _Bytes

@final
class ReachedColumns:
    nodes: LargeTexts
    level: _Bytes
    predicates: LargeTexts
    via: _Bytes
    led: _Bytes

def graph_columns(index: GraphIndex) -> GraphColumns: ...
def reached_columns(expansion: GraphExpansion) -> ReachedColumns: ...

@final
class ScannedEdges:
    places: _Bytes
    ids: LargeTexts
    predicates: LargeTexts
    nodes: LargeTexts
    offsets: _Bytes
    outgoing: _Bytes
    def __len__(self) -> int: ...

@final
class EdgeScan:
    def __new__(
        cls,
        nodes: Sequence[str] | None,
        *,
        predicates: Sequence[str] | None = None,
        direction: _Direction = "out",
    ) -> EdgeScan: ...
    def advance(self, stream: RowStream, scan: KeyScan) -> ScannedEdges | None: ...

@final
class RowJoin:
    def __new__(
        cls,
        left: Sequence[str],
        right: Sequence[str],
        *,
        form: Form,
        typed: bool,
        max_depth: int,
        right_depth: int,
        max_memory: int,
        index: RightIndex | None = None,
    ) -> RowJoin: ...
    def hold(self, batch: RowBatch, scan: KeyScan) -> bool: ...
    def begin(self, batch: RowBatch, start: int = 0) -> None: ...
    def take(self, max_bytes: int) -> tuple[bytes, Refused | None] | None: ...
    @property
    def position(self) -> tuple[int, bool]: ...
    @property
    def counts(self) -> _Counts: ...
    @property
    def held(self) -> tuple[int, int]: ...
    @property
    def clash(self) -> Literal["left", "right"] | None: ...
    @property
    def reads(self) -> int: ...

def hash_blocks(file: File, start: int, end: int) -> list[int]: ...
def hash_all(file: File, start: int, end: int) -> int: ...
def rows_at(
    file: File,
    request: KeyRequest,
    offsets: Sequence[int],
    *,
    fields: Sequence[str],
    size: int,
    max_line: int,
    max_depth: int,
    max_bytes: int,
) -> tuple[RowBatch, int]: ...
def write_key_index(
    runs: Sequence[KeyRuns],
    path: str | PathLike[str],
    plan: Plan,
    kept: Kept | None = None,
) -> tuple[int, str | None, int, int, int]: ...

_LogReached: TypeAlias = tuple[int, int]
_LogFault: TypeAlias = tuple[str, str]

@final
class LogEntry:
    start: int
    end: int
    time: int
    line: int
    line_of_file: int
    file_number: int
    extracted: bool
    flags: int
    checksum: int

def log_entry(data: _Bytes, salt: int) -> LogEntry | None: ...
def log_time_span(entries: _Bytes, salt: int) -> tuple[int, int] | None:
    """Return the earliest and the latest time of entries.

    None if there are none, or one of them is none of the log with this salt.
    """

def log_lines_between(
    entries: _Bytes, lines: _Bytes, since: int, until: int
) -> tuple[_Bytes, _Bytes]:
    """Return the entries with times from `since` to before `until`, and their lines."""

@final
class LogMerge:
    def __new__(
        cls, logs: int, *, picked: bool, names: list[_Bytes] | None = None
    ) -> LogMerge: ...
    def give(self, log: int, entries: _Bytes, lines: _Bytes) -> None: ...
    def end(self, log: int) -> None: ...
    def next(
        self, key: int, max_rows: int, max_bytes: int
    ) -> tuple[_Bytes, int, _Bytes, int | None, tuple[str, int]]: ...

@final
class LogChecking:
    def __new__(
        cls, *, max_depth: int, max_line: int, time: Program | None = None
    ) -> LogChecking: ...
    def lines(self, data: _Bytes) -> tuple[LogLines, tuple[int, int, str] | None]: ...

@final
class LogLines:
    def __len__(self) -> int: ...
    def end_of(self, count: int) -> int: ...
    def fitting(self, start: int, max_rows: int, max_bytes: int) -> int: ...
    @property
    def blank(self) -> int: ...
    def entries(
        self,
        start: int,
        end: int,
        place: Place,
        clock: LogClock,
        *,
        created: int,
        reconstructed: bool,
    ) -> tuple[_Bytes, _LogReached]: ...

@final
class LogClock:
    def __new__(
        cls,
        late: int | None,
        *,
        last: int | None = None,
        latest_extracted: int | None = None,
        span: tuple[int, int] | None = None,
    ) -> LogClock: ...
    @property
    def times(
        self,
    ) -> tuple[int | None, int | None, tuple[int, int] | None, int]: ...
    def begin_file(self) -> None: ...
    def copy(self) -> LogClock: ...

@final
class LogTail:
    def __new__(
        cls,
        file: File,
        offset: int,
        size: int,
        *,
        max_depth: int,
        max_line: int,
        time: Program | None = None,
    ) -> LogTail: ...
    @property
    def offset(self) -> int: ...
    def next(self, enough: int) -> tuple[LogLines, tuple[str, int, str] | None]: ...
    def completed(self) -> LogLines: ...

def verify_log(
    index: File,
    data: File | None,
    size: int,
    place: Place,
    rows: int,
    clock: LogClock,
) -> tuple[_LogReached, _LogFault | None]: ...
def verify_log_lines(
    entries: _Bytes, lines: _Bytes, place: Place
) -> tuple[int, _LogFault | None]: ...
