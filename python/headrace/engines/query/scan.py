"""Going through the rows of a source, and asking them.

A *pass* is one way through the rows, in order or from the last to the first, of all or of
those that a key index leads to. What was asked in it, what was passed over and what was
wrong is counted and said here, whatever is asked.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from itertools import chain, takewhile
from typing import TYPE_CHECKING, TypeAlias, cast

from headrace.engines.query.options import BadRow, warn_of_memory
from headrace.engines.query.skipped import OutsideTimes, PassedOver
from headrace.engines.rows.foreign_layout import cure
from headrace.errors import (
    BadRowError,
    HeadraceError,
    HeadraceWarning,
    KeyIndexError,
    RowFailedError,
    UnusableTableError,
)
from headrace.kernel.programs import Counts, RowQuery, StreamQuery
from headrace.kernel.tally import FIRST_BAD
from headrace.physical import access
from headrace.physical.distribution import may_end_early
from headrace.physical.query_plan import RowPlan, StreamPlan, ValuePlan
from headrace.store.rows.demand import KeyFilter, NoKeyRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from headrace.engines.query.options import QueryOptions
    from headrace.engines.query.skipped import Uncounted
    from headrace.kernel.programs import Answers, Refused
    from headrace.kernel.rows import RowBatch
    from headrace.physical.query_plan import QueryPlan, StagePlan
    from headrace.store.files.source import Source
    from headrace.store.index.key_scan import KeyRows
    from headrace.store.log.read.timed_rows import TimedRows
    from headrace.store.rows.demand import Keys
    from headrace.store.rows.provider import ProviderRows
    from headrace.store.rows.row_file import RowFile

    Rows: TypeAlias = RowFile | ProviderRows | TimedRows

    class Placing(Protocol):
        """What knows where the rows of a batch stand."""

        @property
        def source(self) -> Source:
            """The file they are of."""

        def place(
            self, row: int, offset: int, *, reverse: bool
        ) -> tuple[int | None, int]:
            """Return the line and the byte of something in a row."""


_WATERMARK = 0.8
"""The part of the memory from which on it is said that little is left."""


SAMPLE_BATCHES = 4
"""Batches of a pipe that are kept; the first ones are small."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One way through the rows of a source.

    Every query of the pass puts them through `stages`; with several queries there are
    none. `again`: the rows are read another time, which then says what is wrong with
    them. `keys` is what rows must have to count; `ends_early`: the first rows may be
    enough; `taken_in`: rows that do not count are taken in like those that do.
    """

    source: str | None
    stages: tuple[StagePlan, ...] = ()
    reverse: bool = False
    again: bool = False
    keys: Keys | None = None
    ends_early: bool = False
    taken_in: bool = False


@dataclass(slots=True)
class RowPasses:
    """The passes of one run; what they counted can be asked at any time.

    `asked` has the rows that were asked, `counts` also those that were passed over by an index.
    `bad` counts the rows that were passed over. `errors` has the first of them, with
    ``collect`` all, unless there is `tell`, which is called with each. `readings` has
    what was counted in named sources, each time one was read.
    """

    plan: QueryPlan
    options: QueryOptions
    warn: Callable[[str], None] = warn_of_memory
    tell: Callable[[BadRow], object] | None = None
    bad: int = 0
    errors: list[HeadraceError] = field(default_factory=list)
    asked: Counts = field(default_factory=Counts)
    _files: dict[str | None, Sequence[Rows]] = field(default_factory=dict)
    _partners: list[Partners] = field(default_factory=list)
    _sample: list[RowBatch] = field(default_factory=list)
    _totals: dict[int, int] = field(default_factory=dict)
    _warned: bool = False
    _passed_over: list[Uncounted] = field(default_factory=list)
    _readings: list[tuple[str, Counts, Sequence[Uncounted]]] = field(
        default_factory=list
    )

    @property
    def counts(self) -> Counts:
        """What was counted in the main source."""
        return _counted(self.asked, self._passed_over)

    @property
    def readings(self) -> list[tuple[str, Counts]]:
        """What was counted in named sources."""
        return [
            (name, _counted(asked, passed_over))
            for name, asked, passed_over in self._readings
        ]

    def sample(self, rows: int) -> Iterator[bytes]:
        """Yield the first rows of the main source: of files read again, of pipes what is kept."""
        files = [file for file in self._files.get(None, ()) if not file.source.is_pipe]
        read = chain.from_iterable(file.batches(0, rows) for file in files)
        for batch in chain(self._sample, read):
            if rows <= 0:
                return
            yield from filter(None, batch.contents())
            rows -= len(batch)

    def bytes_done(self) -> int:
        """Return how many bytes of the main source were read so far."""
        return sum(file.bytes_read() for file in self._files.get(None, ()))

    def _row_pass(self, main: RowPlan) -> Pass:
        options = self.options
        keys = main.matching if options.output == "match" else main.giving
        return Pass(
            None,
            reverse=options.reverse,
            keys=None if options.nulls and options.output == "answer" else keys,
            ends_early=options.limit is not None,
        )

    def _pass(
        self, plan: StreamPlan, limit: int | None, *, again: bool = False
    ) -> Pass:
        ends_early = may_end_early(plan.stages, limit)
        return Pass(
            plan.source, plan.stages, plan.reverse, again, plan.keys, ends_early
        )

    def _main_pass(self) -> Pass | None:
        """Return the way through the rows that the query itself takes, if it is about any."""
        main = self.plan.main
        if isinstance(main, ValuePlan):
            return None
        if isinstance(main, RowPlan):
            return self._row_pass(main)
        lines = main.reduction == "lines"
        return self._pass(main, self.options.limit if lines else main.limit)

    def reached(
        self, files: Sequence[Rows], named: Mapping[str, Sequence[Rows]]
    ) -> tuple[KeyFilter | None, list[tuple[str, str]]]:
        """Say what rows must have to count, and of each file how such rows are found."""
        way = self._main_pass()
        if way is None or not isinstance(way.keys, KeyFilter):
            return None, []
        told = []
        for file in files if way.source is None else named[way.source]:
            found = self._found_by_key(file, way)
            how = "all rows are read" if found is None else found.reason
            told.append((file.source.location, how))
        return way.keys, told

    def _asked(
        self, queries: Sequence[RowQuery | StreamQuery], way: Pass
    ) -> Iterator[bytes]:
        """Ask row after row, and yield the lines they give."""
        files = self._files[way.source]
        passed_over: list[Uncounted] = []
        counted = _most_rows
        try:
            for file in reversed(files) if way.reverse else files:
                if all(query.done for query in queries):
                    return
                yield from self._asked_file(file, queries, way, passed_over)
        except (BadRowError, RowFailedError):
            counted = counts_up_to_refusal
            raise
        finally:
            self._count(counted(queries), way, passed_over)

    def _asked_file(
        self,
        file: Rows,
        queries: Sequence[RowQuery | StreamQuery],
        way: Pass,
        passed_over: list[Uncounted],
    ) -> Iterator[bytes]:
        """Ask the rows of a file, or those of them that an index leads to."""
        if file.source.times is not None:
            timed = cast("TimedRows", file)
            yield from self._asked_timed(timed, queries, way, passed_over)
            return
        keyed = self._by_key(file, way) if len(queries) == 1 else None
        if keyed is None:
            yield from self._asked_rows(file, queries, way)
            return
        over = PassedOver(keyed, queries[0], reverse=way.reverse, taken_in=way.taken_in)
        passed_over.append(over)
        whole = astray = False
        try:
            yield from self._asked_rows(keyed, queries, way)
            whole = not queries[0].done
        except (KeyIndexError, UnusableTableError) as error:
            astray = not over.asked
            if not astray:
                raise
            message = f"{error.what}; the file is scanned"
            warnings.warn(message, HeadraceWarning, stacklevel=2)
        finally:
            over.end(whole=whole)
        if astray:
            passed_over.pop()
            yield from self._asked_rows(file, queries, way)

    def _asked_timed(
        self,
        file: TimedRows,
        queries: Sequence[RowQuery | StreamQuery],
        way: Pass,
        passed_over: list[Uncounted],
    ) -> Iterator[bytes]:
        """Ask the rows of a segment that have the times that are meant."""
        before, counted, whole = _most_rows(queries).rows, _most_rows, False
        try:
            yield from self._asked_rows(file, queries, way)
            whole = not all(query.done for query in queries)
        except (BadRowError, RowFailedError):
            counted = counts_up_to_refusal
            raise
        finally:
            asked = None if whole else counted(queries).rows - before
            passed_over.append(OutsideTimes(file, asked, way.reverse))

    def _by_key(self, file: Rows, way: Pass) -> KeyRows | None:
        """Find the rows of a file that count by a key index, if there is one that can tell."""
        found = self._found_by_key(file, way)
        return None if found is None or isinstance(found, NoKeyRows) else found

    def _found_by_key(self, file: Rows, way: Pass) -> KeyRows | NoKeyRows | None:
        is_framed = way.source is None and self.options.frame is not None
        if way.keys is None or is_framed or not self.options.index:
            return None
        depth, prove = self.options.max_depth, not way.ends_early
        return file.by_key(way.keys, depth, access, prove=prove)

    def _asked_rows(
        self,
        rows: Rows | KeyRows,
        queries: Sequence[RowQuery | StreamQuery],
        way: Pass,
    ) -> Iterator[bytes]:
        is_pipe = way.source is None and rows.source.is_pipe
        ends = self.options.on_error == "abort"
        batches = (
            rows.backwards() if way.reverse else rows.batches(ends_at_long_row=ends)
        )
        if self.plan.places and way.source is None:
            batches = self._placed(rows, batches, queries, reverse=way.reverse)
        for batch in batches:
            if is_pipe and len(self._sample) < SAMPLE_BATCHES:
                self._sample.append(batch)
            for lines, refused in self.answers_of(queries, batch, reverse=way.reverse):
                yield lines
                if refused is not None:
                    self._refuse(rows, batch, refused, way)
            if all(query.done for query in queries):
                return

    def _placed(
        self,
        rows: Rows | KeyRows,
        batches: Iterable[RowBatch],
        queries: Sequence[RowQuery | StreamQuery],
        *,
        reverse: bool,
    ) -> Iterator[RowBatch]:
        """Let queries know where the rows of each batch stand, before it is asked."""
        file = os.fsencode(rows.source.location).decode(errors="replace")
        others = takewhile(lambda other: other is not rows, self._files[None])
        rows_before = sum(self._total(other) for other in others)
        end = self._total(cast("Rows", rows)) if reverse else 0
        for batch in batches:
            # From the end, the numbers in a batch count from its run of rows.
            end = end - len(batch) if reverse else batch.first_row + len(batch)
            lines_before = end - batch.first_row if reverse else 0
            for query in queries:
                query.stand_in(file, lines_before, rows_before)
            yield batch
        if not reverse:
            self._totals[id(rows)] = end

    def _total(self, rows: Rows) -> int:
        """Return how many rows a file has; of a pipe that is known when it has been read."""
        known = self._totals.get(id(rows))
        return rows.total() if known is None else known

    def _count(
        self, asked: Counts, way: Pass, passed_over: Sequence[Uncounted] = ()
    ) -> None:
        """Remember what was counted in a pass."""
        if way.again:
            return
        if way.source is None:
            self.asked, self._passed_over = asked, list(passed_over)
        else:
            self._readings.append((way.source, asked, passed_over))

    def answers_of(
        self,
        queries: Sequence[RowQuery | StreamQuery],
        batch: RowBatch,
        *,
        reverse: bool,
    ) -> Iterator[tuple[bytes, Refused | None]]:
        """Ask the rows of a batch; yield lines, and the row behind them that has no answer.

        A refusal comes once, however many queries ask the row, and those of several
        queries come in the order of the rows, however these were divided into batches.
        """
        if len(queries) == 1:
            for answers in self._answers(queries[0], batch, reverse=reverse):
                yield answers.lines, answers.refused
            return
        refusals: dict[Refused, int] = {}
        for query in queries:
            for answers in self._answers(query, batch, reverse=reverse):
                yield answers.lines, None
                if answers.refused is not None:
                    refusals.setdefault(answers.refused, answers.asked)
                    if self.options.on_error == "abort":
                        break
        for refused in sorted(refusals, key=refusals.__getitem__):
            yield b"", refused

    def _answers(
        self, query: RowQuery | StreamQuery, batch: RowBatch, *, reverse: bool
    ) -> Iterator[Answers]:
        """Ask the rows of a batch, going on behind those that have no answer."""
        start = 0
        while start < len(batch) and not query.done:
            answers = query.answer(batch, start, reverse=reverse)
            self._say_what_is_held(query)
            yield answers
            for partners in self._partners:
                partners.raise_error()
            start = answers.asked

    def _refuse(
        self, file: Placing, batch: RowBatch, refused: Refused, way: Pass
    ) -> None:
        """Raise what is wrong with a row, or pass over it and remember or tell it."""

        def raw() -> bytes | None:
            (content,) = batch.slice(refused.row - batch.first_row, 1).contents()
            return content

        self._pass_over(
            lambda: _error(file, refused, reverse=way.reverse), raw, again=way.again
        )

    def _pass_over(
        self,
        error: Callable[[], BadRowError | RowFailedError],
        raw: Callable[[], bytes | None],
        *,
        again: bool = False,
    ) -> None:
        """Raise the error of a row, or remember or tell it, making only what is needed."""
        on_error = self.options.on_error
        if on_error == "abort":
            raise with_cure(error(), raw)
        if again:
            return
        self.bad += 1
        keep = len(self.errors) < FIRST_BAD
        if self.tell is None and not keep and on_error == "skip":
            return
        made = error()
        if keep or self.tell is None:
            self.errors.append(made)
        if self.tell is not None:
            self.tell(BadRow(made, raw()))

    def _say_what_is_held(self, query: RowQuery | StreamQuery) -> None:
        if self._warned or isinstance(query, RowQuery):
            return
        held, most = query.held, query.max_memory
        if held > _WATERMARK * most:
            self._warned = True
            self.warn(
                f"the query holds {held} of the {most} bytes that --memory allows"
            )


class Partners:
    """The lines of the other side of a zip, as the core asks for them."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._error: BaseException | None = None

    def __call__(self) -> bytes:
        """Return further lines; none at the end, and none if they fail."""
        try:
            return next((lines for lines in self._lines if lines), b"")
        except BaseException as error:  # noqa: BLE001, it is raised when the core returns
            self._error = error
            return b""

    def raise_error(self) -> None:
        """Raise what went wrong with the lines, if anything did."""
        if self._error is not None:
            raise self._error


