"""Replay of logs, as fast as possible or at the pace of their times.

`Player.poll` looks once and never waits. A *schedule* decides which times have come: it
begins with the first line, and runs `speed` times as fast as the clock.

Several logs are merged by time, then by log, then by line. The time of a line is the latest
one of its log up to the line, so that a log whose times go back keeps its order. Threads read
the logs ahead, and the core merges them; the result does not depend on either.
"""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.kernel.log import LogMerge
from headrace.store.files.units import EARLIEST, LATEST, Between
from headrace.store.log.read.ranges import blocks_between, ranges_between
from headrace.store.log.read.reader import Block, LogReader, SkippedLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.store.log.read.find_partitions import Partition

MANY_ROWS = 1 << 16

_AT_ONCE = 8
"""The number of logs up to which each gets the full read-ahead; with more, each gets less."""


class Schedule:
    """Which lines are due; all of them if `speed` is None."""

    def __init__(self, speed: float | None, clock: Callable[[], float]) -> None:
        self.speed = speed
        self._clock = clock
        self._begun: tuple[int, float] | None = None

    def restart(self) -> None:
        """Make the next line due now, and those after it at their times."""
        self._begun = None

    def reached(self) -> int:
        """Return the latest time that has come; none before the schedule has begun."""
        if self.speed is None:
            return LATEST
        if self._begun is None:
            return EARLIEST
        key, at = self._begun
        return min(key + int((self._clock() - at) * 1000 * self.speed), LATEST)

    def wait(self, key: int) -> float:
        """Return the seconds until a time comes; negative if it has come."""
        if self.speed is None:
            return 0.0
        if self._begun is None:
            self._begun = key, self._clock()
        begun, at = self._begun
        return at + (key - begun) / 1000 / self.speed - self._clock()


@dataclass(frozen=True, slots=True)
class ReplayRange:
    """The lines to replay: those with these times, from these lines of partitions on.

    A damaged line raises, or is counted in `passed`.
    """

    partitions: Sequence[Partition]
    times: Between
    start: int | Mapping[str, int] = 1
    threads: int = 2
    tagged: bool = False
    passed: SkippedLines | None = None
    picked: bool = False

    def first_line(self, name: str) -> int:
        """Return the first line of a partition to replay."""
        return self.start if isinstance(self.start, int) else self.start.get(name, 1)

    def check(self) -> None:
        """Raise if a partition of the request does not exist."""
        names = {each.name for each in self.partitions}
        starts = {} if isinstance(self.start, int) else self.start
        for name in starts:
            if name not in names:
                there = ", ".join(sorted(names)[:5])
                raise UsageError(f"there is no partition {name!r}; there are {there}")


class Player:
    """Replays the lines that were committed when it was created."""

    def __init__(
        self,
        playing: ReplayRange,
        speed: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        playing.check()
        self.schedule = Schedule(speed, clock)
        self.lines = 0
        """The number of lines that were returned."""
        self.position: int | None = None
        """The time of the last line that was returned."""
        self.lag = 0.0
        """The seconds by which that line was late."""
        self._playing = playing
        few = 2 if len(playing.partitions) > _AT_ONCE else None
        self._readers = [
            LogReader(each.directory, most_open=few) for each in playing.partitions
        ]
        self._ends = [reader.last_line for reader in self._readers]
        self._merged = self._begin(playing)

    def _begin(self, playing: ReplayRange) -> MergedLogs:
        share = max(len(self._readers) // _AT_ONCE, 1)
        logs = [
            blocks_between(
                reader,
                max(playing.first_line(partition.name), reader.first_line),
                end,
                playing.times,
                share=share,
                passed=playing.passed,
            )
            for partition, reader, end in zip(
                playing.partitions, self._readers, self._ends, strict=True
            )
        ]
        names = [_as_json(each.name) for each in playing.partitions]
        return MergedLogs(
            logs,
            picked=playing.picked,
            names=names if playing.tagged else None,
            threads=playing.threads,
        )

    def first_lines(self) -> list[int]:
        """Return the next line of each partition, or the one after its end."""
        playing, found = self._playing, []
        for partition, reader, end in zip(
            playing.partitions, self._readers, self._ends, strict=True
        ):
            start = max(playing.first_line(partition.name), reader.first_line)
            chosen = ranges_between(reader, start, end, playing.times)
            found.append(next((first for first, _end in chosen), end + 1))
        return found

    def seek(self, since: int) -> None:
        """Continue with the lines that have this time or a later one, returned or not."""
        self._merged.close()
        self._playing = replace(
            self._playing, times=replace(self._playing.times, since=since)
        )
        self._merged = self._begin(self._playing)
        self.schedule.restart()

    def step(self) -> Piece | None:
        """Return the next line, due or not, None if there is none."""
        piece = self._merged.next(LATEST, 1)
        self._note(piece)
        return piece if piece.rows else None

    def poll(self) -> Piece | float | None:
        """Return the lines that are due, or the seconds until one is; None at the end."""
        piece = self._merged.next(self.schedule.reached(), MANY_ROWS)
        if piece.rows:
            self._note(piece)
            return piece
        if piece.next_key is None:
            return None
        return max(self.schedule.wait(piece.next_key), 0.0)

    def _note(self, piece: Piece) -> None:
        self.lines += piece.rows
        if piece.key is not None:
            self.position = piece.key
            self.lag = max(-self.schedule.wait(piece.key), 0.0)

    def close(self) -> None:
        """End the threads that read ahead."""
        self._merged.close()


def _as_json(name: str) -> bytes:
    return json.dumps(os.fsencode(name).decode(errors="replace")).encode()


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
