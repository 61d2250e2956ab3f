"""Scan of a source: rows are read in order or backwards, all of them or by a key index.

Every row goes through the queries of the scan. Counts and errors go to the run report.
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from itertools import chain, islice, takewhile
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias, cast

from headrace.engines.query.report import ScanRun, Work
from headrace.errors import (
    BadRowError,
    HeadraceWarning,
    RowFailedError,
    UnusableTableError,
)
from headrace.kernel.programs import Counts, Refused
from headrace.physical.query_plan import ELEMENTS, RowPlan, ValuePlan
from headrace.record import field, mutable_record, record
from headrace.store.rows.demand import NoKeyRows
from headrace.store.rows.row_file import RowFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    from headrace.engines.query.options import QueryOptions
    from headrace.engines.query.report import RunReport
    from headrace.engines.query.sorted_lines import SortQuery
    from headrace.kernel.programs import (
        Answers,
        Cancel,
        RowQuery,
        StreamQuery,
    )
    from headrace.kernel.rows import RowBatch
    from headrace.physical.query_plan import (
        JoinPlan,
        QueryPlan,
        StagePlan,
        StreamPlan,
    )
    from headrace.store.files.source import Source
    from headrace.store.index.key_scan import KeyRows, Proven
    from headrace.store.log.read.timed_rows import TimedRows
    from headrace.store.rows.demand import Keys
    from headrace.store.rows.provider import ProviderRows

    Query: TypeAlias = RowQuery | StreamQuery | SortQuery
    Rows: TypeAlias = RowFile | ProviderRows | TimedRows

    class RowPlaces(Protocol):
        """The places of the rows of a batch."""

        @property
        def source(self) -> Source:
            """Their file."""

        def place(
            self, row: int, offset: int, *, reverse: bool
        ) -> tuple[int | None, int]:
            """Return the line and the byte of an offset in a row."""


_LEAST_BYTES = 4 << 20
"""Threads are not worth their start for fewer bytes."""

_BATCHES_HERE = 12
"""The number of batches of a source that is read in order before threads are started."""


@record
class QueryInput:
    """A planned query, its options, the `files` of its main source, and `named` sources."""

    plan: QueryPlan
    options: QueryOptions
    files: Sequence[Rows] = ()
    named: Mapping[str, Sequence[Rows]] = field(default_factory=dict)

    @property
    def sources(self) -> Mapping[str | None, Sequence[Rows]]:
        """All sources by name; that of the main source is None."""
        sources: dict[str | None, Sequence[Rows]] = {None: self.files, ELEMENTS: ()}
        return sources | dict(self.named)


@record
class Scan:
    """One read of the rows of a source.

    All its queries begin with `stages`; a scan of several queries has none. `again`: another
    scan of the same rows reports their errors and counts. `keys` restricts the rows that can
    change a result; with `proven`, these indexes are used for it without a further proof.
    `ends_early`: the first rows may be enough. `all_emitted`: rows without a key count as emitted.
    `join` is the stage whose table the rows fill.
    """

    source: str | None
    stages: tuple[StagePlan, ...] = ()
    reverse: bool = False
    again: bool = False
    keys: Keys | None = None
    ends_early: bool = False
    all_emitted: bool = False
    proven: tuple[Proven, ...] | None = None
    join: JoinPlan | None = None


@record
class Sharing:
    """How threads can share a scan: `make` returns queries whose results can be merged.

    The flag ends the queries. `lines`: they yield lines. `limit` is on lines or elements.
    """

    make: Callable[[Cancel], Sequence[Query]]
    lines: bool
    limit: int | None


def scan_of(plan: StreamPlan, limit: int | None) -> Scan:
    """Return the scan that a query over the stream of all rows needs."""
    from headrace.physical.distribution import may_end_early

    ends_early = may_end_early(plan.stages, limit)
    return Scan(
        plan.source,
        plan.stages,
        plan.reverse,
        keys=plan.keys,
        ends_early=ends_early,
    )


def scan_of_rows(main: RowPlan, options: QueryOptions) -> Scan:
    """Return the scan that a query over each row needs."""
    keys = main.matching if options.output == "match" else main.giving
    return Scan(
        None,
        reverse=options.reverse,
        keys=None if options.nulls and options.output == "answer" else keys,
        ends_early=options.limit is not None,
    )


def main_scan(plan: QueryPlan, options: QueryOptions) -> Scan | None:
    """Return the scan of the main part of a query; None for a query that reads no rows there."""
    match plan.main:
        case ValuePlan():
            return None
        case RowPlan() as main:
            return scan_of_rows(main, options)
        case main:
            lines = main.reduction == "lines"
            return scan_of(main, options.limit if lines else main.limit)


def rows_by_key(file: Rows, scan: Scan, options: QueryOptions) -> KeyRows | None:
    """Find the rows of a file that have a key of the scan; None if no index can find them."""
    found = search_index(file, scan, options)
    return None if found is None or isinstance(found, NoKeyRows) else found


def search_index(
    file: Rows, scan: Scan, options: QueryOptions
) -> KeyRows | NoKeyRows | None:
    """Search the indexes of a file for the keys of a scan; None if it needs all rows."""
    is_framed = scan.source is None and options.frame is not None
    if scan.keys is None or is_framed or not options.index:
        return None
    from headrace.physical import access

    if scan.proven is not None:
        return rows_by_proven_index(file, scan.keys, options, scan.proven)
    return file.by_key(scan.keys, options.max_depth, access, prove=not scan.ends_early)


def rows_by_proven_index(
    file: Rows, keys: Keys, options: QueryOptions, proven: Sequence[Proven]
) -> KeyRows | NoKeyRows:
    """Find rows by an index that another process has proven to fit the file."""
    from headrace.physical import access

    # Only files have indexes.
    rows = cast("RowFile", file)
    return rows.by_key(keys, options.max_depth, access, prove=False, proven=proven)


@mutable_record
class Scanner:
    """Reads the rows of the sources of a query.

    `files` has the sources by name; that of the main source is None. `zipped` are streams that
    the queries pair their elements with. `reads_places`: programs read the file and the line
    of a row.
    """

    files: Mapping[str | None, Sequence[Rows]]
    options: QueryOptions
    report: RunReport
    reads_places: bool = False
    zipped: list[ZippedLines] = field(default_factory=list)
    _totals: dict[int, int] = field(default_factory=dict)

    def read(
        self,
        queries: Sequence[Query],
        scan: Scan,
        sharing: Sharing | None = None,
    ) -> Iterator[bytes]:
        """Put the rows of a scan through queries; yield their lines.

        With `sharing`, threads may read the rows.
        """
        files = self.files[scan.source]
        if self.options.threads == 1 or self.reads_places:
            sharing = None
        kept = queries if self.options.analyze else ()
        run = ScanRun(scan, self.report.parts, kept)
        self.report.scans.append(run)
        counts_of, bad_before = _most_rows, self.report.bad
        bytes_before = _bytes_read(files)
        try:
            for some in _together(files, scan, sharing):
                if all(query.done for query in queries):
                    return
                if len(some) > 1:
                    yield from self._read_together(some, queries, run, sharing)
                else:
                    yield from self._read_file(some[0], queries, run, sharing)
        except (BadRowError, RowFailedError):
            counts_of = counts_up_to_refusal
            raise
        finally:
            bad = self.report.bad - bad_before
            run.counts = together(queries, counts_of(queries), bad)
            # A file whose block table does not fit is opened again.
            run.work.bytes += max(_bytes_read(files) - bytes_before, 0)
            if not scan.again:
                self.report.count(scan.source, run.counts, run.skipped)

    def _read_together(
        self,
        files: Sequence[Rows],
        queries: Sequence[Query],
        run: ScanRun,
        sharing: Sharing | None,
    ) -> Iterator[bytes]:
        """Read all rows of files one after the other, or their fragments in threads."""
        in_fragments = not run.scan.reverse and are_worth_threads(files, self.options)
        if sharing is not None and in_fragments:
            from headrace.engines.query.threads import read_files

            row_files = cast("Sequence[RowFile]", files)
            yield from read_files(self, row_files, queries, run, sharing)
            return
        for file in files:
            if all(query.done for query in queries):
                return
            yield from self._read_rows(file, queries, run, sharing)

    def _read_file(
        self,
        file: Rows,
        queries: Sequence[Query],
        run: ScanRun,
        sharing: Sharing | None,
    ) -> Iterator[bytes]:
        """Read the rows of a file that have a key or a time of the scan."""
        scan = run.scan
        if file.source.times is not None:
            yield from self._read_timed(cast("TimedRows", file), queries, run)
            return
        keyed = rows_by_key(file, scan, self.options) if len(queries) == 1 else None
        if keyed is None:
            yield from self._read_together([file], queries, run, sharing)
            return
        from headrace.engines.query.skipped import SkippedByIndex
        from headrace.errors import KeyIndexError

        lines = SkippedByIndex(
            keyed, queries[0], reverse=scan.reverse, as_emitted=scan.all_emitted
        )
        run.skipped.append(lines)
        whole = is_damaged = False
        try:
            yield from self._read_rows(keyed, queries, run)
            whole = not queries[0].done
        except (KeyIndexError, UnusableTableError) as error:
            is_damaged = not lines.read
            if not is_damaged:
                raise
            message = f"{error.what}; the file is scanned"
            warnings.warn(message, HeadraceWarning, stacklevel=2)
        finally:
            lines.end(whole=whole)
        if is_damaged:
            run.skipped.pop()
            yield from self._read_rows(file, queries, run)

    def _read_timed(
        self, file: TimedRows, queries: Sequence[Query], run: ScanRun
    ) -> Iterator[bytes]:
        """Read the rows of a log segment that are in the time range."""
        from headrace.engines.query.skipped import SkippedByTime

        before, counts_of, whole = _most_rows(queries).rows, _most_rows, False
        try:
            yield from self._read_rows(file, queries, run)
            whole = not all(query.done for query in queries)
        except (BadRowError, RowFailedError):
            counts_of = counts_up_to_refusal
            raise
        finally:
            read = None if whole else counts_of(queries).rows - before
            run.skipped.append(SkippedByTime(file, read, run.scan.reverse))

    def _read_rows(
        self,
        rows: Rows | KeyRows,
        queries: Sequence[Query],
        run: ScanRun,
        sharing: Sharing | None = None,
    ) -> Iterator[bytes]:
        scan = run.scan
        is_pipe = scan.source is None and rows.source.is_pipe
        ends = self.options.on_error == "abort"
        batches = (
            rows.backwards() if scan.reverse else rows.batches(ends_at_long_row=ends)
        )
        if self.reads_places and scan.source is None:
            batches = self._with_places(rows, batches, queries, reverse=scan.reverse)
        if is_pipe:
            batches = self._sampled(batches)
        if sharing is None or not isinstance(rows, RowFile):
            yield from self.read_batches(rows, batches, queries, run)
            return
        here = islice(batches, 1 if self.options.share_bytes else _BATCHES_HERE)
        yield from self.read_batches(rows, here, queries, run)
        if all(query.done for query in queries):
            return
        if (following := next(batches, None)) is not None:
            from headrace.engines.query.threads import read_in_order

            batches = chain([following], batches)
            yield from read_in_order(self, rows, batches, queries, run, sharing)

    def _sampled(self, batches: Iterable[RowBatch]) -> Iterator[RowBatch]:
        for batch in batches:
            self.report.keep_sample(batch)
            yield batch

    def read_batches(
        self,
        rows: Rows | KeyRows,
        batches: Iterable[RowBatch],
        queries: Sequence[Query],
        run: ScanRun,
        rows_before: int = 0,
    ) -> Iterator[bytes]:
        """Put batches of a file through queries; they count rows from row `rows_before` on."""
        for batch in run.work.timed(batches):
            for lines, refused in self.answers_of(
                queries, batch, reverse=run.scan.reverse, work=run.work
            ):
                yield lines
                if refused is not None:
                    self.refuse(rows, batch, refused, run.scan, rows_before)
            if all(query.done for query in queries):
                return

    def _with_places(
        self,
        rows: Rows | KeyRows,
        batches: Iterable[RowBatch],
        queries: Sequence[Query],
        *,
        reverse: bool,
    ) -> Iterator[RowBatch]:
        """Yield batches; set the place of each in the queries first."""
        file = os.fsencode(rows.source.location).decode(errors="replace")
        before = takewhile(lambda other: other is not rows, self.files[None])
        rows_before = sum(self._total(other) for other in before)
        end = self._total(cast("Rows", rows)) if reverse else 0
        for batch in batches:
            # From the end, the numbers in a batch count from its run of rows.
            end = end - len(batch) if reverse else batch.first_row + len(batch)
            lines_before = end - batch.first_row if reverse else 0
            for query in cast("Sequence[RowQuery | StreamQuery]", queries):
                query.stand_in(file, lines_before, rows_before)
            yield batch
        if not reverse:
            self._totals[id(rows)] = end

    def _total(self, rows: Rows) -> int:
        """Return how many rows a file has; a pipe must have been read before."""
        known = self._totals.get(id(rows))
        return rows.total() if known is None else known

    def answers_of(
        self,
        queries: Sequence[Query],
        batch: RowBatch,
        *,
        reverse: bool,
        watched: bool = True,
        work: Work | None = None,
    ) -> Iterator[tuple[bytes, Refused | None]]:
        """Put the rows of a batch through queries; yield lines, each with a refused row behind them.

        A row is refused once, even if several queries refuse it, and rows are refused in
        their order, however they are divided into batches. `watched`: the report watches the
        memory of the queries. The time that the queries take is added to `work`.
        """
        answers_of = partial(
            self._answers,
            batch=batch,
            reverse=reverse,
            watched=watched,
            work=work or Work(),
        )
        if len(queries) == 1:
            for answers in answers_of(queries[0]):
                yield answers.lines, answers.refused
            return
        refusals: dict[Refused, int] = {}
        for query in queries:
            for answers in answers_of(query):
                yield answers.lines, None
                if answers.refused is not None:
                    refusals.setdefault(answers.refused, answers.end)
                    if self.options.on_error == "abort":
                        break
        for refused in sorted(refusals, key=refusals.__getitem__):
            yield b"", refused

    def _answers(
        self,
        query: Query,
        batch: RowBatch,
        *,
        reverse: bool,
        watched: bool,
        work: Work,
    ) -> Iterator[Answers]:
        """Put the rows of a batch through a query, going on behind refused rows."""
        start = 0
        while start < len(batch) and not query.done:
            begun = perf_counter()
            answers = query.answer(batch, start, reverse=reverse)
            work.evaluate += perf_counter() - begun
            for zipped in self.zipped:
                # The time of its own scan.
                work.evaluate -= zipped.seconds
                zipped.seconds = 0.0
            if watched:
                self.report.watch_memory(query)
            yield answers
            for zipped in self.zipped:
                zipped.raise_error()
            start = answers.end

    def refuse(
        self,
        file: RowPlaces,
        batch: RowBatch,
        refused: Refused,
        scan: Scan,
        rows_before: int = 0,
    ) -> None:
        """Raise or report the error of a refused row; it is counted from row `rows_before` on."""

        def raw() -> bytes | None:
            (content,) = batch.slice(refused.row - batch.first_row, 1).contents()
            return content

        def error() -> BadRowError | RowFailedError:
            row, offset = refused.row + rows_before, refused.offset
            placed = Refused(row, offset, refused.reason, refused.column)
            return _error(file, placed, reverse=scan.reverse)

        self.report.reject(error, raw, again=scan.again)


def _together(
    files: Sequence[Rows], scan: Scan, sharing: Sharing | None
) -> Iterator[Sequence[Rows]]:
    """Divide files into runs: the fragments of a run of several can be read in threads."""
    some: list[Rows] = []
    for file in reversed(files) if scan.reverse else files:
        shared = sharing is not None and scan.keys is None and not scan.reverse
        if shared and has_fragments(file):
            some.append(file)
            continue
        if some:
            yield some
            some = []
        yield [file]
    if some:
        yield some


def are_worth_threads(files: Sequence[Rows], options: QueryOptions) -> bool:
    """Whether the fragments of some files take longer than starting threads does."""
    least = options.share_bytes or _LEAST_BYTES
    size = sum(file.source.size for file in files)
    return all(map(has_fragments, files)) and size >= least


def has_fragments(file: Rows) -> bool:
    """Whether a file can be cut into fragments, each read by itself."""
    source = file.source
    return (
        isinstance(file, RowFile)
        and source.kind == "file"
        and source.seekable
        and source.segment is None
        and source.times is None
    )


class ZippedLines:
    """The lines of the other side of a zip, which the core reads by calling this object."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._error: BaseException | None = None
        self.seconds = 0.0
        """The time of the calls that have not been subtracted from the time of the core."""

    def __call__(self) -> bytes:
        """Return further lines; no bytes at the end or after an error."""
        begun = perf_counter()
        try:
            return next((lines for lines in self._lines if lines), b"")
        except BaseException as error:  # noqa: BLE001, it is raised when the core returns
            self._error = error
            return b""
        finally:
            self.seconds += perf_counter() - begun

    def raise_error(self) -> None:
        """Raise the error of the lines, if they failed."""
        if self._error is not None:
            raise self._error


