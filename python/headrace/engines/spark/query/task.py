"""What a task does for a query: it asks the rows of its fragments.

A task gets a `TaskQuery`, plain data, and gives `Chunk` after `Chunk`: what became of a run
of rows of one fragment, up to one that has no answer and ends the query. What goes wrong
with a file is part of a chunk too, so that the driver can raise it in its place, behind all
that comes before it.

Rows are numbered from the first of their fragment: how many there are before it in its file
is known to the driver, who has the chunks of those.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from headrace.engines.query.run import QueryRun
from headrace.engines.query.scan import counts_up_to_refusal
from headrace.engines.rows.fragment import rows_of
from headrace.engines.spark.query.survey_task import Looking
from headrace.errors import HeadraceError, UnusableTableError
from headrace.kernel.programs import Counts, RowQuery, SiftedRow, Stage, StreamQuery
from headrace.physical import access
from headrace.physical.query_plan import QueryPlan, RowPlan, StreamPlan
from headrace.store.index.key_scan import KeyRows
from headrace.store.rows.demand import KeySet
from headrace.store.rows.row_file import (
    BATCH_BYTES,
    BATCH_ROWS,
    RowFile,
    RowOptions,
    row_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from headrace.engines.query.options import QueryOptions
    from headrace.engines.query.scan import Pass, Rows
    from headrace.engines.spark.query.survey_task import Looked
    from headrace.kernel.programs import JoinTable, Refused
    from headrace.kernel.rows import RowBatch
    from headrace.kernel.sort_keys import KeyedElements, KeyedRows
    from headrace.physical.fragment import Fragment
    from headrace.physical.query_plan import GroupPlan, JoinPlan, StagePlan
    from headrace.store.files.source import Source
    from headrace.store.index.key_scan import Proven
    from headrace.store.rows.demand import NoKeyRows

Gives: TypeAlias = Literal["lines", "parts", "rows", "keys", "shuffled"]

CHUNK_BYTES = 1 << 20
"""A chunk ends when it holds so much."""

_NUMBERS = ("count", "sum", "avg", "min", "max")

MOST_REFUSED = 1000
"""Or when it has so many rows without an answer."""

ROWS_LOOKED_UP = 1 << 16
"""Rows whose keys are looked up together, where a join goes by an index."""


@dataclass(frozen=True, slots=True)
class Keying:
    """How what comes out of the stages is shuffled: by the key whose code this is.

    If there are any in `falling`, it is an array of so many keys, of which those are in
    reverse order. Elements go through `then` before that. With `compact`, a row that is an element is
    written as others are. `joins`: it is for a join, which finds nothing by some keys, and
    an element without a key is as wrong as its row. `stop` is the place of a row: only
    those before it are shuffled, and its fragment is the last one that tasks have. Nothing is
    shuffled for a join that is to be `looked_up`: it is only seen whether its keys can be.
    """

    key: bytes
    then: tuple[StagePlan, ...] = ()
    falling: tuple[bool, ...] = ()
    compact: bool = False
    joins: bool = False
    stop: tuple[int, int] | None = None
    looked_up: JoinPlan | None = None


@dataclass(frozen=True, slots=True)
class Sorting:
    """Elements are put in the order of their keys, divided by `bounds`."""

    bounds: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Firsts:
    """The first element of each key, in the order of the rows.

    If there is `behind`, tasks ask that of them; otherwise they are passed on as rows.
    """

    buckets: int
    behind: StreamPlan | None


@dataclass(frozen=True, slots=True)
class Joined:
    """Elements joined with those of the tasks of another side, in the order of the rows.

    `behind` is as that of `Firsts`.
    """

    join: JoinPlan
    other: TaskQuery
    tasks: tuple[tuple[Fragment, ...], ...]
    buckets: int
    behind: StreamPlan | None


@dataclass(frozen=True, slots=True)
class Grouped:
    """Elements are put into groups by their keys, in the order in which these first come."""

    plan: GroupPlan
    buckets: int


Shuffle: TypeAlias = "Sorting | Firsts | Joined | Grouped"


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """What rows are asked, and what is given: see `headrace.physical.distribution`.

    There are several plans only where what they reduce rows to is given. `known` are the
    answers to questions that the programs have by number, `named` the sources that joins
    read. `raw`: rows without an answer are given with their bytes. With ``keys``, elements
    are only looked at; with ``shuffled``, they are given as `shuffle` says. Of the joins, some go
    `by_index`: the right rows that they need are found by indexes that are `proven` to be those of
    the files.
    """

    gives: Gives
    plans: tuple[RowPlan | StreamPlan, ...]
    options: QueryOptions
    reading: RowOptions
    known: tuple[str, ...] | None = None
    named: Mapping[str, tuple[Source, ...]] = field(default_factory=dict)
    nulls: bool = True
    limit: int | None = None
    raw: bool = False
    keying: Keying | None = None
    shuffle: Shuffle | None = None
    by_index: tuple[JoinPlan, ...] = ()
    proven: tuple[Proven, ...] = ()

    @property
    def gives_little(self) -> bool:
        """Whether a task gives a few numbers, however many rows it has."""
        return (
            self.gives == "parts"
            and self.options.on_error == "abort"
            and all(
                isinstance(plan, StreamPlan) and plan.reduction in _NUMBERS
                for plan in self.plans
            )
        )


class RefusedRow(NamedTuple):
    """A row without an answer, and its bytes if they were wanted and can be read."""

    refused: Refused
    raw: bytes | None


@dataclass(slots=True)
class Chunk:
    """What became of some rows; `first` is how many of their fragment are before them.

    `counts` are those of all rows, but for rows that are passed on of the others only.
    """

    fragment: int
    first: int
    rows: int = 0
    counts: Counts = Counts()  # noqa: RUF009, frozen
    lines: bytes = b""
    parts: tuple[bytes, ...] = ()
    passed_on: list[SiftedRow] = field(default_factory=list)
    refused: list[RefusedRow] = field(default_factory=list)
    failure: HeadraceError | None = None
    looked: Looked | None = None

    def next(self) -> Chunk:
        """Return an empty one for the rows behind these."""
        return Chunk(self.fragment, self.first + self.rows)


@dataclass(slots=True)
class _TaskedRun(QueryRun):
    """A run whose joins hold all right rows, or go by an index: see `TaskQuery`.

    What the latter hold is of some `rows` only.
    """

    by_index: tuple[JoinPlan, ...] = ()
    proven: tuple[Proven, ...] = ()
    rows: Callable[[], Iterable[RowBatch]] = tuple

    def enter(self, rows: Callable[[], Iterable[RowBatch]]) -> None:
        """Join the rows that `rows` gives, and forget what was held for others."""
        self.rows = rows
        for join in self.by_index:
            self._tables.pop(join, None)

    def can_look_up(self, left: StreamPlan, join: JoinPlan) -> bool:
        """Whether indexes can tell of the keys of a join of these rows."""
        wanted = self._left_keys(left, Stage.table(None, join.key, None))
        keys = self._keys(join, wanted)
        return keys is not None and all(
            isinstance(self._by_proven(file, keys), KeyRows)
            for file in self._files[join.right.source]
        )

    def _reads_left_keys_first(self, plan: StreamPlan, at: int, join: JoinPlan) -> bool:
        del plan, at
        return join in self.by_index

    def _left_keys(self, left: StreamPlan, keys: Stage) -> JoinTable:
        query = self.stream_query(left, "count", last=keys)
        for batch in self.rows():
            for _ in self.answers_of([query], batch, reverse=False):
                # What is wrong with rows is said when they are asked.
                pass
        return query.table()

    def _found_by_key(self, file: Rows, way: Pass) -> KeyRows | NoKeyRows | None:
        if isinstance(way.keys, KeySet):
            return self._by_proven(file, way.keys)
        return QueryRun._found_by_key(self, file, way)

    def _by_proven(self, file: Rows, keys: KeySet) -> KeyRows | NoKeyRows:
        assert isinstance(file, RowFile)
        depth = self.options.max_depth
        return file.by_key(keys, depth, access, prove=False, proven=self.proven)


class TaskRun:
    """A query in one process: what its joins hold is read once for all fragments."""

    def __init__(self, query: TaskQuery) -> None:
        self.query = query
        options = replace(query.options, nulls=query.nulls, limit=query.limit)
        self._run = _TaskedRun(
            QueryPlan(query.plans[0], (), ()),
            options,
            _say_nothing,
            by_index=query.by_index,
            proven=query.proven,
        )
        named = {
            name: [row_file(source, query.reading) for source in sources]
            for name, sources in query.named.items()
        }
        self._run.know(query.known, named)

    def queries(self) -> list[RowQuery | StreamQuery]:
        """Return what the rows are asked, as if there were none yet."""
        query = self.query
        made: list[RowQuery | StreamQuery] = []
        for plan in query.plans:
            if isinstance(plan, RowPlan):
                made.append(self._run.row_query(plan))
            elif query.gives == "lines":
                made.append(
                    self._run.stream_query(
                        plan, "lines", nulls=query.nulls, limit=query.limit
                    )
                )
            elif query.gives == "rows":
                made.append(self._run.stream_query(plan, "count"))
            else:
                made.append(self._run.reducing(plan))
        return made

    def ask_all(self, fragments: Iterable[Fragment]) -> Iterator[Chunk]:
        """Ask the rows of some fragments, up to what ends the query."""
        for number, fragment in enumerate(fragments):
            for chunk in self._ask_range_by_range(fragment, number):
                yield chunk
                # Behind a file whose table is wrong, the driver goes on with the next.
                failed = chunk.failure is not None and not isinstance(
                    chunk.failure, UnusableTableError
                )
                if failed or (chunk.refused and self._run.options.on_error == "abort"):
                    return

    def _ask_range_by_range(self, fragment: Fragment, number: int) -> Iterator[Chunk]:
        """Ask the rows of a fragment, so many at a time as can be joined together."""
        first, most = 0, self._most_rows
        while True:
            rows = 0
            stop = None if most is None else first + most
            for chunk in self.ask(fragment, number, first=first, stop=stop):
                rows += chunk.rows
                yield chunk
            if most is None or rows < most:
                return
            first += rows

    @property
    def _most_rows(self) -> int | None:
        keying = self.query.keying
        looks = keying is not None and keying.looked_up is not None
        return ROWS_LOOKED_UP if looks or self.query.by_index else None

    def ask(
        self,
        fragment: Fragment,
        number: int,
        *,
        first: int = 0,
        stop: int | None = None,
    ) -> Iterator[Chunk]:
        """Ask the rows of a fragment from its row `first` on, up to `stop`."""
        self._run.enter(partial(self.rows, fragment, first, stop))
        asked: _Asked | Looking = _Asked(self, Chunk(number, first))
        if self.query.gives == "keys":
            aborts, keying = self.query.options.on_error == "abort", self.query.keying
            asked = Looking(
                asked.chunk,
                self._keyed_rows,
                self.refuse,
                aborts=aborts,
                needs_keys=keying is not None and keying.joins,
            )
        try:
            asked.begin()
            for batch in self.rows(fragment, first, stop):
                yield from asked.take(batch)
                if asked.ended:
                    break
            asked.end()
            self._see_whether_keys_can_be_looked_up(asked.chunk)
        except HeadraceError as error:
            asked.end()
            asked.chunk.failure = error
        yield asked.chunk

    def _see_whether_keys_can_be_looked_up(self, chunk: Chunk) -> None:
        keying, (plan, *_) = self.query.keying, self.query.plans
        if keying is None or keying.looked_up is None:
            return
        assert isinstance(plan, StreamPlan)
        assert chunk.looked is not None
        if not self._run.can_look_up(plan, keying.looked_up):
            chunk.looked = replace(chunk.looked, late=True)

    def keyed(
        self, tasks: Sequence[Sequence[Fragment]], task: int
    ) -> Iterator[tuple[int, int, KeyedElements]]:
        """Yield elements with their keys, the fragment and the row that positions count from."""
        assert self.query.keying is not None
        _, stop = self.query.keying.stop or (None, None)
        last = len(tasks) - 1, len(tasks[task]) - 1
        for number, fragment in enumerate(tasks[task]):
            until = stop if (task, number) == last else None
            for batches in self._ranges(fragment, until):
                self._run.enter(batches)
                rows = self._keyed_rows()
                for batch in batches():
                    yield number, batch.first_row, rows.of(batch)

    def _ranges(
        self, fragment: Fragment, until: int | None
    ) -> Iterator[Callable[[], Iterator[RowBatch]]]:
        """Yield the rows of a fragment, so many at a time as can be joined together."""
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
        (plan,), keying = self.query.plans, self.query.keying
        assert isinstance(plan, StreamPlan)
        assert keying is not None
        then = replace(plan, stages=keying.then)
        return self._run.keyed_rows(
            plan,
            keying.key,
            then,
            falling=keying.falling,
            joins=keying.joins,
            compact=keying.compact,
        )

    def reducing(self, plan: StreamPlan) -> StreamQuery:
        """Return what makes one value of elements."""
        return self._run.reducing(plan)

    def rows(
        self, fragment: Fragment, first: int, stop: int | None
    ) -> Iterator[RowBatch]:
        """Read the rows of a fragment from its row `first` on, up to `stop`."""
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
        """Put a row without an answer into a chunk; true if that must end then."""
        raw = None
        if self.query.raw:
            (raw,) = batch.slice(refused.row - batch.first_row, 1).contents()
        chunk.refused.append(RefusedRow(refused, raw))
        return len(chunk.refused) >= MOST_REFUSED

    def answers_of(
        self, queries: Sequence[RowQuery | StreamQuery], batch: RowBatch
    ) -> Iterator[tuple[bytes, Refused | None]]:
        """Ask the rows of a batch, as the run of a query does."""
        return self._run.answers_of(queries, batch, reverse=False)


class _Asked:
    """The rows of a fragment that were asked, chunk after chunk.

    `ended`: no further row is needed.
    """

    def __init__(self, run: TaskRun, chunk: Chunk) -> None:
        self.chunk = chunk
        self.ended = False
        self._run = run
        self._gives = run.query.gives
        self._aborts = run.query.options.on_error == "abort"
        self._queries: list[RowQuery | StreamQuery] = []
        self._counted = Counts()
        self._held = 0

    def begin(self) -> None:
        """Make the queries anew; what they were told before is in chunks."""
        self._queries = self._run.queries()
        self._counted = Counts()

    def take(self, batch: RowBatch) -> Iterator[Chunk]:
        """Ask the rows of a batch; yield the chunks that are full."""
        for _ in self._sifted(batch) if self._gives == "rows" else self._asked(batch):
            self.end()
            yield self.chunk
            self.chunk = self.chunk.next()
            self._held = 0
            if self._gives == "parts":
                self.begin()

    def end(self) -> None:
        """Give the chunk what was counted, and what its rows were reduced to."""
        chunk = self.chunk
        counts = self._counts()
        counted, self._counted = counts - self._counted, counts
        chunk.rows = counted.rows
        if self._gives == "rows":
            left = counted.rows - len(chunk.passed_on)
            skipped = left - counted.filtered - counted.blank
            counted = Counts(left, 0, counted.filtered, skipped, counted.blank)
        chunk.counts = counted
        if self._gives == "parts":
            streams = (
                query for query in self._queries if isinstance(query, StreamQuery)
            )
            chunk.parts = tuple(query.part() for query in streams)

    def _counts(self) -> Counts:
        if self._queries and self._aborts and self.chunk.refused:
            return counts_up_to_refusal(self._queries)
        counts = (query.counts for query in self._queries)
        return max(counts, key=lambda counts: counts.rows, default=Counts())

    def _asked(self, batch: RowBatch) -> Iterator[None]:
        """Ask the rows of a batch, and yield where a chunk must end."""
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
        # What is reduced to little does not grow, and needs no chunk of its own.
        held = sum(
            query.held for query in self._queries if isinstance(query, StreamQuery)
        )
        chunk = self.chunk
        return (
            len(chunk.lines) >= CHUNK_BYTES
            or (self._gives == "parts" and held >= CHUNK_BYTES)
            or len(chunk.refused) >= MOST_REFUSED
        )

    def _sifted(self, batch: RowBatch) -> Iterator[None]:
        """Pass on the rows of a batch that are needed, and yield where a chunk must end.

        A row that is too long to be passed on is the last of its chunk.
        """
        (query,) = self._queries
        assert isinstance(query, StreamQuery)
        start = 0
        while start < len(batch):
            rows, start, refused = query.sift(batch, start)
            number = batch.first_row
            self.chunk.passed_on += [
                row._replace(position=number + row.position) for row in rows
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


def _say_nothing(_message: str) -> None:
    """Leave it to the driver to warn."""