def _counted(asked: Counts, passed_over: Iterable[Uncounted]) -> Counts:
    return sum((each.counts for each in passed_over), asked)


def _most_rows(queries: Sequence[RowQuery | StreamQuery]) -> Counts:
    return max((query.counts for query in queries), key=_rows_of)


def counts_up_to_refusal(queries: Sequence[RowQuery | StreamQuery]) -> Counts:
    """Return what was counted up to a row that ends the run; other queries may be ahead."""
    going = [query for query in queries if not query.done] or queries
    # Of those that have come as far, one has passed over the row.
    return min(
        (query.counts for query in going),
        key=lambda counts: (counts.rows, -counts.skipped),
    )


def _rows_of(counts: Counts) -> int:
    return counts.rows


def with_cure(
    error: BadRowError | RowFailedError, raw: Callable[[], bytes | None]
) -> BadRowError | RowFailedError:
    """Add to the error of a first line what helps, if the file is not JSON lines."""
    if isinstance(error, BadRowError) and error.line == 1:
        error.cure = cure(error.path, raw(), error.reason)
    return error


def _error(
    rows: Placing, refused: Refused, *, reverse: bool
) -> BadRowError | RowFailedError:
    path = rows.source.location
    line, offset = rows.place(refused.row, refused.offset, reverse=reverse)
    if refused.column is None:
        return BadRowError(path, line, offset, refused.reason)
    return RowFailedError(path, line, offset, refused.reason, refused.column)
