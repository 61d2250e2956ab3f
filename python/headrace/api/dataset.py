"""A data set: the rows of one or more sources as one sequence."""

from __future__ import annotations

import operator
import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    cast,
    overload,
)

from headrace.errors import (
    BadRowError,
    LineTooLongError,
    RowOutOfRangeError,
    UnreadRowError,
    UnusableTableError,
    UsageError,
)
from headrace.kernel.rows import reading
from headrace.kernel.tally import Stats, Tally
from headrace.kernel.values import DEEPEST
from headrace.store.files.closing import Closing
from headrace.store.files.source import expand, total_size
from headrace.store.files.units import parse_size
from headrace.store.rows.provider import ProviderRows, RowProvider
from headrace.store.rows.row_file import RowFile, RowOptions, row_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.api.index.key import KeyIndex
    from headrace.api.join import JoinResult
    from headrace.api.results import Errors, QueryResult
    from headrace.engines.query.options import OnError as QueryOnError
    from headrace.engines.query.run import Engine
    from headrace.engines.spark.query.run import RunTasks
    from headrace.errors import KeyIndexError
    from headrace.kernel.key_index import Key
    from headrace.kernel.rows import RowBatch
    from headrace.physical.query_plan import QueryPlan
    from headrace.store.files.source import Source, SourceSpec
    from headrace.store.log.read.timed_rows import TimedRows
    from headrace.store.shards.shard_set import ShardSet

    Progress: TypeAlias = Callable[[int, int | None], None]
    Rows: TypeAlias = RowFile | ProviderRows | TimedRows

T_co = TypeVar("T_co", covariant=True)
OnError = Literal["abort", "skip"]

_NEAR_END = 1000
"""Rows this close to the end are reached from there, without an index."""

_FAR_APART = 1000
"""Rows farther apart than this are reached one by one."""

_FARTHEST = (1 << 63) - 1
"""No file has a row beyond this."""


@dataclass(frozen=True, slots=True)
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
    """Where a row stands; both numbers are bytes."""

    path: str
    offset: int
    length: int


