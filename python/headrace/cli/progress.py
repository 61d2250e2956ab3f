"""Progress of long work: a bar for people, events for programs.

Short work shows no progress: a bar that only flashes up has no use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.store.files.units import format_size, format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.store.log.read.replay import Player

PATIENCE = 0.5
"""Seconds of work before anything is shown."""

BAR_EVERY = 0.1
EVENT_EVERY = 0.5


class Pace:
    """Decides when progress is due: after `PATIENCE`, then every `every` seconds."""

    def __init__(self, every: float, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._every = every
        self.started = clock()
        self._next = self.started + PATIENCE

    def due(self) -> bool:
        """Return whether to report now."""
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + self._every
        return True

    def elapsed(self) -> float:
        """Seconds since the work began."""
        return self._clock() - self.started


def bar(done: int, total: int | None, seconds: float, columns: int) -> str:
    """Draw one line of at most `columns` characters.

    >>> bar(1 << 20, 4 << 20, 2.0, 80)
    '[######                  ]  25%  1 MiB of 4 MiB  512 KiB/s  6 s left'
    >>> bar(1 << 20, None, 2.0, 80)
    '1 MiB  512 KiB/s'
    """
    rate = done / seconds if seconds > 0 else 0.0
    speed = f"{format_size(int(rate))}/s"
    if not total:
        return f"{format_size(done)}  {speed}"[:columns]
    share = min(done / total, 1.0)
    left = f"  {(total - done) / rate:.0f} s left" if 0 < done <= total else ""
    text = f"{share:4.0%}  {format_size(done)} of {format_size(total)}  {speed}{left}"
    width = min(24, columns - len(text) - 4)
    blocks = f"[{'#' * int(share * width):{width}}] " if width >= 4 else ""
    return f"{blocks}{text}"[:columns]


class Replaying:
    """Progress of a replay of logs."""

    def __init__(self, player: Player) -> None:
        self._player = player

    def draw(self, done: int, _total: int | None, seconds: float, columns: int) -> str:
        """Draw one line: the time of the last record, records, their rate and delay."""
        reached = self._player.position
        when = "" if reached is None else f"{format_time(reached)}  "
        rate = done / seconds if seconds > 0 else 0.0
        lag = self._player.lag
        late = f"  {lag:.1f} s late" if self._player.schedule.speed else ""
        return f"{when}{done} records  {rate:.0f}/s{late}"[:columns]

    def facts(self) -> dict[str, object]:
        """Return the time of the last record and the delay, for an event."""
        return {
            "time": self._player.position,
            "lag_ms": round(self._player.lag * 1000),
        }
