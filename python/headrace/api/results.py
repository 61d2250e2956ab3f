"""Results of queries and joins: iterated, written to files, or made into tables."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from headrace.api.formats import FormatName, Layout, load, named, target
from headrace.engines.query.options import warn_of_memory
from headrace.engines.query.report import RunReport
from headrace.engines.query.run import Engine, LocalEngine
from headrace.errors import HeadraceError, MissingExtraError, UsageError
from headrace.kernel.programs import Counts, Program
from headrace.kernel.values import DEEPEST, MAX_DEPTH, parse
from headrace.language.traversal import deep
from headrace.logical.encode.compiler import compile_query
from headrace.logical.resolution import read_query
from headrace.record import field, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas
    import polars
    import pyarrow
    from _typeshed import SupportsWrite

    from headrace.api.options import Errors
    from headrace.engines.query.scan import QueryInput


class Result:
    """Answers, computed anew each time; `notes` are the values that the last output changed."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def lines(self) -> Iterator[bytes]:
        """Yield the answers as lines of JSON, many at a time."""
        raise NotImplementedError

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of `lines`; a piece may be a part of a long line."""
        return self.lines()

    def _columns(self) -> tuple[str, ...] | None:
        """Return the columns that the query names, if it does."""
        return None

    def _layout(self, schema: pyarrow.Schema | None = None) -> Layout:
        return Layout(self._note, self._columns(), schema=schema)

    def _note(self, text: str) -> None:
        self.notes.append(text)

    def __iter__(self) -> Iterator[Any]:
        for lines in self.lines():
            # Every line ends with a newline, so the last piece is empty.
            for line in lines.split(b"\n")[:-1]:
                yield parse(line, DEEPEST)

    def to_list(self) -> list[Any]:
        """Return all answers."""
        return list(self)

    def count(self) -> int:
        """Return how many answers there are."""
        return sum(lines.count(b"\n") for lines in self.lines())

    # Files

    def write(
        self,
        path: str | os.PathLike[str] | SupportsWrite[bytes],
        format: FormatName | None = None,
        *,
        schema: pyarrow.Schema | None = None,
    ) -> int:
        """Write the answers to a file, which appears when it is whole; return how many.

        The format is that of the end of its name, before that of a compression [default of
        an open file: ndjson]. Lines of JSON are compressed in blocks, so that a reader can
        begin anywhere. `schema` has the types of the columns of Parquet.
        """
        from headrace.kernel.blocks import codecs as block_codecs
        from headrace.store.files.atomic import destination, write_atomically

        count = 0

        def counted(answers: Iterator[bytes]) -> Iterator[bytes]:
            nonlocal count
            for lines in answers:
                count += lines.count(b"\n")
                yield lines

        if not isinstance(path, str | os.PathLike):
            name = named(format or "ndjson").name
            for piece in self._formatted(counted(self.lines()), name, schema=schema):
                path.write(piece)
            return count
        chosen, codec = target(path, format)
        in_blocks = codec != "none" and codec in block_codecs()
        whole = chosen.name != "ndjson" or in_blocks
        answers = counted(self.lines() if whole else self.pieces())
        content = self._formatted(answers, chosen.name, schema=schema)
        if chosen.name == "ndjson" and in_blocks:
            from headrace.store.shards.write.line_writer import LineWriter

            with LineWriter(path, codec=codec, validate=False) as writer:
                for lines in content:
                    writer.write_lines(lines)
            return count
        if codec != "none":
            content = _compressed(content, codec)
        write_atomically(destination(path), content)
        return count

    def formatted(
        self, format: FormatName = "ndjson", *, width: int | None = None
    ) -> Iterator[bytes]:
        """Yield the answers as the bytes of a file, piece by piece.

        `width` is the columns of the terminal that a table has to fit in.
        """
        answers = self.pieces() if format == "ndjson" else self.lines()
        return self._formatted(answers, format, width)

    def _formatted(
        self,
        answers: Iterator[bytes],
        format: FormatName,
        width: int | None = None,
        schema: pyarrow.Schema | None = None,
    ) -> Iterator[bytes]:
        chosen = named(format)
        if schema is not None and not chosen.typed:
            raise UsageError(f"{chosen.name} has no types; leave out the schema")
        columns = None if chosen.live else self._columns()
        layout = Layout(self._note, columns, width, schema)
        return iter(load(chosen)(answers, layout))

    # Data frames

    def to_arrow(self, schema: pyarrow.Schema | None = None) -> pyarrow.Table:
        """Return all answers as an Arrow table, of the types of `schema`, or that fit all of them."""
        from headrace.api.formats.arrow import as_table

        return as_table(self.lines(), self._layout(schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the answers as an Arrow stream, batch by batch."""
        from headrace.api.formats.arrow import as_reader

        reader = as_reader(self.lines(), self._layout())
        return reader.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all answers as a pandas data frame; integers stay integers."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas") from error
        table = self.to_arrow()
        exact = {"int64": pd.Int64Dtype(), "bool": pd.BooleanDtype()}
        return table.to_pandas(types_mapper=lambda kind: exact.get(str(kind)))

    def to_polars(self) -> polars.DataFrame:
        """Return all answers as a polars data frame."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("polars", "polars") from error
        return pl.DataFrame(self.to_arrow())


def whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    r"""Yield the same bytes with all pieces of a line in one.

    >>> list(whole_lines(iter([b"1\n2\n", b"[3,", b"4]", b"\n5\n"])))
    [b'1\n2\n', b'[3,4]\n5\n']
    """
    held = []
    for piece in pieces:
        held.append(piece)
        if piece.endswith(b"\n"):
            yield b"".join(held)
            held = []


def _compressed(content: Iterator[bytes], codec: str) -> Iterator[bytes]:
    from headrace.kernel.cells import Compressor

    compressor = Compressor(codec)
    for piece in content:
        yield compressor.add(piece)
    yield compressor.finish()


@lru_cache(maxsize=256)
def prepare(query: str, *, strict_types: bool = False) -> Program:
    """Compile a query about one document."""
    with deep():
        tree = read_query(query)
        return Program(query, compile_query(query, tree, strict=strict_types))


def evaluate(
    query: str,
    document: bytes,
    max_depth: int = MAX_DEPTH,
    *,
    strict_types: bool = False,
) -> bytes:
    """Return the answer to a query over one JSON document, as JSON.

    With `strict_types`, a value of a kind that an operation is not for is an error.

    >>> evaluate("$.a + 1", b'{"a": 41}')
    b'42'
    """
    program = prepare(query, strict_types=strict_types)
    return program.evaluate(document, max_depth)


@record
class QueryWork:
    """What a run of a query took.

    Of the rows, `parsed` were read, and `unread` were not, because an index or the times left them
    out. `bytes_read` are those of all sources, as they are stored. `threads` read the rows of one
    source at the same time; 0 if no rows were read. `memory` is what the query held at most, in
    bytes, as the limit of memory counts it.

    `seconds` is the time of the run, `cpu_seconds` that of all processors in this process. The
    others are the times of stages, added up over all threads: `read_seconds` for input,
    decompression and the ends of rows, `evaluate_seconds` for parsing rows and running the query
    over them, `merge_seconds` for the results of threads, `finish_seconds` for what is left when
    all rows were read, and `write_seconds` until the caller needs further answers: their output.
    """

    parsed: int = 0
    unread: int = 0
    bytes_read: int = 0
    threads: int = 0
    memory: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    read_seconds: float = 0.0
    evaluate_seconds: float = 0.0
    merge_seconds: float = 0.0
    finish_seconds: float = 0.0
    write_seconds: float = 0.0


@record
class QueryStats:
    """Counts of rows: rows = emitted + filtered + skipped + blank + outside.

    `bad` of the skipped rows failed; `errors` has the first of them. `named` has the same
    counts for each time a named source was read. `outside` are lines of logs outside `since`
    and `until`.

    `work` is what the run took; it does not matter when stats are compared.
    """

    rows: int
    emitted: int
    filtered: int
    skipped: int
    blank: int
    bad: int
    errors: tuple[HeadraceError, ...]
    named: tuple[tuple[str, Counts], ...]
    outside: int = 0
    work: QueryWork = field(default_factory=QueryWork, compare=False)


class QueryResult(Result):
    """The answers to a query, computed when they are read.

    Each read runs the query again. `report` and `stats` describe the last run. Skipped bad rows
    go to `errors`: the path of a file that appears when the run is over, or a function. `warn`
    is called when a run holds most of the memory that it may.
    """

    def __init__(
        self,
        query: QueryInput,
        *,
        stream: bool = False,
        where: str | None = None,
        errors: Errors | None = None,
        engine: Engine | None = None,
    ) -> None:
        super().__init__()
        self.query = query
        self.warn: Callable[[str], None] = warn_of_memory
        self.report = RunReport(query.options.on_error, files=query.files)
        self._stream = stream
        self._where = where
        self._errors = errors
        self._engine = engine or LocalEngine()
        # Whether the last run that came to its end gave any answer.
        self._printed: bool | None = None

    def lines(self) -> Iterator[bytes]:
        """Yield the answers as lines of JSON, many at a time."""
        return whole_lines(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of `lines`; a piece may be a part of a long line."""
        self.notes = []
        self._printed = None
        self.report = RunReport(self.query.options.on_error, self.warn)
        return self._answers() if self._errors is None else self._reporting()

    def _answers(self) -> Iterator[bytes]:
        printed = False
        answers = self._engine.answers(self.query, self.report)
        for piece in self.report.timed(answers):
            printed = True
            yield piece
        self._printed = printed

    def _reporting(self) -> Iterator[bytes]:
        from headrace.engines.rows.rejected import reporting

        with reporting(self._errors) as self.report.on_bad_row:
            yield from self._answers()

    def write(
        self,
        path: str | os.PathLike[str] | SupportsWrite[bytes],
        format: FormatName | None = None,
        *,
        schema: pyarrow.Schema | None = None,
    ) -> int:
        """Write the answers to a file; see `Result.write`."""
        count = super().write(path, format, schema=schema)
        self.report.end_output()
        return count

    # Explanation and counts

    def explain(self, *, analyze: bool = False) -> str:
        """Return the steps of the query, one on a line.

        With `analyze`, the query runs, its output is counted, and each step has what was measured
        of it in brackets.
        """
        from headrace.engines.query.explain import analyzed, explain_query

        run, local = None, isinstance(self._engine, LocalEngine)
        if analyze:
            if not local:
                raise UsageError(
                    "analyze (--analyze) measures this process, and Spark's tasks read the "
                    "rows; use engine='local' (--engine local)"
                )
            run = analyzed(self.query, self.warn)
            self.report, self._printed = run.report, None
        text = explain_query(
            self.query, stream=self._stream, where=self._where, local=local, run=run
        )
        return "\n".join(filter(None, [*text, *self._engine.explain(self.query)]))

    @property
    def stats(self) -> QueryStats:
        """The counts of the last run so far."""
        counts, report = self.report.counts, self.report
        return QueryStats(
            counts.rows,
            counts.emitted,
            counts.filtered,
            counts.skipped,
            counts.blank,
            report.bad,
            tuple(report.errors),
            tuple(report.named),
            counts.outside,
            self._work(counts.rows),
        )

    def _work(self, rows: int) -> QueryWork:
        report = self.report
        work, (seconds, cpu_seconds) = report.work, report.seconds
        local = isinstance(self._engine, LocalEngine)
        return QueryWork(
            parsed=report.read.rows,
            unread=rows - report.read.rows,
            bytes_read=work.bytes + (0 if local else report.bytes_by_tasks),
            threads=max((scan.threads for scan in report.scans), default=0),
            memory=work.held,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            read_seconds=work.read,
            evaluate_seconds=work.evaluate,
            merge_seconds=work.merge,
            finish_seconds=sum(report.finished.values(), 0.0),
            write_seconds=report.write,
        )

    @property
    def hint(self) -> str:
        """Why the last run had no answers, and which fields of the query no row has; else empty.

        A misspelt field or forgotten parentheses give null, which is no answer, or a total of 0.
        The first rows are read again for this; see `headrace.api.query_hint`.
        """
        if self._printed is None:
            return ""
        from headrace.api.query_hint import hint_of

        return hint_of(
            self.query, self.report, stream=self._stream, printed=self._printed
        )

    def _columns(self) -> tuple[str, ...] | None:
        if self.query.options.output != "answer":
            return None
        from headrace.logical.columns import columns_of
        from headrace.logical.stream_planner import plan_stream

        with deep():
            tree = self.query.plan.tree
            stream = plan_stream(tree, whole=self._stream) is not None
            return columns_of(tree, stream=stream)