def _most_rows(queries: Sequence[Query]) -> Counts:
    return max((query.counts for query in queries), key=_rows_of)


def counts_up_to_refusal(queries: Sequence[Query]) -> Counts:
    """Return the counts up to the row that ends a run; some queries may have read further."""
    going = [query for query in queries if not query.done] or queries
    # Of the queries that have come as far, one has skipped the row.
    return min(
        (query.counts for query in going),
        key=lambda counts: (counts.rows, -counts.skipped),
    )


def together(queries: Sequence[Query], counts: Counts, refused: int) -> Counts:
    """Return the counts of all queries over the same rows, from those of one that read most.

    With several, a row that any of them has refused is skipped, and all others are emitted: the
    answer is made of them, whichever query needs them.
    """
    if len(queries) == 1:
        return counts
    skipped = max(counts.skipped, refused)
    emitted = counts.rows - skipped - counts.blank
    return Counts(counts.rows, emitted, 0, skipped, counts.blank, counts.outside)


def _bytes_read(files: Sequence[Rows]) -> int:
    return sum(file.bytes_read() for file in files)


def _rows_of(counts: Counts) -> int:
    return counts.rows


def _error(
    rows: RowPlaces, refused: Refused, *, reverse: bool
) -> BadRowError | RowFailedError:
    path = rows.source.location
    line, offset = rows.place(refused.row, refused.offset, reverse=reverse)
    if refused.column is None:
        return BadRowError(path, line, offset, refused.reason)
    return RowFailedError(path, line, offset, refused.reason, refused.column)
