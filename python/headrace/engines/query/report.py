"""Run report: counts, times, errors and progress of one run of a query, readable while it runs.

Clocks are read once for each batch of rows, never for each row.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import chain
from time import perf_counter, process_time
from typing import TYPE_CHECKING, NamedTuple

from headrace.engines.query.options import BadRow, warn_of_memory
from headrace.errors import BadRowError, HeadraceError, RowFailedError
from headrace.kernel.programs import Counts, RowQuery, StreamQuery
from headrace.record import field, mutable_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.engines.query.options import OnError
    from headrace.engines.query.scan import Query, Rows, Scan
    from headrace.engines.query.skipped import SkippedLines
    from headrace.kernel.rows import RowBatch
    from headrace.physical.query_plan import JoinPlan

_WATERMARK = 0.8
"""The share of the memory limit at which a run warns."""

_SAMPLE_BATCHES = 4
"""The number of batches of a pipe that are kept for `first_rows`; the first batches are small."""


class NamedScan(NamedTuple):
    """Counts of one scan of a named source.

    With a `join`, no scan was made: a key index counted the right side of that join.
    """

    name: str
    read: Counts
    skipped: Sequence[SkippedLines] = ()
    join: JoinPlan | None = None


@mutable_record
class Work:
    """The seconds that stages of the work took, the bytes that were read, and those held at most.

    Of a scan in several threads, it is the sum over the threads.
    """

    read: float = 0.0
    evaluate: float = 0.0
    merge: float = 0.0
    bytes: int = 0
    held: int = 0

    def add(self, other: Work) -> None:
        """Add the work of another thread."""
        self.read += other.read
        self.evaluate += other.evaluate
        self.merge += other.merge
        self.bytes += other.bytes
        self.held += other.held

    def timed(self, batches: Iterable[RowBatch]) -> Iterator[RowBatch]:
        """Yield batches; the time to read each is added."""
        following = iter(batches)
        while True:
            begun = perf_counter()
            batch = next(following, None)
            self.read += perf_counter() - begun
            if batch is None:
                return
            yield batch


@mutable_record
class ScanRun:
    """One scan that runs, or has run: its counts, the skipped lines, and the work of its threads.

    `parts` are the numbers of the sub-queries that it is for; none for the main part of the query.
    `queries` are kept where the elements that come to their stages are counted.
    """

    scan: Scan
    parts: Sequence[int] = ()
    queries: Sequence[Query] = ()
    counts: Counts = field(default_factory=Counts)
    threads: int = 1
    skipped: list[SkippedLines] = field(default_factory=list)
    work: Work = field(default_factory=Work)


@mutable_record
class RunReport:
    """Counts, times, errors and progress of one run.

    `read` counts the rows of the main source that programs read, `counts` also the skipped
    lines. `bad` counts bad rows; `errors` has the first of them, or all with ``collect`` and
    without `on_bad_row`, which is called with each. `files` are those of the main source;
    `bytes_by_tasks` is how much of them Spark's tasks have read. `scans` are all scans in their
    order, and `parts` the sub-queries that run now. `finished` are the seconds of what is left
    when all rows were read, by these; `write` are those of the output.
    """

    on_error: OnError = "abort"
    warn: Callable[[str], None] = warn_of_memory
    on_bad_row: Callable[[BadRow], object] | None = None
    bad: int = 0
    errors: list[HeadraceError] = field(default_factory=list)
    read: Counts = field(default_factory=Counts)
    skipped: Sequence[SkippedLines] = ()
    named_scans: list[NamedScan] = field(default_factory=list)
    files: Sequence[Rows] = ()
    bytes_by_tasks: int = 0
    scans: list[ScanRun] = field(default_factory=list)
    parts: Sequence[int] = ()
    finished: dict[tuple[int, ...], float] = field(default_factory=dict)
    write: float = 0.0
    _held: int = 0
    _begun: tuple[float, float] | None = None
    _ended: tuple[float, float] | None = None
    _sample: list[RowBatch] = field(default_factory=list)
    _warned: bool = False

    @property
    def counts(self) -> Counts:
        """The counts of the main source."""
        return _with_skipped(self.read, self.skipped)

    @property
    def named(self) -> list[tuple[str, Counts]]:
        """The counts of named sources, one entry for each scan."""
        return [
            (scan.name, _with_skipped(scan.read, scan.skipped))
            for scan in self.named_scans
        ]

    def bytes_done(self) -> int:
        """Return how many bytes of the main source were read so far, here or by tasks."""
        here = sum(file.bytes_read() for file in self.files)
        return max(here, self.bytes_by_tasks)

    # Times

    def timed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the output; the time until the next piece is needed is that of writing."""
        self._begun = (perf_counter(), process_time())
        try:
            for piece in pieces:
                begun = perf_counter()
                yield piece
                self.write += perf_counter() - begun
        finally:
            self._ended = (perf_counter(), process_time())

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Add the time of the work inside to that of what is left when all rows were read."""
        begun = perf_counter()
        try:
            yield
        finally:
            parts = tuple(self.parts)
            before = self.finished.get(parts, 0.0)
            self.finished[parts] = before + perf_counter() - begun

    def end_output(self) -> None:
        """Add the time since the last answer to that of writing: an output may be made then."""
        if self._ended is not None:
            before, self._ended = self._ended, (perf_counter(), process_time())
            self.write += self._ended[0] - before[0]

    @property
    def seconds(self) -> tuple[float, float]:
        """The seconds of the run so far, and those of all processors in this process."""
        if self._begun is None:
            return 0.0, 0.0
        wall, cpu = self._ended or (perf_counter(), process_time())
        return wall - self._begun[0], cpu - self._begun[1]

    @property
    def work(self) -> Work:
        """The work of all scans; `held` is what the run held at most."""
        total = Work()
        for scan in self.scans:
            total.add(scan.work)
        total.held = max((scan.work.held for scan in self.scans), default=0)
        total.held += self._held
        return total

    def count(
        self, source: str | None, read: Counts, skipped: Sequence[SkippedLines] = ()
    ) -> None:
        """Record the counts of a scan."""
        if source is None:
            self.read, self.skipped = read, list(skipped)
        else:
            self.named_scans.append(NamedScan(source, read, skipped))

    def discard_index_counts(self, join: JoinPlan) -> None:
        """Discard the counts that an index gave for a join: its right side is scanned now."""
        self.named_scans = [scan for scan in self.named_scans if scan.join != join]

    def keep_sample(self, batch: RowBatch) -> None:
        """Keep one of the first batches of a pipe, which cannot be read again."""
        if len(self._sample) < _SAMPLE_BATCHES:
            self._sample.append(batch)

    @property
    def sampled(self) -> int:
        """The number of rows in the sample of a pipe."""
        return sum(map(len, self._sample))

    def first_rows(self, files: Iterable[Rows], rows: int) -> Iterator[bytes | None]:
        """Yield the first rows of a source: files are read again, pipes from the sample."""
        sample = self._sample if files is self.files else []
        again = (file.batches(0, rows) for file in files if not file.source.is_pipe)
        for batch in chain(sample, chain.from_iterable(again)):
            if rows <= 0:
                return
            yield from batch.contents()
            rows -= len(batch)

    def reject(
        self,
        error: Callable[[], BadRowError | RowFailedError],
        raw: Callable[[], bytes | None],
        *,
        again: bool = False,
    ) -> None:
        """Raise the error of a bad row, or count and report it, as `on_error` says.

        A row that is read `again` is reported by another scan.
        """
        if self.on_error == "abort":
            raise _with_cure(error(), raw)
        if again:
            return
        from headrace.kernel.tally import FIRST_BAD

        self.bad += 1
        keep = len(self.errors) < FIRST_BAD
        if self.on_bad_row is None and not keep and self.on_error == "skip":
            return
        made = error()
        if keep or self.on_bad_row is None:
            self.errors.append(made)
        if self.on_bad_row is not None:
            self.on_bad_row(BadRow(made, raw()))

    def watch_memory(self, query: Query) -> None:
        """Warn once if a query holds most of the memory that it may, and keep the peak."""
        if isinstance(query, RowQuery):
            return
        held = query.held
        self._held = max(self._held, held)
        if self._warned or not isinstance(query, StreamQuery):
            # A sort writes what it may not hold to a file.
            return
        most = query.max_memory
        if held > _WATERMARK * most:
            self._warned = True
            self.warn(
                f"the query holds {held} of the {most} bytes that --memory allows"
            )


def _with_skipped(read: Counts, skipped: Sequence[SkippedLines]) -> Counts:
    return sum((lines.counts for lines in skipped), read)


def _with_cure(
    error: BadRowError | RowFailedError, raw: Callable[[], bytes | None]
) -> BadRowError | RowFailedError:
    """Add advice to the error of a first line, if the file is not JSON lines."""
    if isinstance(error, BadRowError) and error.line == 1:
        from headrace.engines.rows.foreign_layout import cure

        error.cure = cure(error.path, raw(), error.reason)
    return error
