"""Asking: the query language over one document, or over the rows of a data set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from headrace.api.bad_rows import as_line
from headrace.api.formats.kinds import load, named, target
from headrace.api.formats.layout import Layout
from headrace.engines.query_run import QueryRun, warn_of_memory
from headrace.errors import MissingExtraError
from headrace.kernel.blocks import codecs as block_codecs
from headrace.kernel.programs import Program
from headrace.kernel.table import Compressor
from headrace.kernel.values import DEEPEST, MAX_DEPTH, parse
from headrace.language import parser
from headrace.language.routine import deep
from headrace.logical.columns import columns_of
from headrace.logical.compiler import compile_query
from headrace.logical.stream import plan_stream
from headrace.physical.distribution import described
from headrace.physical.explain import explain
from headrace.store.atomic import destination, replacing, write_atomically
from headrace.store.shards.line_writer import LineWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas
    import polars
    import pyarrow

    from headrace.api.formats.kinds import FormatName
    from headrace.engines.query_run import BadRow, QueryOptions, Rows
    from headrace.errors import HeadraceError
    from headrace.kernel.programs import Counts
    from headrace.physical.query_plan import QueryPlan

    Errors: TypeAlias = str | os.PathLike[str] | Callable[[BadRow], object]


@lru_cache(maxsize=256)
def prepare(query: str) -> Program:
    """Compile a query about one document."""
    with deep():
        return Program(query, compile_query(query, parser.parse(query)))


def evaluate(query: str, document: bytes, max_depth: int = MAX_DEPTH) -> bytes:
    """Return the answer to a query over one JSON document, as JSON.

    >>> evaluate("$.a + 1", b'{"a": 41}')
    b'42'
    """
    return prepare(query).evaluate(document, max_depth)


@dataclass(frozen=True, slots=True)
class QueryStats:
    """What a run did with the rows; rows = emitted + filtered + skipped + blank.

    `bad` of the skipped rows could not be asked; `errors` has the first of them. `named`
    has the same counts of named sources, each time one was read.
    """

    rows: int
    emitted: int
    filtered: int
    skipped: int
    blank: int
    bad: int
    errors: tuple[HeadraceError, ...]
    named: tuple[tuple[str, Counts], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A query as it was asked."""

    query: str
    stream: bool
    engine: Literal["local", "spark"] = "local"


class QueryResult:
    """The answers to a query, computed while they are read.

    Each way of reading runs the query anew. `stats` tells of the last run, and
    `notes` what its output does not show as it is. Rows that are passed over go to
    `errors`: the path of a file that is there when the run is over, or a function.
    `warn` is told when a run holds most of the memory it may. `start` makes a run, by
    the engine that was chosen.
    """

    def __init__(
        self,
        plan: QueryPlan,
        files: Sequence[Rows],
        named: Mapping[str, Sequence[Rows]],
        options: QueryOptions,
        question: Question,
        errors: Errors | None = None,
        start: Callable[[QueryPlan, QueryOptions], QueryRun] = QueryRun,
    ) -> None:
        self.plan = plan
        self.notes: list[str] = []
        self.warn: Callable[[str], None] = warn_of_memory
        self._files = files
        self._named = named
        self._options = options
        self._question = question
        self._errors = errors
        self._start = start
        self.run = start(plan, options)

    def lines(self) -> Iterator[bytes]:
        """Yield the answers as lines of JSON, many at a time."""
        self.notes = []
        self.run = self._start(self.plan, self._options)
        self.run.warn = self.warn
        if self._errors is None:
            return self.run.answers(self._files, self._named)
        if not callable(self._errors):
            return self._collecting(self._errors)
        self.run.tell = self._errors
        return self.run.answers(self._files, self._named)

    def _collecting(self, path: str | os.PathLike[str]) -> Iterator[bytes]:
        with replacing(destination(path)) as file:
            self.run.tell = lambda row: file.write(as_line(row))
            yield from self.run.answers(self._files, self._named)

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

    # What it does and did

    def explain(self) -> str:
        """Return what the query does, one step on a line."""
        told = explain(self._question.query, stream=self._question.stream)
        if self._question.engine == "spark":
            return f"{told}\n{described(self.plan)}"
        return told

    @property
    def stats(self) -> QueryStats:
        """What the last run did with the rows so far."""
        counts, run = self.run.counts, self.run
        return QueryStats(
            counts.rows,
            counts.emitted,
            counts.filtered,
            counts.skipped,
            counts.blank,
            run.bad,
            tuple(run.errors),
            tuple(run.readings),
        )

    # Files

    def write(
        self, path: str | os.PathLike[str], format: FormatName | None = None
    ) -> int:
        """Write the answers to a file, which appears when it is whole; return how many.

        The end of its name says the format, unless told, and the compression. Lines of
        JSON are compressed in blocks, so that the file can be entered anywhere.
        """
        chosen, codec = target(path, format)
        count = 0

        def counted() -> Iterator[bytes]:
            nonlocal count
            for lines in self.lines():
                count += lines.count(b"\n")
                yield lines

        content = self._formatted(counted(), chosen.name)
        if chosen.name == "ndjson" and codec != "none" and codec in block_codecs():
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

        `width` is that of the terminal, for a table that must fit.
        """
        return self._formatted(self.lines(), format, width)

    def _formatted(
        self, answers: Iterator[bytes], format: FormatName, width: int | None = None
    ) -> Iterator[bytes]:
        layout = replace(self._layout(), width=width)
        return iter(load(named(format)).write(answers, layout))

    def _layout(self) -> Layout:
        columns = None
        if self._options.output == "answer":
            tree = parser.parse(self._question.query)
            stream = plan_stream(tree, whole=self._question.stream) is not None
            columns = columns_of(tree, stream=stream)
        return Layout(self._note, columns)

    def _note(self, text: str) -> None:
        self.notes.append(text)

    # Data frames

    def to_arrow(self) -> pyarrow.Table:
        """Return all answers as an Arrow table, whose types fit all of them."""
        from headrace.api.formats.arrow import as_table

        return as_table(self.lines(), self._layout())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the answers to whoever takes Arrow, batch by batch."""
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


def _compressed(content: Iterator[bytes], codec: str) -> Iterator[bytes]:
    compressor = Compressor(codec)
    for piece in content:
        yield compressor.add(piece)
    yield compressor.finish()
