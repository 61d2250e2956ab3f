"""A data set: the rows of one or more sources as one sequence."""

from __future__ import annotations

import operator
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from headrace.errors import (
    BadRowError,
    LineTooLongError,
    RowOutOfRangeError,
    UnreadRowError,
    UsageError,
)
from headrace.kernel.rows import RowBatch, reading
from headrace.record import record, replace
from headrace.store.files.opened import Closing
from headrace.store.files.source import Source, SourceSpec, expand
from headrace.store.rows.row_file import RowFile, RowOptions

if TYPE_CHECKING:
    import pyarrow

    from headrace.api.graph.graph import Graph
    from headrace.api.index.key import KeyIndex
    from headrace.api.join import JoinResult
    from headrace.api.options import (
        EngineOptions,
        Fields,
        GraphOptions,
        JoinOptions,
        KeyIndexBuildOptions,
        QueryOptions,
        ShardOptions,
    )
    from headrace.api.results import QueryResult
    from headrace.engines.index.kinds import Built
    from headrace.kernel.key_index import Key, Written
    from headrace.kernel.tally import Stats
    from headrace.store.log.read.timed_rows import TimedRows
    from headrace.store.rows.provider import ProviderRows, RowProvider
    from headrace.store.shards.metadata import Metadata
    from headrace.store.shards.shard_set import ShardSet

    Progress: TypeAlias = Callable[[int, int | None], None]
    Rows: TypeAlias = RowFile | ProviderRows | TimedRows

T_co = TypeVar("T_co", covariant=True)
OnError = Literal["abort", "skip"]

_NEAR_END = 1000
"""Rows this close to the end are read from there, without an index."""

_FAR_APART = 1000
"""Rows farther apart than this are read one by one."""

_FARTHEST = (1 << 63) - 1
"""No file has a row beyond this."""


@record
class Batch:
    """Rows of one source that were read together.

    `numbered`: `rows.first_row` is the number of the first row in its source; from
    the end of a file, rows are read without being counted.
    """

    path: str
    rows: RowBatch
    numbered: bool

    def line(self, position: int) -> int | None:
        """Return the line number of a row, counted from 1, if it is known."""
        return self.rows.first_row + position + 1 if self.numbered else None


class RowPlace(NamedTuple):
    """The place of a row: its file, first byte and length in bytes."""

    path: str
    offset: int
    length: int