class Dataset(Closing, Sequence[T_co]):
    """The rows of some sources, in order, as a lazy sequence.

    Every line is a row; a blank one is None (``b""`` or white space in `raw`).
    A data set can be pickled and used after a fork: the other process opens the
    sources again, and only in the state they had here.
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
        self._options = options
        self._max_depth = max_depth
        self._is_raw = raw
        self._files: tuple[Rows, ...] = ()
        self._named: list[Dataset[Any]] = []
        self._keyed: dict[tuple[str, ...], list[KeyIndex]] = {}
        self._pid = 0

    @property
    def raw(self) -> Dataset[bytes]:
        """The same rows as bytes, without their line endings."""
        raw: Dataset[bytes] = Dataset(
            self.sources, self._options, max_depth=self._max_depth, raw=True
        )
        raw._files, raw._pid = self._open(), self._pid
        return raw

    def _open(self) -> tuple[Rows, ...]:
        # A forked child must not use what threads of its parent were holding.
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._keyed = {}
            self._files = tuple(_rows_of(each, self._options) for each in self.sources)
        return self._files

    # A sequence

    def __len__(self) -> int:
        return sum(file.total() for file in self._open())

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        if isinstance(index, slice):
            return self._slice(index)
        asked = operator.index(index)
        row = asked
        if -_NEAR_END <= row < 0:
            rows = self.tail_batches(-row)
            if sum(len(batch.rows) for batch in rows) == -row:
                return self._first(rows[0])
        elif row < 0:
            row += len(self)
        if 0 <= row <= _FARTHEST:
            for file in self._open():
                if found := file.read(row, 1):
                    return self._first(
                        Batch(file.source.location, found, numbered=True)
                    )
                row -= file.total()
        raise RowOutOfRangeError(self._name(), asked, len(self))

    def _first(self, batch: Batch) -> T_co:
        return next(self._decoded(batch))

    def _slice(self, index: slice) -> list[T_co]:
        start, stop, step = index.start, index.stop, index.step
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
        """Yield some rows in order; what lies between them is not decoded."""
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
        """Whether there is a row; no more than the first is read, of a pipe it is kept."""
        return any(
            bool(file.read(0, 1))
            if file.source.is_pipe
            else next(iter(file.batches(0, 1)), None) is not None
            for file in self._open()
        )

    def __iter__(self) -> Iterator[T_co]:
        return self.rows()

    def __reversed__(self) -> Iterator[T_co]:
        for file in reversed(self._open()):
            for run in file.backwards():
                yield from reversed(
                    list(
                        self._decoded(Batch(file.source.location, run, numbered=False))
                    )
                )

    def __repr__(self) -> str:
        kind = ", raw" if self._is_raw else ""
        return f"<headrace.Dataset {self._name()}{kind}>"

    def _name(self) -> str:
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
        """Yield rows `start` up to `stop`, holding only a few of them.

        Negative numbers count from the end, as those of a slice.
        """
        if start < 0 or (stop or 0) < 0:
            start, stop, _step = slice(start, stop).indices(len(self))
        for batch in self.batches(start, stop):
            yield from self._decoded(batch)

    def place(self, row: int) -> RowPlace:
        """Return where a row stands: its file, its first byte there, and its length.

        The line ending is not part of it. Of a compressed file, bytes are those after
        decompression.
        """
        wanted = operator.index(row)
        left = wanted + len(self) if wanted < 0 else wanted
        if 0 <= left <= _FARTHEST:
            for file in self._open():
                if found := file.read(left, 1):
                    (offset,), (content,) = found.offsets, found.contents()
                    if left == 0 and _begins_with_mark(file):
                        offset += len(BOM_UTF8)
                    length = (
                        len(content) if content is not None else found.too_long[0][1]
                    )
                    return RowPlace(file.source.location, offset, length)
                left -= file.total()
        raise RowOutOfRangeError(self._name(), wanted, len(self))

    def head(self, n: int = 10) -> list[T_co]:
        """Return the first `n` rows."""
        return list(self.rows(0, n))

    def tail(self, n: int = 10) -> list[T_co]:
        """Return the last `n` rows; of files that can be entered only the end is read."""
        return [row for batch in self.tail_batches(n) for row in self._decoded(batch)]

    def records(self, on_error: OnError = "abort") -> Iterator[Any]:
        """Yield the values of all rows that are not blank.

        A line that is bad or too long raises, or is passed over with ``"skip"``;
        `stats` counts such lines.
        """
        if on_error not in ("abort", "skip"):
            raise UsageError(f"on_error is 'abort' or 'skip', not {on_error!r}")
        return self._records(on_error)

    def _records(self, on_error: OnError) -> Iterator[Any]:
        for batch in self.batches():
            position: int | None = 0
            while position is not None:
                values, refused = batch.rows.values(
                    self._max_depth, start=position, skip_blank=True
                )
                yield from values
                if refused is not None and on_error == "abort":
                    raise self.refusal(batch, *refused)
                position = None if refused is None else refused[0] + 1

    def batches(self, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Yield rows `start` up to `stop` as they were read, some thousand at a time."""
        if start < 0 or (stop is not None and stop < 0):
            raise UsageError(f"rows {start} to {stop}: rows are counted from 0")
        start = min(start, _FARTHEST)
        stop = None if stop is None else min(stop, _FARTHEST)
        files = self._open()
        for file in files:
            row = start
            for rows in file.batches(start, stop):
                yield Batch(file.source.location, rows, numbered=True)
                row += len(rows)
            # A range that began in this file has passed all of it; how many rows a
            # file has is asked only if the range may begin behind it.
            if row == stop or file is files[-1]:
                return
            total = row if row > start else file.total()
            start = max(start - total, 0)
            stop = None if stop is None else stop - total

    def tail_batches(self, n: int) -> list[Batch]:
        """Return the last `n` rows as they were read."""
        if n < 0:
            raise UsageError(f"tail {n}: how many rows cannot be negative")
        found: list[Batch] = []
        left = min(n, _FARTHEST)
        for file in reversed(self._open()):
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

    # Questions

    def query(
        self,
        query: str,
        *,
        mode: Literal["row", "stream"] | None = None,
        names: Mapping[str, SourceSpec | Dataset[Any]] | None = None,
        size_hints: Mapping[str, int] | None = None,
        args: Mapping[str, object] | None = None,
        where: str | None = None,
        allow_env: bool = False,
        output: Literal["answer", "match"] = "answer",
        nulls: bool = False,
        on_error: QueryOnError = "abort",
        limit: int | None = None,
        max_depth: int | None = None,
        memory: int | str = "1GiB",
        reverse: bool = False,
        distinct_by: str | None = None,
        frame: str | None = None,
        null_payload: Literal["skip", "keep", "error"] = "skip",
        lanes: bool = True,
        index: bool = True,
        shape: Literal["lines", "array"] | None = None,
        strict_types: bool = False,
        errors: Errors | None = None,
        engine: Literal["local", "spark"] = "local",
        master: str | None = None,
        partition_bytes: int | str | None = None,
        _run_tasks: RunTasks | None = None,
    ) -> QueryResult:
        """Ask a question; nothing is read before its answers are.

        Every row is asked by itself, ``$`` is the row. In the mode ``"stream"``, and
        in a query that begins with ``$.rows()``, the question is about all rows.
        With `names`, other sources can be asked too: ``@name`` is the array of their
        rows, and ``$`` that of ours unless the mode is ``"row"``. Of two that are
        joined the smaller is held in memory; `size_hints` are their numbers of rows,
        by name, where the sizes of the files would say something wrong.
        The value of ``$name`` in the query is that of `args`; an argument that is not used is
        refused. With `where`, another query, only rows for which it is truthy are asked. With
        `allow_env`, ``env("NAME")`` is a variable of the environment, null if it is not set.
        Answers that are null are none unless `nulls`. The output ``"match"`` gives the
        rows whose answer is truthy, as they are. With `strict_types`, a value of a kind
        that an operation is not for is an error: a field of a number, ``upper`` of one.
        Null stays null. With `reverse` the last row is first;
        with `distinct_by`, a query too, only the first row of each key is asked. With
        `frame`, lines are a key, this separator and JSON, which may be null. With
        `errors`, rows that are passed over go there: to a file, or to a function.
        An answer about all rows is a line for each element or one value, as the query says
        (docs/language.md, "All rows"); with the `shape` ``"lines"`` an array is a line for each
        element, with ``"array"`` it is one line.
        Without `lanes`, fields that nobody reads are recorded too; the answers are the
        same. So are they without `index`, with which a filter such as ``id == 7`` reads only
        the rows that a key index of ``id`` leads to, where a file has one. They are the same
        too with the engine ``"spark"``, whose tasks read `partition_bytes` of the files each
        (64 MiB unless told), at `master` (``local[*,4]`` unless told: all cores of this
        machine); see docs/spark.md. Tests pass `_run_tasks`, which runs tasks without Spark.
        """
        from headrace.api.local_engine import refuse_for_local
        from headrace.api.results import QueryResult
        from headrace.engines.query.options import QueryOptions
        from headrace.engines.query.scan import QueryInput
        from headrace.kernel.programs import Frame
        from headrace.language.bindings import bindings_of, refuse_unused
        from headrace.physical.query_plan import RowPlan, StreamPlan, plan_query

        depth = self._max_depth if max_depth is None else max_depth
        if not 1 <= depth <= DEEPEST:
            raise UsageError(f"max_depth {depth}: it can be from 1 to {DEEPEST}")
        if limit is not None and limit < 0:
            raise UsageError(f"limit {limit}: how many answers cannot be negative")
        _check_choices(
            mode=(mode, (None, "row", "stream")),
            output=(output, ("answer", "match")),
            on_error=(on_error, ("abort", "skip", "collect")),
            null_payload=(null_payload, ("skip", "keep", "error")),
            engine=(engine, ("local", "spark")),
            shape=(shape, (None, "lines", "array")),
        )
        stream = mode == "stream" or (mode is None and bool(names))
        bindings = bindings_of(args or {}, os.environ if allow_env else None)
        refuse_unused(bindings, tuple(filter(None, (query, where, distinct_by))))
        plan = plan_query(
            query,
            stream=stream,
            distinct_by=distinct_by,
            where=where,
            matches=output == "match",
            bindings=bindings,
            strict_types=strict_types,
        )
        main = plan.main
        if output == "match" and not isinstance(main, RowPlan):
            raise UsageError("matches are about each row, not about all rows")
        _check_shape(shape, is_row=isinstance(main, RowPlan))
        backwards = reverse != (isinstance(main, StreamPlan) and main.reverse)
        if backwards and not all(file.capabilities.reverse for file in self._open()):
            raise UsageError("a pipe has no end to begin from; save it to a file first")
        if frame == "":
            raise UsageError("a separator cannot be empty")
        if errors is not None and on_error != "collect":
            raise UsageError("errors are kept only with on_error='collect'")
        options = QueryOptions(
            output,
            nulls,
            on_error,
            limit,
            depth,
            parse_size(memory),
            reverse,
            None if frame is None else Frame(frame, null_payload),
            size_hints or {},
            lanes,
            index and not plan.places,
            shape,
        )
        runs: Engine | None = None
        if engine == "spark":
            from headrace.api.spark import spark_engine

            runs = spark_engine(
                self.sources,
                options,
                self._options,
                master,
                partition_bytes,
                _run_tasks,
            )
        else:
            refuse_for_local(master=master, partition_bytes=partition_bytes)
        named = self._opened_names(query, plan, names or {})
        self._refuse_places(plan, engine)
        if engine == "spark":
            for files in (self._open(), *named.values()):
                _refuse_times(
                    files,
                    "Spark's tasks read all lines of a log",
                    "use engine='local' (--engine local)",
                )
        given = QueryInput(plan, options, self._open(), named)
        return QueryResult(
            given, stream=stream, where=where, errors=errors, engine=runs
        )

    def _refuse_places(
        self, plan: QueryPlan, engine: Literal["local", "spark"]
    ) -> None:
        """Refuse to say where rows stand, where they have no numbers."""
        if not plan.places:
            return
        names = "input_file, input_line and input_row"
        if engine == "spark":
            raise UsageError(
                f"{names} need engine='local' (--engine local): Spark's tasks read parts of "
                "files, whose rows have no numbers yet"
            )
        _refuse_times(self._open(), f"{names} count all lines", "leave out these")

    def join(
        self,
        right: SourceSpec | Dataset[Any],
        on: str | Sequence[str] | None = None,
        *,
        left_on: str | Sequence[str] | None = None,
        right_on: str | Sequence[str] | None = None,
        how: Literal["inner", "left"] = "inner",
        target: str | None = None,
        pick: Sequence[str] | None = None,
        prefix: str = "",
        indicator: str | None = None,
        index: bool | str | os.PathLike[str] | None = None,
        fallback: Literal["hash", "error"] = "hash",
        text_keys: bool = False,
        memory: int | str = "1GiB",
        on_error: QueryOnError = "abort",
        errors: Errors | None = None,
        strict: bool = False,
        tell: Callable[[KeyIndexError], object] | None = None,
    ) -> JoinResult:
        """Add to each row the fields of those rows of `right` that have its key.

        The key is the field `on`, or several, or `left_on` here and `right_on` there. As in
        a query, 1 equals ``1.0`` and not ``"1"``; with `text_keys` it does. Null, what is
        missing and what is nested equal nothing. There is a row for each match, with the
        fields of the right one, its key left out, laid over those of the left one; a row
        without a match is left out, or with ``how="left"`` stays as it is. With `target`,
        there is one row with the array of matches in that field. Of right rows only `pick`
        is taken, their names get a `prefix`, and the field `indicator` is ``"both"`` or
        ``"left_only"``. Rows come in the order of the left side.

        Right rows are held in up to `memory`, or a key index leads to them: if there is
        one and it saves time, always with ``index=True`` or the path of one, and never
        with ``index=False``. Where it is wanted and cannot be used, they are held after
        all, which `tell` is told of, unless the `fallback` is ``"error"``. A bad line of
        either side ends the run; with ``on_error="skip"`` such lines are left out and
        counted, and with ``"collect"`` left ones go to `errors`. With `strict`, an index
        that cannot be used is an error, too.
        """
        from headrace.api.join import JoinResult, Side, Wanted, keys_of
        from headrace.engines.local.join import JoinTerms
        from headrace.kernel.join import Form

        _check_choices(
            how=(how, ("inner", "left")),
            fallback=(fallback, ("hash", "error")),
            on_error=(on_error, ("abort", "skip", "collect")),
        )
        if errors is not None and on_error != "collect":
            raise UsageError("errors are kept only with on_error='collect'")
        if isinstance(pick, str):
            raise UsageError(f"pick is a list of fields, such as [{pick!r}]")
        form = Form(
            how == "inner",
            target,
            None if pick is None else tuple(pick),
            prefix,
            indicator,
        )
        if target is not None and target == indicator:
            raise UsageError(f"target and indicator are both called {target!r}")
        terms = JoinTerms(
            *keys_of(on, left_on, right_on),
            form,
            typed=not text_keys,
            memory=parse_size(memory),
            max_line=self._options.max_line,
            max_depth=self._max_depth,
            on_error="abort" if strict else on_error,
            strict=strict,
        )
        other = self._opened_other(right)
        _refuse_shared_pipes([self._open(), other._open()])
        return JoinResult(
            Side(self._open(), self._name()),
            Side(other._open(), other._name(), self._options.keeping.directory),
            terms,
            Wanted(index, fallback),
            errors,
            tell,
        )

    def get(
        self, on: str | Sequence[str], value: Key, *, typed: bool = False
    ) -> list[T_co]:
        """Return the rows in which the field `on`, or several together, have a value.

        A file with a key index that fits is not scanned; the rows are the same. A number
        matches as in `KeyIndex.get`. Rows in which the field is missing, null or nested do not
        match; bad lines are skipped.
        """
        from headrace.kernel.key_index import request

        _refuse_times(self._open(), "get looks through all lines", "use a query")
        found: list[T_co] = []
        for index in self._key_indexes(on):
            asked = request(value, index.key, typed=typed)
            for _, rows in index.answers([asked]):
                batch = Batch(index.source.location, rows, numbered=False)
                found += self._decoded(batch)
        return found

    def _key_indexes(self, on: str | Sequence[str]) -> list[KeyIndex]:
        from headrace.api.index.key import KeyIndex, warn_unless_missing
        from headrace.api.index.key_build import fields_of
        from headrace.store.index.target import set_of

        self._open()
        fields = fields_of(on)

        def opened(source: Source | ShardSet) -> KeyIndex:
            return KeyIndex(
                source,
                fields,
                index_dir=self._options.keeping.directory,
                max_line=self._options.max_line,
                max_depth=self._max_depth,
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

    def explain(self, query: str, *, mode: Literal["row", "stream"] = "row") -> str:
        """Return what a query would do, one step on a line."""
        from headrace.physical.explain import explain

        return explain(query, stream=mode == "stream")

    def _opened_names(
        self,
        query: str,
        plan: QueryPlan,
        names: Mapping[str, SourceSpec | Dataset[Any]],
    ) -> dict[str, tuple[Rows, ...]]:
        from headrace.logical.encode.compiler import unknown_source

        opened = {}
        for name, offset in plan.names:
            if name not in names:
                raise unknown_source(query, name, offset, names)
            opened[name] = self._opened_other(names[name])._open()
        _refuse_shared_pipes([self._open(), *opened.values()])
        return opened

    def _opened_other(self, source: SourceSpec | Dataset[Any]) -> Dataset[Any]:
        """Return another source as a data set that is closed with this one."""
        if isinstance(source, Dataset):
            return source
        other: Dataset[Any] = Dataset(
            tuple(expand(source, blocks=self._options.blocks)),
            self._options,
            max_depth=self._max_depth,
            raw=False,
        )
        self._named.append(other)
        return other

    # Everything

    def count(
        self,
        progress: Progress = lambda _done, _total: None,
        *,
        engine: Literal["local", "spark"] = "local",
        master: str | None = None,
        partition_bytes: int | str | None = None,
    ) -> int:
        """Count the rows. Unlike ``len``, it does not keep what comes out of a pipe.

        With the engine ``"spark"``, tasks at `master` read `partition_bytes` of the files each;
        row indexes that are kept are the same.
        """
        from headrace.api.local_engine import refuse_for_local

        _check_choices(engine=(engine, ("local", "spark")))
        if engine == "spark":
            from headrace.api.spark import count_with_spark

            return count_with_spark(self._open(), master, partition_bytes, progress)
        refuse_for_local(master=master, partition_bytes=partition_bytes)
        size = total_size(self.sources)
        total = before = 0
        for file in self._open():

            def report(done: int, before: int = before) -> None:
                progress(before + done, size)

            total += file.total(report, use_up=True)
            before += 0 if file.source.is_pipe else file.source.size
        return total

    def stats(
        self,
        threads: int | None = None,
        progress: Progress = lambda _done, _total: None,
        *,
        engine: Literal["local", "spark"] = "local",
        master: str | None = None,
        partition_bytes: int | str | None = None,
    ) -> Stats:
        """Check every line, in parallel, and count them by kind.

        With the engine ``"spark"``, tasks at `master` read `partition_bytes` of the files each.
        """
        from headrace.api.local_engine import refuse_for_local

        _check_choices(engine=(engine, ("local", "spark")))
        if engine == "spark":
            if threads is not None:
                raise UsageError("threads is for engine='local' (--engine local)")
            return self._stats_with_spark(master, partition_bytes, progress)
        refuse_for_local(master=master, partition_bytes=partition_bytes)
        if any(source.is_pipe or source.times for source in self.sources):
            return self._stats_in_order()
        from headrace.engines.local import tally

        size = total_size(self.sources)
        return tally.tally(
            self.sources,
            max_line=self._options.max_line,
            max_depth=self._max_depth,
            threads=threads,
            decoding=self._options.decoding,
            progress=lambda done: progress(done, size),
        )

    def _stats_with_spark(
        self, master: str | None, partition_bytes: int | str | None, progress: Progress
    ) -> Stats:
        from headrace.api.spark import stats_with_spark
        from headrace.engines.rows.tally import Tallying

        decoding = self._options.decoding._replace(threads=1)
        how = Tallying(self._options.max_line, self._max_depth, decoding)
        try:
            return stats_with_spark(
                self._open(), how, master, partition_bytes, progress
            )
        except UnusableTableError:
            # In doubt, scan: who reads the file here finds out what is wrong, and says so.
            return self.stats(progress=progress)

    def _stats_in_order(self) -> Stats:
        total = Stats()
        for file in self._open():
            counted = Tally(file.source.location, self._max_depth)
            for rows in file.batches():
                counted.add(rows)
            total += counted.stats
        return total

    # Decoding

    def _decoded(self, batch: Batch) -> Iterator[T_co]:
        if not self._is_raw:
            values, refused = batch.rows.values(self._max_depth)
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
        """Return what is wrong with a row of a batch."""
        line = batch.line(position)
        length = dict(batch.rows.too_long).get(position)
        if length is None:
            return BadRowError(batch.path, line, offset, reason)
        limit = self._options.max_line
        return LineTooLongError(batch.path, line, offset, length, limit)

    # What is open

    def bytes_read(self) -> int:
        """Return how many bytes of the sources were read so far."""
        return sum(file.bytes_read() for file in self._files)

    def close(self) -> None:
        """End the work in the background and close the files; the next use opens them again."""
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
    """Whether the first row begins behind a byte order mark."""
    if not isinstance(file, RowFile):
        return False
    data, _size = file.positions()
    with reading(file.source.location):
        return data.read_at(0, len(BOM_UTF8)) == BOM_UTF8


def _rows_of(source: Source, options: RowOptions) -> Rows:
    if isinstance(source.origin, RowProvider):
        return ProviderRows(source, source.origin)
    if source.times is not None:
        from headrace.store.log.read.timed_rows import TimedRows

        return TimedRows(source, options)
    return row_file(source, options)


def _refuse_times(files: Iterable[Rows], reason: str, instead: str) -> None:
    """Refuse what reads whole files, where only lines with certain times are meant."""
    for rows in files:
        if rows.source.times is not None:
            raise UsageError(
                f"{rows.source.location}: {reason}; leave out since and until, or {instead}"
            )


def _check_shape(shape: str | None, *, is_row: bool) -> None:
    if shape is not None and is_row:
        raise UsageError(
            f"shape={shape!r} (--{shape}) is about the answer of all rows; the query is "
            "about each row: write $.rows().map(...)"
        )


def _check_choices(**options: tuple[str | None, tuple[str | None, ...]]) -> None:
    """Refuse a misspelt option: what it stands for would not happen."""
    for name, (value, choices) in options.items():
        if value not in choices:
            known = ", ".join(repr(choice) for choice in choices)
            raise UsageError(f"{name} is one of {known}, not {value!r}")


def _refuse_shared_pipes(opened: Iterable[tuple[Rows, ...]]) -> None:
    """Two readers of one pipe would each get a part of its rows."""
    readers: dict[str | int, Rows] = {}
    for rows in (rows for files in opened for rows in files if rows.source.is_pipe):
        source = rows.source
        pipe = source.location if source.origin is None else id(source.origin)
        if readers.setdefault(pipe, rows) is not rows:
            raise UsageError(f"{source.location}: a pipe can be read only once")
