"""Replay of logs in the order of their times, at any speed."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

from headrace.api.options import ReplayOptions, refuse_unknown
from headrace.errors import UsageError
from headrace.kernel.log import picks_in
from headrace.kernel.values import parse
from headrace.store.files.opened import Closing
from headrace.store.files.units import Moment, between, parse_time
from headrace.store.log.read.find_partitions import find_partitions
from headrace.store.log.read.replay import Piece, Player, ReplayRange

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


class Replayed(NamedTuple):
    """A record with its partition and line; `time` is in milliseconds."""

    partition: str
    line: int
    time: int
    record: Any


class Replay(Closing):
    """The records of several logs in the order of (time, partition, line); see `Log.replay`.

    A directory is a log or has logs below it; each is a partition, named by its path below the
    directory. A partition whose times go back keeps the order of its lines: the latest time so
    far counts. Lines are replayed that are committed when the replay begins.

    `pause`, `resume`, `step` and `seek` may be called by other threads than the one that
    iterates. Use it in a `with` block, or close it.
    """

    def __init__(
        self,
        *directories: str | os.PathLike[str],
        **options: Unpack[ReplayOptions],
    ) -> None:
        refuse_unknown(options, ReplayOptions)
        partitions = find_partitions(directories)
        playing = ReplayRange(
            partitions,
            between(options.get("since"), options.get("until")),
            options.get("from_line", 1),
            options.get("threads", 2),
            picked=True,
        )
        self.partitions = [each.name for each in partitions]
        self._player = Player(
            playing,
            checked_speed(options.get("speed", "max")),
            options.get("clock", time.monotonic),
        )
        self._raw = options.get("raw", False)
        self._lines = {name: playing.first_line(name) - 1 for name in self.partitions}
        self._position: int | None = None
        # Requests of other threads.
        self._requests = threading.Condition()
        self._paused = False
        self._steps = 0
        self._sought: int | None = None
        self._closed = False

    @property
    def position(self) -> int | None:
        """The time of the last record that was yielded, in milliseconds; None before the first."""
        return self._position

    @property
    def lag(self) -> float:
        """How many seconds the last records were late."""
        return self._player.lag

    @property
    def next_lines(self) -> dict[str, int]:
        """The next line of each partition: `from_line` of a replay that goes on here."""
        return {name: line + 1 for name, line in self._lines.items() if line}

    @property
    def speed(self) -> float | Literal["max"]:
        """How many times faster than the recorded times; it can be set at any time."""
        return self._player.schedule.speed or "max"

    @speed.setter
    def speed(self, speed: float | Literal["max"]) -> None:
        with self._requests:
            self._player.schedule.speed = checked_speed(speed)
            self._player.schedule.restart()
            self._requests.notify_all()

    @property
    def paused(self) -> bool:
        """Whether it waits for `resume` or `step`."""
        return self._paused

    def pause(self) -> None:
        """Yield no more records."""
        with self._requests:
            self._paused = True

    def resume(self) -> None:
        """Go on; the pause does not count."""
        with self._requests:
            self._paused = False
            self._steps = 0
            self._player.schedule.restart()
            self._requests.notify_all()

    def step(self, records: int = 1) -> None:
        """While it is paused, yield the next records, whatever their times."""
        if records < 1:
            raise UsageError(f"step {records}: must be a positive integer")
        with self._requests:
            self._steps += records
            self._requests.notify_all()

    def seek(self, time: Moment) -> None:
        """Go on with the records that have this time or a later one."""
        sought = parse_time(time)
        with self._requests:
            self._sought = sought
            self._requests.notify_all()

    def close(self) -> None:
        """End the replay, also for a thread that waits for a record."""
        with self._requests:
            self._closed = True
            self._requests.notify_all()
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
            record: object = text
            if not self._raw:
                record = parse(text) if text.strip() else None
            yield Replayed(self.partitions[number], line, when, record)

    def _turn(self) -> bool:
        """Wait while it is paused; false if records that were read ahead are not to be yielded."""
        if self._paused or self._sought is not None or self._closed:
            self._wait_for_turn()
        return self._sought is None and not self._closed

    def _wait_for_turn(self) -> bool:
        """Wait while it is paused; return whether `step` ended the wait."""
        with self._requests:
            while self._paused and not (
                self._steps or self._closed or self._sought is not None
            ):
                self._requests.wait()
            if stepped := self._paused and self._steps > 0 and self._sought is None:
                self._steps -= 1
            return stepped

    def _next_piece(self) -> tuple[Piece, bool] | None:
        """Return the next records, and whether `step` released them."""
        while True:
            stepped = self._wait_for_turn()
            with self._requests:
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
                    # A request of another thread ends the wait.
                    self._requests.wait(found)
                    continue
            return None if found is None else (found, stepped)


def checked_speed(speed: object) -> float | None:
    """Return a speed, None for ``"max"``."""
    if speed == "max":
        return None
    if (
        isinstance(speed, bool)
        or not isinstance(speed, int | float)
        or not 0 < speed < float("inf")
    ):
        raise UsageError(f"speed {speed!r}: must be a number above 0, or 'max'")
    return float(speed)