class Dataset(Closing, Sequence[T_co]):
    """The rows of sources, in order, as a lazy sequence; `headrace.open` opens it.

    Every line is a row; a blank line is None (``b""`` or white space in `raw`). Threads may
    share a data set. It can be pickled, and used after a fork: the other process opens the
    sources again, and raises if they have changed.
    """

    def __init__(
        self,
        sources: tuple[Source, ...],
        options: RowOptions,
        *,
        max_depth: int,
        raw: bool,
    ) -> None:
        self.sources = sources
        self.row_options = options
        self.max_depth = max_depth
        self._is_raw = raw
        self._files: tuple[Rows, ...] = ()
        self._named: list[Dataset[Any]] = []
        self._keyed: dict[tuple[str, ...], list[KeyIndex]] = {}
        self._pid = 0

    @property
    def raw(self) -> Dataset[bytes]:
        """The same rows as bytes, without their line endings."""
        raw: Dataset[bytes] = Dataset(
            self.sources, self.row_options, max_depth=self.max_depth, raw=True
        )
        raw._files, raw._pid = self.files(), self._pid
        return raw

    def files(self) -> tuple[Rows, ...]:
        """Return the open sources; a forked process opens its own."""
        # A forked process must not use files that threads of its parent were reading.
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._keyed = {}
            self._files = tuple(
                _rows_of(each, self.row_options) for each in self.sources
            )
        return self._files

    # A sequence

    def __len__(self) -> int:
        return sum(file.total() for file in self.files())

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        if isinstance(index, slice):
            return self._slice(index)
        number = operator.index(index)
        row = number
        if -_NEAR_END <= row < 0:
            rows = self.tail_batches(-row)
            if sum(len(batch.rows) for batch in rows) == -row:
                return self._first(rows[0])
        elif row < 0:
            row += len(self)
        if 0 <= row <= _FARTHEST:
            for file in self.files():
                if found := file.read(row, 1):
                    return self._first(
                        Batch(file.source.location, found, numbered=True)
                    )
                row -= file.total()
        raise RowOutOfRangeError(self.name, number, len(self))

    def _first(self, batch: Batch) -> T_co:
        return next(self._decoded(batch))

    def _slice(self, index: slice) -> list[T_co]:
        start, stop, step = index.start, index.stop, index.step
        if step == 0:
            # As a list says it.
            raise ValueError("slice step cannot be zero")
        from_the_end = start is not None and -_NEAR_END <= start < 0
        if from_the_end and (stop, step) == (None, None):
            return self.tail(-start)
        forward = (step or 1) > 0 and (start or 0) >= 0
        if forward and stop is not None and stop >= 0:
            return list(self._stepped(range(start or 0, max(stop, 0), step or 1)))
        wanted = range(len(self))[index]
        if wanted.step > 0:
            return list(self._stepped(wanted))
        return list(self._stepped(wanted[::-1]))[::-1]

    def _stepped(self, wanted: range) -> Iterator[T_co]:
        """Yield the rows of a range; rows between them are not decoded."""
        if wanted.step == 1:
            yield from self.rows(wanted.start, wanted.stop)
        elif wanted.step > _FAR_APART:
            total = len(self)
            yield from (self[row] for row in wanted if row < total)
        else:
            ahead = 0
            for batch in self.batches(wanted.start, wanted.stop):
                for position in range(ahead, len(batch.rows), wanted.step):
                    yield self._first(
                        replace(batch, rows=batch.rows.slice(position, 1))
                    )
                ahead = (ahead - len(batch.rows)) % wanted.step

    def __bool__(self) -> bool:
        """Whether there is a row; only the first is read, and that of a pipe is kept."""
        return any(
            bool(file.read(0, 1))
            if file.source.is_pipe
            else next(iter(file.batches(0, 1)), None) is not None
            for file in self.files()
        )

    def __iter__(self) -> Iterator[T_co]:
        return self.rows()

    def __reversed__(self) -> Iterator[T_co]:
        for file in reversed(self.files()):
            for run in file.backwards():
                yield from reversed(
                    list(
                        self._decoded(Batch(file.source.location, run, numbered=False))
                    )
                )

    def __repr__(self) -> str:
        kind = ", raw" if self._is_raw else ""
        return f"<headrace.Dataset {self.name}{kind}>"

    @property
    def name(self) -> str:
        """The first source, and how many more there are."""
        if not self.sources:
            return "an empty set of shards"
        first = self.sources[0].location
        return (
            first
            if len(self.sources) == 1
            else f"{first} and {len(self.sources) - 1} more"
        )

    # Ranges

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[T_co]:
        """Yield rows `start` up to `stop`, with a batch of them in memory.

        Negative numbers count from the end, as in a slice.
        """
        if start < 0 or (stop or 0) < 0:
            start, stop, _step = slice(start, stop).indices(len(self))
        for batch in self.batches(start, stop):
            yield from self._decoded(batch)

    def place(self, row: int) -> RowPlace:
        """Return the place of a row: its file, its first byte there, and its length.

        The line ending does not count. In a compressed file, bytes are those after
        decompression.
        """
        wanted = operator.index(row)
        left = wanted + len(self) if wanted < 0 else wanted
        if 0 <= left <= _FARTHEST:
            for file in self.files():
                if found := file.read(left, 1):
                    (offset,), (content,) = found.offsets, found.contents()
                    if left == 0 and _begins_with_mark(file):
                        offset += len(BOM_UTF8)
                    length = (
                        len(content) if content is not None else found.too_long[0][1]
                    )
                    return RowPlace(file.source.location, offset, length)
                left -= file.total()
        raise RowOutOfRangeError(self.name, wanted, len(self))

    def head(self, limit: int = 10) -> list[T_co]:
        """Return the first rows."""
        return list(self.rows(0, limit))

    def tail(self, limit: int = 10) -> list[T_co]:
        """Return the last rows; of plain files and files of blocks only the end is read."""
        batches = self.tail_batches(limit)
        return [row for batch in batches for row in self._decoded(batch)]

    def records(self, on_error: OnError = "abort") -> Iterator[Any]:
        """Yield the values of all rows that are not blank.

        A line that is bad or too long raises, or is skipped with ``"skip"``; `stats` counts
        such lines.
        """
        from headrace.api.options import refuse_other

        refuse_other("on_error", on_error, ("abort", "skip"))
        return self._records(on_error)

    def _records(self, on_error: OnError) -> Iterator[Any]:
        for batch in self.batches():
            position: int | None = 0
            while position is not None:
                values, refused = batch.rows.values(
                    self.max_depth, start=position, skip_blank=True
                )
                yield from values
                if refused is not None and on_error == "abort":
                    raise self.refusal(batch, *refused)
                position = None if refused is None else refused[0] + 1

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Yield rows `start` up to `stop` as they are read, some thousand at a time."""
        if start < 0 or (stop is not None and stop < 0):
            raise UsageError(f"rows {start} to {stop}: rows are counted from 0")
        start = min(start, _FARTHEST)
        stop = None if stop is None else min(stop, _FARTHEST)
        files = self.files()
        for file in files:
            row = start
            for rows in file.batches(start, stop):
                yield Batch(file.source.location, rows, numbered=True)
                row += len(rows)
            # A range that began in this file has read all of it; rows are counted only
            # if the range may begin behind the file.
            if row == stop or file is files[-1]:
                return
            total = row if row > start else file.total()
            start = max(start - total, 0)
            stop = None if stop is None else stop - total

    def tail_batches(self, limit: int) -> list[Batch]:
        """Return the last rows as they are read."""
        if limit < 0:
            raise UsageError(f"tail {limit}: must be 0 or a positive integer")
        found: list[Batch] = []
        left = min(limit, _FARTHEST)
        for file in reversed(self.files()):
            if left == 0:
                break
            runs = file.tail(left)
            surplus = sum(map(len, runs)) - left
            if surplus > 0:
                runs[0] = runs[0].slice(surplus, len(runs[0]))
            path, numbered = file.source.location, not file.source.seekable
            found[:0] = [Batch(path, rows, numbered) for rows in runs]
            left -= sum(map(len, runs))
        return found

    # Queries

    def query(self, query: str, **options: Unpack[QueryOptions]) -> QueryResult:
        """Return the answers to a query, computed when they are read.

        The query runs over each row, where ``$`` is the row. With ``stream=True``, and if it
        begins with ``$.rows()``, it runs over all rows. With `names`, other sources are in
        reach, too, and ``$`` is the array of these rows. An answer about all rows is one value,
        or a line for each element, as the query says (docs/language.md, "All rows").
        """
        from headrace.api.query import run

        return run(self, query, options)

    def explain(
        self, query: str, *, analyze: bool = False, **options: Unpack[QueryOptions]
    ) -> str:
        """Return what a query would do, one step on a line.

        With `analyze`, the query runs, and each step has what was measured of it.
        """
        return self.query(query, **options).explain(analyze=analyze)

    def join(
        self,
        right: SourceSpec | Dataset[Any],
        on: Fields | None = None,
        **options: Unpack[JoinOptions],
    ) -> JoinResult:
        """Return each row with the fields of those rows of `right` that have its key.

        The key is the field `on`, or several together. As in a query, 1 equals ``1.0`` and not
        ``"1"``; null, a missing field and nested values equal nothing. There is a row for each
        match: the fields of the right row, without its key, laid over those of the left row.
        Rows come in the order of the left side.

        Right rows are held in memory, or read through a key index where that is faster. The rows
        are the same.
        """
        from headrace.api.join import joined

        return joined(self, right, on, options)

    def to_arrow(self) -> pyarrow.Table:
        """Return all rows as an Arrow table, whose types fit all of them."""
        return self.query("$").to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export all rows as an Arrow stream; DuckDB, Polars and pyarrow read a data set by it."""
        return self.query("$").__arrow_c_stream__(requested_schema)

    def write_shards(
        self, directory: str | os.PathLike[str], **options: Unpack[ShardOptions]
    ) -> Metadata:
        """Write all rows as a set of shards, and return its metadata; see `ShardWriter`."""
        from headrace.api.shards.writer import write_all

        return write_all(self, directory, options)

    # Indexes

    @overload
    def index(self, value: Any, start: int = 0, stop: int | None = None, /) -> int: ...  # noqa: ANN401
    @overload
    def index(
        self, *, on: Fields, **options: Unpack[KeyIndexBuildOptions]
    ) -> list[Built[Written]]: ...
    def index(
        self,
        *value: Any,
        on: Fields | None = None,
        **options: Unpack[KeyIndexBuildOptions],
    ) -> int | list[Built[Written]]:
        """Build the key index of each file, or of the whole set; see `KeyIndex.build`.

        Without `on`, return the first row that equals a value, as any sequence does.
        """
        if on is None:
            return super().index(*value)
        from headrace.api.index.key_upkeep import build_each
        from headrace.store.index.subject import set_of

        options.setdefault("index_dir", self.row_options.keeping.directory)
        shards = set_of(self.sources)
        sources = [*self.sources] if shards is None else [shards]
        self._keyed = {}
        return list(build_each(sources, on, **options))

    def graph(self, **options: Unpack[GraphOptions]) -> Graph:
        """Open the graph whose edges are the rows; see `GraphIndex.open`."""
        from headrace.api.graph.graph import Graph

        options.setdefault("index_dir", self.row_options.keeping.directory)
        return Graph(self.sources, **options)

    def get(
        self, on: str | Sequence[str], value: Key, *, typed: bool = False
    ) -> list[T_co]:
        """Return the rows in which the field `on`, or several together, have a value.

        A file with a key index that fits is not scanned; the rows are the same. A number
        matches as in `KeyIndex.get`. Rows in which the field is missing, null or nested do not
        match; bad lines are skipped.
        """
        from headrace.api.query import refuse_times
        from headrace.kernel.key_index import request

        refuse_times(self.files(), "get looks through all lines", "use a query")
        found: list[T_co] = []
        for index in self._key_indexes(on):
            wanted = request(value, index.key, typed=typed)
            for _, rows in index.answers([wanted]):
                batch = Batch(index.source.location, rows, numbered=False)
                found += self._decoded(batch)
        return found

    def _key_indexes(self, on: str | Sequence[str]) -> list[KeyIndex]:
        from headrace.api.index.key import KeyIndex, warn_unless_missing
        from headrace.api.index.key_upkeep import fields_of
        from headrace.store.index.subject import set_of

        self.files()
        fields = fields_of(on)

        def opened(source: Source | ShardSet) -> KeyIndex:
            return KeyIndex(
                source,
                fields,
                index_dir=self.row_options.keeping.directory,
                max_line=self.row_options.max_line,
                max_depth=self.max_depth,
                report=warn_unless_missing,
            )

        if fields not in self._keyed:
            shards = set_of(self.sources)
            whole = None if shards is None else opened(shards)
            if whole is not None and whole.usable:
                self._keyed[fields] = [whole]
            else:
                self._keyed[fields] = [opened(source) for source in self.sources]
        return self._keyed[fields]

    def other(self, source: SourceSpec | Dataset[Any]) -> Dataset[Any]:
        """Return another source as a data set, which is closed with this one."""
        if isinstance(source, Dataset):
            return source
        other: Dataset[Any] = Dataset(
            tuple(expand(source, blocks=self.row_options.blocks)),
            self.row_options,
            max_depth=self.max_depth,
            raw=False,
        )
        self._named.append(other)
        return other

    # Counts

    def count(
        self,
        progress: Progress = lambda _done, _total: None,
        **options: Unpack[EngineOptions],
    ) -> int:
        """Count the rows. Unlike ``len``, it does not keep the rows of a pipe."""
        from headrace.api.counts import count

        return count(self, progress, options)

    def stats(
        self,
        threads: int | None = None,
        progress: Progress = lambda _done, _total: None,
        **options: Unpack[EngineOptions],
    ) -> Stats:
        """Check every line, in parallel, and count them by kind."""
        from headrace.api.counts import stats

        return stats(self, threads, progress, options)

    # Decoding

    def _decoded(self, batch: Batch) -> Iterator[T_co]:
        if not self._is_raw:
            values, refused = batch.rows.values(self.max_depth)
            yield from cast("list[T_co]", values)
            if refused is not None:
                error = self.refusal(batch, *refused)
                raise (
                    UnreadRowError(*error.args) if type(error) is BadRowError else error
                )
            return
        for position, content in enumerate(batch.rows.contents()):
            if content is None:
                raise self.refusal(batch, position, batch.rows.offsets[position], "")
            yield cast("T_co", content)

    def refusal(
        self, batch: Batch, position: int, offset: int, reason: str
    ) -> BadRowError | LineTooLongError:
        """Return the error for a bad row of a batch."""
        line = batch.line(position)
        length = dict(batch.rows.too_long).get(position)
        if length is None:
            return BadRowError(batch.path, line, offset, reason)
        limit = self.row_options.max_line
        return LineTooLongError(batch.path, line, offset, length, limit)

    # Files

    def bytes_read(self) -> int:
        """Return how many bytes of the sources have been read."""
        return sum(file.bytes_read() for file in self._files)

    def close(self) -> None:
        """End background work and close the files; the next use opens them again."""
        if self._pid == os.getpid():
            for file in self._files:
                file.close()
        for dataset in self._named:
            dataset.close()
        self._named, self._keyed = [], {}

    def __getstate__(self) -> dict[str, Any]:
        if pipe := next((source for source in self.sources if source.is_pipe), None):
            raise UsageError(
                f"{pipe.location}: a pipe cannot be sent to another process"
            )
        gone = {"_files": (), "_named": [], "_keyed": {}, "_pid": 0}
        return {**self.__dict__, **gone}


def _begins_with_mark(file: Rows) -> bool:
    """Whether a byte order mark precedes the first row."""
    if not isinstance(file, RowFile):
        return False
    data, _size = file.positions()
    with reading(file.source.location):
        return data.read_at(0, len(BOM_UTF8)) == BOM_UTF8


def _rows_of(source: Source, options: RowOptions) -> Rows:
    if source.kind == "provider":
        from headrace.store.rows.provider import ProviderRows

        return ProviderRows(source, cast("RowProvider", source.origin))
    if source.times is not None:
        from headrace.store.log.read.timed_rows import TimedRows

        return TimedRows(source, options)
    return RowFile(source, options)
