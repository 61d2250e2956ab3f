"""Task of a query: it runs a `TaskQuery` over the rows of fragments, and returns chunks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.engines.query import failed_rows
from headrace.engines.query.report import RunReport
from headrace.engines.query.run import GROUP_BYTES, ProvenIndexes, begin
from headrace.engines.query.scan import QueryInput, counts_up_to_refusal, together
from headrace.engines.rows.fragment import rows_of
from headrace.engines.spark.query.survey_task import SurveyedRows
from headrace.engines.spark.query.task_query import Chunk, JoinKey, RefusedRow
from headrace.errors import HeadraceError, QueryFailedError, UnusableTableError
from headrace.kernel.programs import Counts, RowQuery, SiftedRow, StreamQuery
from headrace.physical.query_plan import QueryPlan, RowPlan, StreamPlan
from headrace.store.rows.row_file import BATCH_BYTES, BATCH_ROWS, RowFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.engines.spark.query.task_query import TaskQuery
    from headrace.kernel.programs import GroupParts, Refused
    from headrace.kernel.rows import RowBatch
    from headrace.kernel.sort_keys import KeyedElements, KeyedRows
    from headrace.physical.fragment import Fragment

CHUNK_BYTES = 1 << 20
"""A chunk ends when it holds this many bytes."""

_REDUCED = ("parts", "groups")

MOST_REFUSED = 1000
"""A chunk ends when it has this many refused rows."""

ROWS_LOOKED_UP = 1 << 16
"""The number of rows whose keys are looked up together, for a join by an index."""


class TaskRun:
    """A query in one worker process: its join tables are read once for all fragments."""

    def __init__(self, query: TaskQuery) -> None:
        self.query = query
        form = query.form
        options = replace(query.options, nulls=form.nulls, limit=form.limit, threads=1)
        named = {
            name: [RowFile(source, query.reading) for source in sources]
            for name, sources in query.named.items()
        }
        self._indexes = ProvenIndexes(query.by_index, query.proven)
        given = QueryInput(QueryPlan(query.plans[0], (), ()), options, named=named)
        # The driver warns.
        report = RunReport(options.on_error, lambda _message: None)
        self._run = begin(given, report, self._indexes)
        if query.known is not None:
            self._run.set_known(query.known)

    def queries(self) -> list[RowQuery | StreamQuery]:
        """Return new queries for the rows."""
        query = self.query
        made: list[RowQuery | StreamQuery] = []
        for plan in query.plans:
            if isinstance(plan, RowPlan):
                made.append(self._run.row_query(plan))
            elif query.output == "lines":
                made.append(self._run.lines_query(plan, query.form))
            elif query.output == "rows":
                made.append(self._run.stream_query(plan, "count"))
            else:
                made.append(self._run.reducing_query(plan))
        return made

    def run(self, fragments: Iterable[Fragment]) -> Iterator[Chunk]:
        """Yield the chunks of some fragments, up to a row or a file that ends the query."""
        for number, fragment in enumerate(fragments):
            for chunk in self._run_ranges(fragment, number):
                yield chunk
                # Behind a file whose table is wrong, the driver goes on with the next.
                failed = chunk.failure is not None and not isinstance(
                    chunk.failure, UnusableTableError
                )
                if failed or (chunk.refused and self.query.aborts):
                    return

    def _run_ranges(self, fragment: Fragment, number: int) -> Iterator[Chunk]:
        """Yield the chunks of a fragment; its rows are joined a range at a time."""
        first, most = 0, self._most_rows
        while True:
            rows = 0
            stop = None if most is None else first + most
            for chunk in self.run_rows(fragment, number, first=first, stop=stop):
                rows += chunk.rows
                yield chunk
            if most is None or rows < most:
                return
            first += rows

    @property
    def _most_rows(self) -> int | None:
        key = self.query.key
        looks_up = isinstance(key, JoinKey) and key.lookup is not None
        return ROWS_LOOKED_UP if looks_up or self.query.by_index else None

    def run_rows(
        self,
        fragment: Fragment,
        number: int,
        *,
        first: int = 0,
        stop: int | None = None,
    ) -> Iterator[Chunk]:
        """Yield the chunks of the rows of a fragment from row `first` on, up to `stop`."""
        self._set_rows(partial(self.rows, fragment, first, stop))
        rows: _QueriedRows | SurveyedRows = _QueriedRows(self, Chunk(number, first))
        if self.query.output == "survey":
            rows = SurveyedRows(
                rows.chunk,
                self._keyed_rows,
                self.refuse,
                aborts=self.query.aborts,
                needs_keys=isinstance(self.query.key, JoinKey),
            )
        try:
            rows.begin()
            for batch in self.rows(fragment, first, stop):
                yield from rows.take(batch)
                if rows.ended:
                    break
            rows.end()
            self._survey_lookup(rows.chunk)
        except HeadraceError as error:
            rows.end()
            rows.chunk.failure = error
        yield rows.chunk

    def _survey_lookup(self, chunk: Chunk) -> None:
        """Mark a survey as late if indexes cannot look up all keys of its rows."""
        key, (plan, *_) = self.query.key, self.query.plans
        if not isinstance(key, JoinKey) or key.lookup is None:
            return
        assert isinstance(plan, StreamPlan)
        assert chunk.survey is not None
        if not self._run.can_look_up(plan, key.lookup):
            chunk.survey = replace(chunk.survey, late=True)

    def _set_rows(self, rows: Callable[[], Iterator[RowBatch]]) -> None:
        """Set the rows that are joined next; tables for the rows before are discarded."""
        self._run.table_access = replace(self._indexes, rows=rows)
        self._run.discard_tables(self._indexes.joins)

    def keyed(
        self, tasks: Sequence[Sequence[Fragment]], task: int
    ) -> Iterator[tuple[int, int, KeyedElements]]:
        """Yield elements with their keys, the fragment, and the row that positions count from."""
        assert self.query.key is not None
        _, stop = self.query.key.stop or (None, None)
        last = len(tasks) - 1, len(tasks[task]) - 1
        for number, fragment in enumerate(tasks[task]):
            until = stop if (task, number) == last else None
            for batches in self._ranges(fragment, until):
                self._set_rows(batches)
                rows = self._keyed_rows()
                for batch in batches():
                    yield number, batch.first_row, rows.of(batch)

    def _ranges(
        self, fragment: Fragment, until: int | None
    ) -> Iterator[Callable[[], Iterator[RowBatch]]]:
        """Yield readers of the rows of a fragment, one for each range that is joined together."""
        first, most = 0, self._most_rows
        while until is None or first < until:
            stop = until
            if most is not None:
                stop = first + most if until is None else min(first + most, until)
            batches = partial(self.rows, fragment, first, stop)
            yield batches
            if stop is None or next(self.rows(fragment, stop, None), None) is None:
                return
            first = stop

    def _keyed_rows(self) -> KeyedRows:
        (plan,), key = self.query.plans, self.query.key
        assert isinstance(plan, StreamPlan)
        assert key is not None
        return self._run.keyed_rows(
            plan,
            key.code,
            replace(plan, stages=key.then),
            descending=key.descending,
            joins=isinstance(key, JoinKey),
            compact=key.compact,
        )

    def groups(self, fragments: Iterable[Fragment]) -> Iterator[tuple[int, GroupParts]]:
        """Yield the groups of fragments, with how many elements came before them."""
        before = 0
        for chunk in self.run(fragments):
            if chunk.failure is not None:
                raise chunk.failure
            assert chunk.groups is not None
            yield before, chunk.groups
            before += chunk.groups.came

    def of_reduction(self, plan: StreamPlan, reason: str) -> QueryFailedError:
        """Return the error of the reduction of a plan."""
        return failed_rows.of_reduction(
            self._run, plan, QueryFailedError("", 0, reason)
        )

    def of_rest(self, plan: StreamPlan, error: QueryFailedError) -> QueryFailedError:
        """Return the error of what runs on the reduction of a plan."""
        return failed_rows.of_rest(self._run, plan, error)

    def reducing_query(self, plan: StreamPlan) -> StreamQuery:
        """Return the query that reduces elements to one value."""
        return self._run.reducing_query(plan)

    def rows(
        self, fragment: Fragment, first: int, stop: int | None
    ) -> Iterator[RowBatch]:
        """Read the rows of a fragment from row `first` on, up to `stop`."""
        reading = self.query.reading
        rows = rows_of(
            replace(fragment, first_row=0),
            reading.max_line,
            reading.decoding._replace(threads=1),
        )
        rows.skip(first)
        while stop is None or first < stop:
            wanted = BATCH_ROWS if stop is None else min(BATCH_ROWS, stop - first)
            batch = rows.next_batch(wanted, BATCH_BYTES)
            if batch is None:
                return
            yield batch
            first += len(batch)

    def refuse(self, chunk: Chunk, refused: Refused, batch: RowBatch) -> bool:
        """Add a refused row to a chunk; return whether the chunk is full."""
        raw = None
        # The error of a first line names the layout that its bytes look like.
        if self.query.raw or self.query.aborts:
            (raw,) = batch.slice(refused.row - batch.first_row, 1).contents()
        chunk.refused.append(RefusedRow(refused, raw))
        return len(chunk.refused) >= MOST_REFUSED

    def answers_of(
        self, queries: Sequence[RowQuery | StreamQuery], batch: RowBatch
    ) -> Iterator[tuple[bytes, Refused | None]]:
        """Put the rows of a batch through queries, as the run of a query does."""
        return self._run.scanner.answers_of(queries, batch, reverse=False)


class _QueriedRows:
    """The rows of a fragment that went through the queries, chunk after chunk.

    `ended`: no further row is needed.
    """

    def __init__(self, run: TaskRun, chunk: Chunk) -> None:
        self.chunk = chunk
        self.ended = False
        self._run = run
        self._output = run.query.output
        self._aborts = run.query.aborts
        self._queries: list[RowQuery | StreamQuery] = []
        self._counted = Counts()
        self._held = 0

    def begin(self) -> None:
        """Make new queries; the results of the former ones are in chunks."""
        self._queries = self._run.queries()
        self._counted = Counts()

    def take(self, batch: RowBatch) -> Iterator[Chunk]:
        """Put the rows of a batch through the queries; yield full chunks."""
        sifts = self._output == "rows"
        for _ in self._sift(batch) if sifts else self._answer(batch):
            self.end()
            yield self.chunk
            self.chunk = self.chunk.next()
            self._held = 0
            if self._output in _REDUCED:
                self.begin()

    def end(self) -> None:
        """Set the counts of the chunk, and the parts that its rows were reduced to."""
        chunk = self.chunk
        counts = self._counts()
        counted, self._counted = counts - self._counted, counts
        chunk.rows = counted.rows
        if self._output == "rows":
            left = counted.rows - len(chunk.sifted)
            skipped = left - counted.filtered - counted.blank
            counted = Counts(left, 0, counted.filtered, skipped, counted.blank)
        chunk.counts = counted
        streams = [query for query in self._queries if isinstance(query, StreamQuery)]
        if self._output == "parts":
            chunk.parts = tuple(query.part() for query in streams)
        elif self._output == "groups":
            (groups,) = streams
            chunk.groups = groups.group_parts()

    def _counts(self) -> Counts:
        if self._queries and self._aborts and self.chunk.refused:
            counts = counts_up_to_refusal(self._queries)
            return together(self._queries, counts, len(self.chunk.refused))
        each = (query.counts for query in self._queries)
        counts = max(each, key=lambda counts: counts.rows, default=Counts())
        return together(self._queries, counts, len(self.chunk.refused))

    def _answer(self, batch: RowBatch) -> Iterator[None]:
        """Put the rows of a batch through the queries, and yield where a chunk must end."""
        for lines, refused in self._run.answers_of(self._queries, batch):
            self.chunk.lines += lines
            if refused is not None:
                self._run.refuse(self.chunk, refused, batch)
                if self._aborts:
                    self.ended = True
                    return
        self.ended = all(query.done for query in self._queries)
        if not self.ended and self._is_full():
            yield

    def _is_full(self) -> bool:
        # Reductions to a number do not grow.
        streams = [query for query in self._queries if isinstance(query, StreamQuery)]
        held = sum(query.held for query in streams)
        has_groups = any(query.has_groups for query in streams)
        chunk = self.chunk
        return (
            len(chunk.lines) >= CHUNK_BYTES
            or (
                self._output in _REDUCED
                and held >= (GROUP_BYTES if has_groups else CHUNK_BYTES)
            )
            or len(chunk.refused) >= MOST_REFUSED
        )

    def _sift(self, batch: RowBatch) -> Iterator[None]:
        """Pass on the rows of a batch that are needed, and yield where a chunk must end.

        A row that is too long to be passed on is the last of its chunk.
        """
        (query,) = self._queries
        assert isinstance(query, StreamQuery)
        start = 0
        while start < len(batch):
            rows, start, refused = query.sift(batch, start)
            number = batch.first_row
            self.chunk.sifted += [
                SiftedRow(number + row.position, row.offset, row.content)
                for row in rows
            ]
            self._held += sum(len(row.content) for row in rows)
            if refused is not None:
                self._run.refuse(self.chunk, refused, batch)
                if self._aborts:
                    self.ended = True
                    return
                yield
        if self._held >= CHUNK_BYTES:
            yield
