"""Lines of several logs in one order: by time, then by log, then by line.

The time that counts is the latest one of the log up to the line, so that a log whose times
go back keeps its order. Logs are read ahead by threads, and merged by the core, which holds
some lines of each; what comes out depends on neither.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.kernel.log import LogMerge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.store.log.read.reader import Block

_BYTES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines, and where they are from if that was asked for.

    `key` is the time that counts of the last; `next_key` that of the next line, if it is
    later than what was asked for. At the end there are no lines, and no next one.
    """

    data: bytes
    rows: int
    picks: bytes
    key: int | None
    next_key: int | None


class MergedLogs:
    """Some logs, each given as blocks of lines.

    Lines are as they are, or with `names`, as JSON, objects that say where they are from.
    """

    def __init__(
        self,
        logs: Sequence[Iterator[Block]],
        *,
        picked: bool = False,
        names: list[bytes] | None = None,
        threads: int = 2,
    ) -> None:
        self._logs = logs
        self._merge = LogMerge(len(logs), picked=picked, names=names)
        self._pool = ThreadPoolExecutor(threads) if threads else None
        self._ahead: list[Future[Block | None] | None] = [
            self._begin(log) for log in logs
        ]

    def _begin(self, log: Iterator[Block]) -> Future[Block | None] | None:
        return None if self._pool is None else self._pool.submit(next, log, None)

    def next(self, key: int, rows: int) -> Piece:
        """Return the next lines with keys up to `key`, some at a time."""
        while True:
            data, count, picks, last, (why, what) = self._merge.next(
                key, rows, _BYTES_AT_ONCE
            )
            if count or why != "wants":
                later = what if why == "later" else None
                return Piece(data, count, picks, last, later)
            # Not before what is there was given out: it may fail.
            self._feed(what)

    def _feed(self, number: int) -> None:
        future = self._ahead[number]
        block = next(self._logs[number], None) if future is None else future.result()
        if block is None:
            self._merge.end(number)
            return
        self._merge.give(number, block.entries, block.data)
        self._ahead[number] = self._begin(self._logs[number])

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
