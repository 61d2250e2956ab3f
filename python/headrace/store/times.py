"""Times and durations as people write them, in milliseconds.

A time is a moment: milliseconds since the beginning of 1970, or ISO 8601 in UTC unless it
says otherwise, or ``now``, or a duration before now, such as ``-15m``. A duration is one or
more numbers with units: ``500ms``, ``1h30m``, ``7d``.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from headrace.errors import UsageError

Moment: TypeAlias = int | str | datetime
"""How a time can be given."""

EARLIEST, LATEST = -(1 << 63), (1 << 63) - 1
"""Before and behind all times that a line of a log can have."""

_UNITS = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_PART = r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)"
_DURATION = re.compile(rf"(?:{_PART})+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class Between:
    """The times from `since` to before `until`."""

    since: int = EARLIEST
    until: int = LATEST

    @property
    def everything(self) -> bool:
        """Whether every line is meant."""
        return self == Between()

    def has_some(self, earliest: int, latest: int) -> bool:
        """Whether a line with times within these may be meant."""
        return earliest < self.until and self.since <= latest

    def has_all(self, earliest: int, latest: int) -> bool:
        """Whether all lines with times within these are meant."""
        return self.since <= earliest and latest < self.until


def between(since: Moment | None, until: Moment | None) -> Between:
    """Return the times from one to before the other; now is the same for both."""
    now = time.time_ns() // 1_000_000
    return Between(
        EARLIEST if since is None else parse_time(since, now),
        LATEST if until is None else parse_time(until, now),
    )


def parse_time(given: Moment, now: int | None = None) -> int:
    """Return a time in milliseconds since the beginning of 1970; `now` is the clock's.

    >>> parse_time("2026-01-31T12:00:00Z"), parse_time("2026-01-31")
    (1769860800000, 1769817600000)
    >>> parse_time("-15m", now=1_000_000), parse_time("now", now=5), parse_time("1700")
    (100000, 5, 1700)
    """
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise UsageError(f"{given!r} has no time zone; give it one, such as UTC")
        return (given - _EPOCH) // timedelta(milliseconds=1)
    found = _of_text(given, now) if isinstance(given, str) else given
    if type(found) is not int or not _EARLIEST <= found <= _LATEST:
        raise UsageError(
            f"not a time: {given!r}; write milliseconds since 1970, 2026-01-31T12:00:00Z, "
            "now, or -15m for 15 minutes ago"
        )
    return found


def _of_text(text: str, now: int | None) -> int | None:
    text = text.strip()
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    clock = time.time_ns() // 1_000_000 if now is None else now
    if text == "now":
        return clock
    if text.startswith("-") and _DURATION.fullmatch(text[1:]):
        return clock - parse_duration(text[1:])
    if not re.match(r"\d{4}-\d\d-\d\d([T ]|$)", text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def parse_duration(given: str | timedelta) -> int:
    """Return a duration in milliseconds.

    >>> parse_duration("1h30m"), parse_duration("7d"), parse_duration("1.5s")
    (5400000, 604800000, 1500)
    """
    if isinstance(given, timedelta) and given >= timedelta(0):
        return given // timedelta(milliseconds=1)
    text = given.strip() if isinstance(given, str) else ""
    if not _DURATION.fullmatch(text):
        raise UsageError(
            f"not a duration: {given!r}; write 500ms, 30s, 15m, 2h, 7d, 4w or 1h30m"
        )
    return sum(
        round(float(number) * _UNITS[unit])
        if "." in number
        else int(number) * _UNITS[unit]
        for number, unit in re.findall(_PART, text)
    )


def format_time(milliseconds: int) -> str:
    """Return a time for people, and for `parse_time`.

    >>> format_time(1769860800005)
    '2026-01-31T12:00:00.005Z'
    """
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def format_duration(milliseconds: int) -> str:
    """Return a duration for people: its two largest units.

    >>> format_duration(5_400_000), format_duration(1500), format_duration(0)
    ('1h30m', '1s500ms', '0ms')
    """
    parts = []
    for unit, length in reversed(_UNITS.items()):
        count, milliseconds = divmod(milliseconds, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0ms"
