"""Merge of the lines of several logs: by time, then by log, then by line.

The time of a line is the latest one of its log up to the line, so that a log whose times go
back keeps its order. Threads read the logs ahead, and the core merges them, holding some
lines of each; the result does not depend on either.
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
    """Some lines, with their origins if requested.

    `key` is the time of the last line; `next_key` that of the next line, if it is later
    than the requested time. At the end there are no lines, and no next one.
    """

    data: bytes
    rows: int
    picks: bytes
    key: int | None
    next_key: int | None


class MergedLogs:
    """Several logs, each as an iterator of blocks of lines.

    Lines are unchanged, or with `names` JSON objects that have their origin.
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
        """Return the next lines with keys up to `key`, in pieces."""
        while True:
            data, count, picks, last, (why, what) = self._merge.next(
                key, rows, _BYTES_AT_ONCE
            )
            if count or why != "wants":
                later = what if why == "later" else None
                return Piece(data, count, picks, last, later)
            # Only after the lines in memory were yielded: it may fail.
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
