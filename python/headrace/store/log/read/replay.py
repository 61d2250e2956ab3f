"""Playing logs again, as fast as possible or as time went by.

`Player.poll` looks once and never waits. A *schedule* says which times of lines have come: it
begins with the first line, and goes `speed` times as fast as the clock.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.store.files.units import EARLIEST, LATEST, Between
from headrace.store.log.read.merge import MergedLogs
from headrace.store.log.read.reader import LogReader
from headrace.store.log.read.time_range import blocks_between, ranges_between

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.store.log.read.damage import PassedOver
    from headrace.store.log.read.merge import Piece
    from headrace.store.log.read.partitions import Partition

MANY_ROWS = 1 << 16

_AT_ONCE = 8
"""Logs of which as much is read at once as of one; of more logs less of each."""


class Schedule:
    """Which lines are due; `speed` is None if all are."""

    def __init__(self, speed: float | None, clock: Callable[[], float]) -> None:
        self.speed = speed
        self._clock = clock
        self._begun: tuple[int, float] | None = None

    def restart(self) -> None:
        """Have the next line be due at once, and those behind it in their time."""
        self._begun = None

    def reached(self) -> int:
        """Return the latest time that has come; none has before it has begun."""
        if self.speed is None:
            return LATEST
        if self._begun is None:
            return EARLIEST
        key, at = self._begun
        return min(key + int((self._clock() - at) * 1000 * self.speed), LATEST)

    def wait(self, key: int) -> float:
        """Return in how many seconds a time comes; less than 0 if it has come before."""
        if self.speed is None:
            return 0.0
        if self._begun is None:
            self._begun = key, self._clock()
        begun, at = self._begun
        return at + (key - begun) / 1000 / self.speed - self._clock()


@dataclass(frozen=True, slots=True)
class Playing:
    """What is played: lines with these times, from these lines of partitions on.

    Damaged ones are an error, or are told to `passed`.
    """

    partitions: Sequence[Partition]
    times: Between
    start: int | Mapping[str, int] = 1
    threads: int = 2
    tagged: bool = False
    passed: PassedOver | None = None
    picked: bool = False

    def first_line(self, name: str) -> int:
        """Return with which line of a partition it begins."""
        return self.start if isinstance(self.start, int) else self.start.get(name, 1)

    def check(self) -> None:
        """Raise if lines are asked of partitions that are not there."""
        names = {each.name for each in self.partitions}
        starts = {} if isinstance(self.start, int) else self.start
        for name in starts:
            if name not in names:
                there = ", ".join(sorted(names)[:5])
                raise UsageError(f"there is no partition {name!r}; there are {there}")


class Player:
    """Plays what was committed when it was made."""

    def __init__(
        self,
        playing: Playing,
        speed: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        playing.check()
        self.schedule = Schedule(speed, clock)
        self.lines = 0
        """How many were given out."""
        self.position: int | None = None
        """The time of the last that was given out."""
        self.lag = 0.0
        """By how many seconds that was late."""
        self._playing = playing
        few = 2 if len(playing.partitions) > _AT_ONCE else None
        self._readers = [
            LogReader(each.directory, most_open=few) for each in playing.partitions
        ]
        self._ends = [reader.last_line for reader in self._readers]
        self._merged = self._begin(playing)

    def _begin(self, playing: Playing) -> MergedLogs:
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
        """Return the first line of each partition that is played, or behind which it ends."""
        playing, found = self._playing, []
        for partition, reader, end in zip(
            playing.partitions, self._readers, self._ends, strict=True
        ):
            start = max(playing.first_line(partition.name), reader.first_line)
            chosen = ranges_between(reader, start, end, playing.times)
            found.append(next((first for first, _end in chosen), end + 1))
        return found

    def seek(self, since: int) -> None:
        """Go on with the lines that have this time or a later one, be they done or not."""
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
        """Return the lines that are due, or in how many seconds one is; None at the end."""
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
