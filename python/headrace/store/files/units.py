"""Sizes, times and durations as people write them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from headrace.errors import UsageError
from headrace.record import record

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip

_MOST = 2**60
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(size: int | str) -> int:
    """Return a size in bytes.

    >>> parse_size("64KiB"), parse_size("1.5GB"), parse_size(2048)
    (65536, 1500000000, 2048)
    """
    if isinstance(size, int):
        if size < 0:
            raise UsageError(f"a size cannot be negative: {size}")
        return _possible(size)
    match = _SIZE.fullmatch(size)
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise UsageError(f"not a size: {size!r}; write 2048, 64KiB, 64MiB or 1GB")
    exact = int(float(match[1]) * unit) if "." in match[1] else int(match[1]) * unit
    return _possible(exact)


def _possible(size: int) -> int:
    if size >= _MOST:
        raise UsageError(f"{size} bytes are more than there can be; at most 1000000TiB")
    return size


def format_size(size: float) -> str:
    """Return a size for people.

    >>> format_size(65536), format_size(1_500_000_000), format_size(12)
    ('64 KiB', '1.4 GiB', '12 B')
    """
    units = ["TiB", "GiB", "MiB", "KiB", "B"]
    while size >= 1024 and len(units) > 1:
        units.pop()
        size /= 1024
    unit = units[-1]
    return (
        f"{size:.0f} {unit}"
        if unit == "B" or size >= 10
        else f"{size:.1f} {unit}".replace(".0 ", " ")
    )


Moment: TypeAlias = int | str | datetime
"""A time: milliseconds since 1970, a text, or a `datetime`."""

EARLIEST, LATEST = -(1 << 63), (1 << 63) - 1
"""Before and after all times that a line of a log can have."""

_DURATION_UNITS = {
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


@record
class Between:
    """The times from `since` to before `until`."""

    since: int = EARLIEST
    until: int = LATEST

    @property
    def everything(self) -> bool:
        """Whether it contains every time."""
        return self == Between()

    def has_some(self, earliest: int, latest: int) -> bool:
        """Whether it may contain a time from `earliest` to `latest`."""
        return earliest < self.until and self.since <= latest

    def has_all(self, earliest: int, latest: int) -> bool:
        """Whether it contains all times from `earliest` to `latest`."""
        return self.since <= earliest and latest < self.until


def between(since: Moment | None, until: Moment | None) -> Between:
    """Return the times from `since` to before `until`; `now` is the same for both."""
    now = time.time_ns() // 1_000_000
    return Between(
        EARLIEST if since is None else parse_time(since, now),
        LATEST if until is None else parse_time(until, now),
    )


def parse_time(given: Moment, now: int | None = None) -> int:
    """Return a time in milliseconds since the beginning of 1970; `now` defaults to the clock.

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
        round(float(number) * _DURATION_UNITS[unit])
        if "." in number
        else int(number) * _DURATION_UNITS[unit]
        for number, unit in re.findall(_PART, text)
    )


def format_time(milliseconds: int) -> str:
    """Return a time for people, and for `parse_time`.

    >>> format_time(1769860800005)
    '2026-01-31T12:00:00.005Z'
    """
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
