"""Playing logs again in the order of their times, at any speed."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import UsageError
from headrace.kernel.log import picks_in
from headrace.kernel.values import parse
from headrace.store.files.closing import Closing
from headrace.store.files.units import between, parse_time
from headrace.store.log.read.partitions import find_partitions
from headrace.store.log.read.replay import Player, Playing

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from typing import Literal

    from headrace.store.files.units import Moment
    from headrace.store.log.read.merge import Piece


class Replayed(NamedTuple):
    """A record, and where it is from; `time` is in milliseconds."""

    partition: str
    line: int
    time: int
    record: Any


class Replay(Closing):
    """The records of several logs in the order of (time, partition, line).

    A directory is a log or has some below it; each is a partition, called by its path
    below the directory. A partition whose times go back keeps the order of its lines: the
    latest time so far counts. What was committed when it began is played, from `since` to
    before `until`, and from line `start` of each partition on, or of those it names.

    With a `speed` other than ``"max"`` records come when their times do, so many times as
    fast. `pause`, `resume`, `step` and `seek` may be called by other threads than the one
    that iterates. Use it in a `with` block, or close it.
    """

    def __init__(
        self,
        *directories: str | os.PathLike[str],
        speed: float | Literal["max"] = "max",
        since: Moment | None = None,
        until: Moment | None = None,
        start: int | Mapping[str, int] = 1,
        raw: bool = False,
        threads: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        partitions = find_partitions(directories)
        playing = Playing(
            partitions, between(since, until), start, threads, picked=True
        )
        self.partitions = [each.name for each in partitions]
        self._player = Player(playing, checked_speed(speed), clock)
        self._raw = raw
        self._lines = {name: playing.first_line(name) - 1 for name in self.partitions}
        self._position: int | None = None
        # What other threads ask for.
        self._asked = threading.Condition()
        self._paused = False
        self._steps = 0
        self._sought: int | None = None
        self._closed = False

    @property
    def position(self) -> int | None:
        """The time up to which records were given out, in milliseconds; None before."""
        return self._position

    @property
    def lag(self) -> float:
        """By how many seconds the last records were later than `speed` wants them."""
        return self._player.lag

    @property
    def next_lines(self) -> dict[str, int]:
        """With which line each partition would go on: a `start` for another replay."""
        return {name: line + 1 for name, line in self._lines.items() if line}

    @property
    def speed(self) -> float | Literal["max"]:
        """How many times as fast as the clock; it can be set at any time."""
        return self._player.schedule.speed or "max"

    @speed.setter
    def speed(self, speed: float | Literal["max"]) -> None:
        with self._asked:
            self._player.schedule.speed = checked_speed(speed)
            self._player.schedule.restart()
            self._asked.notify_all()

    @property
    def paused(self) -> bool:
        """Whether it waits for `resume` or `step`."""
        return self._paused

    def pause(self) -> None:
        """Give out no more records."""
        with self._asked:
            self._paused = True

    def resume(self) -> None:
        """Go on; the time that it was paused does not count."""
        with self._asked:
            self._paused = False
            self._steps = 0
            self._player.schedule.restart()
            self._asked.notify_all()

    def step(self, records: int = 1) -> None:
        """While it is paused, give out so many records, whatever their times."""
        if records < 1:
            raise UsageError(f"step {records}: it is a number of records from 1 on")
        with self._asked:
            self._steps += records
            self._asked.notify_all()

    def seek(self, time: Moment) -> None:
        """Go on with the records that have this time or a later one."""
        sought = parse_time(time)
        with self._asked:
            self._sought = sought
            self._asked.notify_all()

    def close(self) -> None:
        """End it, also for whoever waits for a record."""
        with self._asked:
            self._closed = True
            self._asked.notify_all()
        self._player.close()

    def __iter__(self) -> Iterator[Replayed]:
        """Yield the records, each when it is due."""
        while (found := self._next_piece()) is not None:
            piece, stepped = found
            for record in self._records(piece):
                if not stepped and not self._turn():
                    break
                self._lines[record.partition] = record.line
                if self._position is None or record.time > self._position:
                    self._position = record.time
                yield record

    def _records(self, piece: Piece) -> Iterator[Replayed]:
        begin = 0
        for number, line, when, end in picks_in(piece.picks):
            text = piece.data[begin : end - 1]
            begin = end
            record = text if self._raw else _parsed(text)
            yield Replayed(self.partitions[number], line, when, record)

    def _turn(self) -> bool:
        """Wait while it is paused; false if what was read before is not to be given out."""
        if self._paused or self._sought is not None or self._closed:
            self._wait_for_turn()
        return self._sought is None and not self._closed

    def _wait_for_turn(self) -> bool:
        """Return whether it is stepped."""
        with self._asked:
            while self._paused and not (
                self._steps or self._closed or self._sought is not None
            ):
                self._asked.wait()
            if stepped := self._paused and self._steps > 0 and self._sought is None:
                self._steps -= 1
            return stepped

    def _next_piece(self) -> tuple[Piece, bool] | None:
        """Return the next records, and whether it is one that was stepped to."""
        while True:
            stepped = self._wait_for_turn()
            with self._asked:
                if self._closed:
                    return None
                if self._sought is not None:
                    self._player.seek(self._sought)
                    first = zip(
                        self.partitions, self._player.first_lines(), strict=True
                    )
                    self._lines = {name: line - 1 for name, line in first}
                    self._sought = self._position = None
                    continue
                found = self._player.step() if stepped else self._player.poll()
                if isinstance(found, float):
                    # Whoever asks for anything wakes us.
                    self._asked.wait(found)
                    continue
            return None if found is None else (found, stepped)


def _parsed(text: bytes) -> object:
    return parse(text) if text.strip() else None


def checked_speed(speed: object) -> float | None:
    """Return a speed, None for ``"max"``."""
    if speed == "max":
        return None
    if (
        isinstance(speed, bool)
        or not isinstance(speed, int | float)
        or not 0 < speed < float("inf")
    ):
        raise UsageError(f"speed {speed!r}: it is a number above 0, or 'max'")
    return float(speed)
