"""Threads of a scan: shares of the rows go through queries of their own, in several threads.

A *share* is a run of rows that one thread reads: a fragment of a file, or some batches of a source
that is read in order. The results of shares come in the order of the rows, so that merging them
gives what one thread would have given.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from queue import Full, Queue
from time import perf_counter
from typing import TYPE_CHECKING

from headrace.engines.query.report import Work
from headrace.engines.query.run import GROUP_BYTES
from headrace.engines.rows.fragment import rows_of
from headrace.errors import UnusableTableError
from headrace.kernel.programs import Cancel, RowQuery, StreamQuery
from headrace.kernel.rows import END
from headrace.physical.fragment import fragments
from headrace.store.rows.row_file import FIRST_BATCH_BYTES, FIRST_BATCH_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.query.report import ScanRun
    from headrace.engines.query.scan import Query, Scanner, Sharing
    from headrace.engines.query.sorted_lines import SortPart
    from headrace.kernel.programs import Counts, Refused
    from headrace.kernel.rows import Decoding, RowBatch
    from headrace.physical.fragment import Fragment
    from headrace.store.rows.row_file import RowFile

_LINES_BYTES = 4 << 20
"""The size of a share whose lines are held until those before them are written."""

_LEAST_SHARE, _MOST_SHARE = 8 << 20, 256 << 20
"""The size of a share whose rows are reduced to a small result."""

_SHARES_FOR_EACH = 4
"""The number of such shares for each thread, so that all threads end at about the same time."""

_BATCHES_OF_SHARE = 8
"""The number of batches in a share of a source that is read in order."""

_HELD_BYTES = 8 << 20
"""A result without groups is passed on when its queries hold this much."""

_MOST_REFUSED = 1000
"""A result is passed on when it has this many refused rows."""

_SHARES_AHEAD = 2
"""The number of shares for each thread that wait for their turn."""

_LINES_AHEAD, _PARTS_AHEAD = 16, 4
"""The number of results of a share that wait for their turn: all lines of one that is small."""

HELD_AHEAD = _SHARES_AHEAD * (_PARTS_AHEAD + 1) * _HELD_BYTES
"""About how much the results of a thread hold at most, beside the queries that they are merged into."""

_BATCH_ROWS, _BATCH_BYTES = 1 << 16, 1 << 19

_PATIENCE = 0.1
"""Seconds between two looks at whether the threads are to end."""


@dataclass(frozen=True, slots=True)
class Share:
    """Rows of a file that one thread reads.

    `numbered`: rows are counted from the beginning of the file; otherwise from that of the share.
    `batches` adds the bytes that it reads.
    """

    file: RowFile
    batches: Callable[[Work], Iterator[RowBatch]]
    numbered: bool = False
    size: int = 0


@dataclass(slots=True)
class ShareResult:
    """The result of rows `first` to `stop` of a share.

    It has lines, or for each query what holds the rows that it has reduced; `counts` and `arrived`
    have an entry for each query. `elements` is how many the first query holds in order. `refused` rows come
    with their batch. A `failure` ends the share.
    """

    first: int
    stop: int = 0
    elements: int = 0
    lines: list[bytes] = field(default_factory=list)
    parts: list[StreamQuery | SortPart] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)
    arrived: list[list[int]] = field(default_factory=list)
    refused: list[tuple[Refused, RowBatch]] = field(default_factory=list)
    failure: Exception | None = None


def share_bytes(total: int, threads: int, *, lines: bool) -> int:
    """Return the size of shares.

    >>> share_bytes(1 << 30, 4, lines=False) >> 20
    64
    """
    if lines:
        return _LINES_BYTES
    return min(max(total // (threads * _SHARES_FOR_EACH), _LEAST_SHARE), _MOST_SHARE)


def shares_of(file: RowFile, size: int) -> Iterator[Share]:
    """Cut a file into shares of `size` bytes."""
    source, decoding = file.source, file.options.decoding._replace(threads=1)
    if decoding.max_decoded != END:
        # Only a reader of the whole file knows its size after decompression.
        source = replace(source, blocks=False)
    for fragment in fragments(source, size):
        batches = partial(_batches_of, fragment, file.options.max_line, decoding)
        yield Share(file, batches, size=fragment.end - fragment.start)


def _batches_of(
    fragment: Fragment, max_line: int, decoding: Decoding, work: Work
) -> Iterator[RowBatch]:
    rows = rows_of(fragment, max_line, decoding)
    count, size = _BATCH_ROWS, _BATCH_BYTES
    if fragment.start == 0:
        # The first batches are small: a few rows may be enough, and a row may take long.
        count, size = FIRST_BATCH_ROWS, FIRST_BATCH_BYTES
    before = 0
    while True:
        batch = rows.next_batch(count, size)
        # The rest of the last row, and a buffer ahead of it, belong to the next share.
        read = min(rows.bytes_read, fragment.end - fragment.start)
        work.bytes += read - before
        if batch is None:
            return
        before = read
        yield batch
        count, size = min(2 * count, _BATCH_ROWS), min(2 * size, _BATCH_BYTES)


def shares_in_order(
    file: RowFile, batches: Iterator[RowBatch], size: int
) -> Iterator[Share]:
    """Divide the batches of a source that is read in order into shares of `size` batches."""
    while some := list(islice(batches, size)):
        yield Share(file, partial(_held_batches, some), numbered=True)


def _held_batches(batches: Sequence[RowBatch], _work: Work) -> Iterator[RowBatch]:
    return iter(batches)


@dataclass(slots=True)
class _Run:
    """Threads that take one share after the other."""

    shares: Iterator[Share]
    scanner: Scanner
    run: ScanRun
    sharing: Sharing
    ahead: threading.Semaphore
    cancel: Cancel = field(default_factory=Cancel)
    started: Queue[tuple[Share, Queue[ShareResult | None]] | Exception | None] = field(
        default_factory=Queue
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: bool = False
    reader: threading.Thread | None = None
    works: list[Work] = field(default_factory=list)

    def work(self) -> None:
        """Take shares until there are none."""
        work = Work()
        self.works.append(work)
        while self._may_start():
            with self._lock:
                if self._ended:
                    return
                most = _LINES_AHEAD if self.sharing.lines else _PARTS_AHEAD
                results: Queue[ShareResult | None] = Queue(most)
                begun = perf_counter()
                share = self._next_share()
                work.read += perf_counter() - begun
                if share is None:
                    return
                self.started.put((share, results))
            for result in self._results(share, work):
                self._put(results, result)
            self._put(results, None)

    def _may_start(self) -> bool:
        while not self.cancel.cancelled:
            if self.ahead.acquire(timeout=_PATIENCE):
                return not self.cancel.cancelled
        return False

    def _next_share(self) -> Share | None:
        self.reader = threading.current_thread()
        try:
            share = next(self.shares, None)
        except Exception as error:  # noqa: BLE001, the thread that merges raises it
            self.started.put(error)
            share = None
        self.reader = None
        if share is None:
            self._ended = True
            self.started.put(None)
        return share

    def _put(
        self, results: Queue[ShareResult | None], result: ShareResult | None
    ) -> None:
        while not self.cancel.cancelled:
            try:
                results.put(result, timeout=_PATIENCE)
            except Full:
                continue
            return

    def _results(self, share: Share, work: Work) -> Iterator[ShareResult]:
        """Yield the results of a share, up to a row or an error that ends the scan."""
        aborts = self.scanner.options.on_error == "abort"
        queries: Sequence[Query] = ()
        result = ShareResult(0)
        try:
            queries = self.sharing.make(self.cancel)
            shared = _held(queries)
            for batch in work.timed(share.batches(work)):
                result.stop += len(batch)
                for lines, refused in self.scanner.answers_of(
                    queries,
                    batch,
                    reverse=self.run.scan.reverse,
                    watched=False,
                    work=work,
                ):
                    result.lines.append(lines)
                    if refused is not None:
                        result.refused.append((refused, batch))
                        if aborts:
                            break
                held = _held(queries) - shared
                work.held = max(work.held, held)
                if (result.refused and aborts) or all(q.done for q in queries):
                    break
                if _is_full(result, held, _most_held(queries)):
                    yield self._closed(result, queries, work)
                    queries = self.sharing.make(self.cancel)
                    result = ShareResult(result.stop, result.stop)
        except Exception as error:  # noqa: BLE001, the thread that merges raises it
            result.failure = error
        yield self._closed(result, queries, work)

    def _closed(
        self, result: ShareResult, queries: Sequence[Query], work: Work
    ) -> ShareResult:
        begun = perf_counter()
        result.counts = [query.counts for query in queries]
        if self.scanner.options.analyze:
            streams = (query for query in queries if not isinstance(query, RowQuery))
            result.arrived = [query.arrived for query in streams]
        if not self.sharing.lines:
            reducing = [q for q in queries if not isinstance(q, RowQuery)]
            result.elements = sum(query.elements for query in reducing[:1])
            result.parts = [
                query if isinstance(query, StreamQuery) else query.part()
                for query in reducing
            ]
        work.merge += perf_counter() - begun
        return result


def _is_full(result: ShareResult, held: int, most: int) -> bool:
    return any(result.lines) or len(result.refused) >= _MOST_REFUSED or held > most


def _most_held(queries: Sequence[Query]) -> int:
    """Return how much queries may hold before their result is passed on."""
    streams = [query for query in queries if isinstance(query, StreamQuery)]
    return GROUP_BYTES if any(each.has_groups for each in streams) else _HELD_BYTES


def _held(queries: Sequence[Query]) -> int:
    return sum(0 if isinstance(query, RowQuery) else query.held for query in queries)


def _in_threads(
    merging: _Merging, shares: Iterator[Share]
) -> Iterator[tuple[Share, Iterator[ShareResult]]]:
    """Query shares in threads; yield each with its results, in the order of the shares.

    The results of a share must be read before those of the next one.
    """
    threads = merging.scanner.options.threads
    ahead = threading.Semaphore(threads * _SHARES_AHEAD)
    run = _Run(shares, merging.scanner, merging.run, merging.sharing, ahead)
    merging.run.threads = threads
    workers = [threading.Thread(target=run.work, daemon=True) for _ in range(threads)]
    try:
        for worker in workers:
            worker.start()
        while (each := run.started.get()) is not None:
            if isinstance(each, Exception):
                raise each
            share, results = each
            yield share, iter(results.get, None)
            run.ahead.release()
    finally:
        run.cancel.cancel()
        for worker in workers:
            # A thread that waits for a pipe ends with the process.
            while worker.is_alive() and worker is not run.reader:
                worker.join(_PATIENCE)
        for work in run.works:
            merging.run.work.add(work)


@dataclass(slots=True)
class _Merging:
    """The queries that take in the results of shares, and the file whose shares come now."""

    scanner: Scanner
    queries: Sequence[Query]
    run: ScanRun
    sharing: Sharing
    rows_before: int = 0
    _file: RowFile | None = None
    _distrusted: RowFile | None = None

    def take(self, share: Share, results: Iterator[ShareResult]) -> Iterator[bytes]:
        """Take in the results of a share; yield lines."""
        self._enter(share)
        if share.file is self._distrusted:
            for _ in results:
                pass
            return
        stop = 0
        for result in results:
            stop = result.stop
            if self._reaches_limit(result):
                yield from self.read_here(share, first=result.first)
                return
            yield from self._take_result(share, result)
            if isinstance(result.failure, UnusableTableError):
                yield from self._read_in_order(share, result)
                return
            if result.failure is not None:
                raise result.failure
        self._leave(share, stop)

    def take_here(self, share: Share) -> Iterator[bytes]:
        """Put the rows of a share through the queries, in this thread; yield lines."""
        self._enter(share)
        rows = self.queries[0].counts.rows
        yield from self.read_here(share)
        self._leave(share, self.queries[0].counts.rows - rows)

    def _enter(self, share: Share) -> None:
        if share.file is not self._file:
            self._file, self.rows_before = share.file, 0

    def _leave(self, share: Share, rows: int) -> None:
        if not share.numbered:
            self.rows_before += rows
        self.scanner.report.bytes_by_tasks += share.size

    def _reaches_limit(self, result: ShareResult) -> bool:
        """Whether the queries need no rows behind those of a result, and perhaps not all of it."""
        if self.sharing.limit is None:
            return False
        return result.elements + _lines_in(result) >= self.queries[0].wanted

    def _take_result(self, share: Share, result: ShareResult) -> Iterator[bytes]:
        yield from filter(None, result.lines)
        begun = perf_counter()
        lines = 0 if self.sharing.limit is None else _lines_in(result)
        for query, counts in zip(self.queries, result.counts, strict=False):
            query.absorb(counts, lines)
        for query, part in zip(self.queries, result.parts, strict=False):
            _merge(query, part)
            self.scanner.report.watch_memory(query)
        for query, arrived in zip(self.queries, result.arrived, strict=False):
            assert not isinstance(query, RowQuery)
            query.absorb_arrived(arrived)
        self.run.work.merge += perf_counter() - begun
        before = 0 if share.numbered else self.rows_before
        for refused, batch in result.refused:
            self.scanner.refuse(share.file, batch, refused, self.run.scan, before)

    def read_here(self, share: Share, *, first: int = 0) -> Iterator[bytes]:
        """Put the rows of a share from row `first` on through the queries, in this thread."""
        before = 0 if share.numbered else self.rows_before
        batches = _from_row(share.batches(self.run.work), first)
        yield from self.scanner.read_batches(
            share.file, batches, self.queries, self.run, before
        )

    def _read_in_order(self, share: Share, result: ShareResult) -> Iterator[bytes]:
        """Read the rest of a file whose block table does not fit it."""
        assert isinstance(result.failure, UnusableTableError)
        self._distrusted = share.file
        share.file.distrust(result.failure)
        batches = share.file.batches(self.rows_before + result.stop)
        yield from self.scanner.read_batches(
            share.file, batches, self.queries, self.run
        )


def _merge(query: Query, part: StreamQuery | SortPart) -> None:
    """Take in the part of a query of the same kind."""
    if isinstance(query, StreamQuery):
        assert isinstance(part, StreamQuery)
        query.append(part)
    else:
        assert not isinstance(query, RowQuery)
        assert not isinstance(part, StreamQuery)
        query.merge(part)


def _lines_in(result: ShareResult) -> int:
    return sum(lines.count(b"\n") for lines in result.lines)


def _from_row(batches: Iterator[RowBatch], first: int) -> Iterator[RowBatch]:
    """Yield the batches that begin at row `first` or later: a result ends with a batch."""
    rows = 0
    for batch in batches:
        if rows >= first:
            yield batch
        rows += len(batch)


def read_files(
    scanner: Scanner,
    files: Sequence[RowFile],
    queries: Sequence[Query],
    run: ScanRun,
    sharing: Sharing,
) -> Iterator[bytes]:
    """Put the rows of seekable files through queries, in threads; yield their lines.

    With a limit, the first rows may be enough: this thread reads these.
    """
    threads = scanner.options.threads
    total = sum(file.source.size for file in files)
    size = share_bytes(total, threads, lines=sharing.lines or sharing.limit is not None)
    shares = (share for file in files for share in shares_of(file, size))
    merging = _Merging(scanner, queries, run, sharing)
    if sharing.limit is not None:
        for share in islice(shares, 1):
            yield from merging.take_here(share)
    yield from _merged(merging, shares)


def read_in_order(
    scanner: Scanner,
    file: RowFile,
    batches: Iterator[RowBatch],
    queries: Sequence[Query],
    run: ScanRun,
    sharing: Sharing,
) -> Iterator[bytes]:
    """Put batches of a file through queries, in threads; yield their lines."""
    small = sharing.lines or scanner.options.share_bytes is not None
    shares = shares_in_order(file, batches, 1 if small else _BATCHES_OF_SHARE)
    merging = _Merging(scanner, queries, run, sharing)
    yield from _merged(merging, shares)


def _merged(merging: _Merging, shares: Iterator[Share]) -> Iterator[bytes]:
    if all(query.done for query in merging.queries):
        return
    for share, results in _in_threads(merging, shares):
        yield from merging.take(share, results)
        if all(query.done for query in merging.queries):
            return
