"""Dates and times, by `datetime` and `zoneinfo`.

A moment is a pair: a `datetime` in UTC without its fraction, and nanoseconds.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tests.reference.language.methods.streams import Lazy
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    is_number,
    read_number,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 10**9
NANOS = {
    "week": 7 * 86400 * SECOND,
    "day": 86400 * SECOND,
    "hour": 3600 * SECOND,
    "minute": 60 * SECOND,
    "second": SECOND,
    "millisecond": 10**6,
    "microsecond": 1000,
    "nanosecond": 1,
}
MONTHS = {"year": 12, "quarter": 3, "month": 1}
SHORT = {
    "y": "year", "yr": "year", "q": "quarter", "mo": "month", "w": "week", "d": "day", "h": "hour",
    "hr": "hour", "m": "minute", "min": "minute", "s": "second", "sec": "second", "ms": "millisecond",
    "us": "microsecond", "ns": "nanosecond",
}  # fmt: skip
ISO = re.compile(
    r"(\d{4})(-?)(\d\d)\2(\d\d)"
    r"(?:[Tt ](\d\d)(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d{1,9}))?)?"
    r"(?: ?([Zz]|[+-]\d\d(?::?\d\d(?::?\d\d)?)?))?)?",
    re.ASCII,
)


def unit_of(name):
    for known in (name, name.removesuffix("s") if len(name) > 3 else name):
        unit = SHORT.get(known, known)
        if unit in NANOS or unit in MONTHS:
            return unit
    raise QueryError("no unit")


def offset_of(text):
    if text in ("Z", "z"):
        return timedelta()
    hours, minutes, seconds = (*re.findall(r"\d\d", text), "0", "0")[:3]
    if int(hours) > 23 or int(minutes) > 59 or int(seconds) > 59:
        raise QueryError("no offset")
    size = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    return -size if text.startswith("-") else size


def zone_of(name):
    if name in ("UTC", "Z"):
        return UTC
    if re.fullmatch(r"[+-]\d\d(:?\d\d)?", name):
        return timezone(offset_of(name))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise QueryError("no zone") from None


def in_utc(local):
    """Return a local time in UTC: the first of an ambiguous time, after the gap of a missing one."""
    try:
        offset = local.replace(fold=0).utcoffset()
        return (local.replace(tzinfo=None) - offset).replace(tzinfo=UTC)
    except OverflowError:
        raise QueryError("out of range") from None


def read(text, zone):
    if not re.match(r"\d{4}.", text):
        try:
            return parsedate_to_datetime(text).astimezone(UTC), 0
        except (ValueError, TypeError, OverflowError):
            raise QueryError("no time") from None
    found = ISO.fullmatch(text)
    if found is None or (found[5] and bool(found[2]) != bool(found[6])):
        raise QueryError("no time")
    year, _, month, day, hour, _, minute, second, fraction, offset = found.groups("0")
    leap = second == "60"
    try:
        parts = [year, month, day, hour, minute, "59" if leap else second]
        local = datetime(*map(int, parts))
        if found[10]:
            moment = (local - offset_of(offset)).replace(tzinfo=UTC)
        else:
            moment = in_utc(local.replace(tzinfo=zone))
        moment += timedelta(seconds=leap)
    except (ValueError, OverflowError):
        raise QueryError("no such time") from None
    if leap and moment.time() != datetime.min.time():
        raise QueryError("no leap second")
    return moment, int(fraction.ljust(9, "0")) if found[9] else 0


def written(moment):
    time, nanos = moment
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    return f"{time.year:04}{time:-%m-%dT%H:%M:%S}{fraction}+00:00"


def nanos_of(moment):
    time, nanos = moment
    return (time - EPOCH) // timedelta(seconds=1) * SECOND + nanos


def of_nanos(nanos):
    seconds, rest = divmod(nanos, SECOND)
    try:
        return EPOCH + timedelta(seconds=seconds), rest
    except OverflowError:
        raise QueryError("out of range") from None


def local(moment, zone):
    """Return the local time, without its zone."""
    try:
        return moment[0].astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        raise QueryError("out of range") from None


def offset_at(time, zone):
    try:
        return time.astimezone(zone).utcoffset()
    except OverflowError:
        raise QueryError("out of range") from None


def plus_months(time, months):
    year, month = divmod(time.year * 12 + time.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise QueryError("out of range")
    last = calendar.monthrange(year, month + 1)[1]
    return time.replace(year=year, month=month + 1, day=min(time.day, last))


def back(time, zone, offset):
    """Return the moment of a local time, with the same offset if it was valid then."""
    for fold in (0, 1):
        there = time.replace(tzinfo=zone, fold=fold)
        in_order = (
            there.replace(fold=0).utcoffset() >= there.replace(fold=1).utcoffset()
        )
        if there.utcoffset() == offset and in_order:
            return in_utc_as(time, offset)
    return in_utc(time.replace(tzinfo=zone))


def in_utc_as(time, offset):
    try:
        return (time - offset).replace(tzinfo=UTC)
    except OverflowError:
        raise QueryError("out of range") from None


def span_of(value):
    """Return months, days and nanoseconds."""
    if isinstance(value, str):
        found = re.fullmatch(r"([+-]?)((?:\d+ *[A-Za-z]+ *)+)", value, re.ASCII)
        if found is None:
            raise QueryError("no span")
        sign = -1 if found[1] == "-" else 1
        parts = [
            (sign * int(n), name)
            for n, name in re.findall(r"(\d+) *([A-Za-z]+)", found[2])
        ]
    elif isinstance(value, dict):
        parts = [(count, name) for name, count in value.items()]
        if not all(type(count) is int for count, _ in parts):
            raise QueryError("no count")
    else:
        raise QueryError("no span")
    months = days = nanos = 0
    for count, name in parts:
        unit = unit_of(name)
        if unit in MONTHS:
            months += count * MONTHS[unit]
        elif unit in ("week", "day"):
            days += count * (7 if unit == "week" else 1)
        else:
            nanos += count * NANOS[unit]
    return months, days, nanos


def later(moment, span, zone):
    months, days, nanos = span
    time, part = moment
    if months or days:
        offset = offset_at(time, zone)
        try:
            moved = plus_months(local(moment, zone), months) + timedelta(days=days)
        except OverflowError:
            raise QueryError("out of range") from None
        time = back(moved, zone, offset)
    return of_nanos(nanos_of((time, part)) + nanos)


# Methods


class Given:
    """The arguments of a method by their names."""

    def __init__(self, arguments, names):
        self.values = {}
        for place, arg in enumerate(arguments.args):
            self.values[arg.name or names[place]] = arguments.value(place)

    def zone(self):
        return zone_of(self.text("zone", "UTC"))

    def text(self, name, default):
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise QueryError("no text")
        return value


def method(*names, read_first=lambda _given: None):
    """Make a method of a moment; null stays null, once its arguments have been read."""

    def made(function):
        def on_value(receiver, arguments):
            given = Given(arguments, names)
            first = read_first(given)
            zone = given.zone()
            if receiver is None:
                return None
            if not isinstance(receiver, str):
                raise QueryError("no time")
            return function(read(receiver, zone), first, zone)

        return on_value

    return made


def _to_time(receiver, arguments):
    given = Given(arguments, ("unit", "zone"))
    zone = given.zone()
    if "unit" not in given.values:
        if receiver is None:
            return None
        if not isinstance(receiver, str):
            raise QueryError("no time")
        return written(read(receiver, zone))
    unit = unit_of(given.text("unit", ""))
    if unit in MONTHS:
        raise QueryError("no fixed unit")
    if receiver is None:
        return None
    if not is_number(receiver):
        raise QueryError("no number")
    if isinstance(receiver, int):
        return written(of_nanos(receiver * NANOS[unit]))
    whole = int(receiver)
    part = round((float(receiver) - whole) * NANOS[unit])
    return written(of_nanos(whole * NANOS[unit] + part))


def _fixed(given):
    unit = unit_of(given.text("unit", "s"))
    if unit in MONTHS:
        raise QueryError("no fixed unit")
    return unit


@method("unit", "zone", read_first=_fixed)
def _to_epoch(moment, unit, _zone):
    return read_number(str(nanos_of(moment) // NANOS[unit]))


def _bucket(given):
    count, name = re.fullmatch(r"(\d*) *(.*)", given.text("bucket", "")).groups()
    unit, count = unit_of(name), int(count or 1)
    size = count * (MONTHS.get(unit) or NANOS[unit])
    whole = 12 if unit in MONTHS else NANOS["day"]
    if (unit == "week" and count != 1) or (
        unit != "week" and (not size or whole % size)
    ):
        raise QueryError("no part of a year or of a day")
    return unit, size


@method("bucket", "zone", read_first=_bucket)
def _trunc(moment, bucket, zone):
    unit, size = bucket
    offset = offset_at(moment[0], zone)
    time = local(moment, zone)
    day, part = time.replace(hour=0, minute=0, second=0), 0
    if unit in MONTHS:
        start = day.replace(month=(time.month - 1) // size * size + 1, day=1)
    elif unit == "week":
        start = day - timedelta(days=time.weekday())
    else:
        nanos = (time - day) // timedelta(seconds=1) * SECOND + moment[1]
        seconds, part = divmod(nanos // size * size, SECOND)
        start = day + timedelta(seconds=seconds)
    same = in_utc_as(start, offset)
    if offset_at(same, zone) != offset:
        same = back(start, zone, offset)
    return written((same, part))


@method("span", "zone", read_first=lambda given: span_of(given.values["span"]))
def _add(moment, span, zone):
    return written(later(moment, span, zone))


def _diff(receiver, arguments):
    given = Given(arguments, ("before", "unit", "zone"))
    unit, zone = unit_of(given.text("unit", "s")), given.zone()
    both = [receiver, given.values["before"]]
    if not all(isinstance(text, str | None) for text in both):
        raise QueryError("no time")
    late, early = (None if text is None else read(text, zone) for text in both)
    if late is None or early is None:
        return None
    if unit in NANOS:
        nanos = nanos_of(late) - nanos_of(early)
        whole = abs(nanos) // NANOS[unit]
        rest = abs(nanos) % NANOS[unit]
        if not rest:
            return read_number(str(nanos // NANOS[unit]))
        size = float(whole) + float(Fraction(rest, NANOS[unit]))
        return size if nanos > 0 else -size
    sign = 1
    first, last = (local(early, zone), early[1]), (local(late, zone), late[1])
    if last < first:
        sign = -1
    # An estimate that is not too large, so that not all units need be counted.
    years = abs(last[0].year - first[0].year)
    months = max(0, 12 * years - 12)
    while True:
        try:
            reached = plus_months(first[0], sign * (months + 1)), first[1]
        except QueryError:
            break
        if (reached > last) if sign > 0 else (reached < last):
            break
        months += 1
    return sign * (months // MONTHS[unit])


def _part(part):
    return method("zone")(lambda moment, _given, zone: part(local(moment, zone)))


def _pattern(given):
    pattern = given.text("pattern", "")
    if re.search(r"%[-_0^#Z]", pattern):
        raise NotInSubset("flags of directives, names of zones")
    if re.search(r"%(?![YymdjHIMSpBbAauVGzfFTRDs%])", pattern.replace("%%", "")):
        raise QueryError("no directive")
    return pattern


@method("pattern", "zone", read_first=_pattern)
def _format(moment, pattern, zone):
    pattern = pattern.replace("%f", f"{moment[1] // 1000:06}")
    pattern = pattern.replace("%s", str(nanos_of(moment) // SECOND))
    offset_at(moment[0], zone)
    time = moment[0].astimezone(zone)
    pattern = pattern.replace("%Y", f"{time.year:04}").replace(
        "%G", f"{time.isocalendar()[0]:04}"
    )
    return time.strftime(pattern.replace("%F", f"{time.year:04}-%m-%d"))


def _parse(receiver, arguments):
    given = Given(arguments, ("pattern", "zone"))
    zone, pattern = given.zone(), given.text("pattern", "")
    if receiver is None:
        return None
    if not isinstance(receiver, str):
        raise QueryError("no text")
    if not re.search(r"%[YyGFsDc]", pattern):
        raise QueryError("no year")
    try:
        time = datetime.strptime(receiver, pattern)
    except ValueError:
        raise QueryError("no fit") from None
    utc = time.astimezone(UTC) if time.tzinfo else in_utc(time.replace(tzinfo=zone))
    return written((utc.replace(microsecond=0), time.microsecond * 1000))


def _range(receiver, arguments):
    given = Given(arguments, ("end", "step", "zone"))
    span, zone, end = span_of(given.values["step"]), given.zone(), given.values["end"]
    if not all(isinstance(text, str | None) for text in (receiver, end)):
        raise QueryError("no time")
    first, end = (
        None if text is None else read(text, zone) for text in (receiver, end)
    )
    if first is None or end is None:
        return []
    up = later(first, span, zone) > first
    if later(first, span, zone) == first:
        raise QueryError("no step")
    return Lazy(_steps(first, end, span, zone, up=up))


def _steps(first, end, span, zone, *, up):
    moment, count = first, 0
    while (moment < end) if up else (moment > end):
        yield written(moment)
        count += 1
        try:
            moment = later(first, tuple(part * count for part in span), zone)
        except QueryError:
            break


TIMES = {
    "to_time": _to_time,
    "parse_time": _parse,
    "format_time": _format,
    "to_epoch": _to_epoch,
    "trunc_time": _trunc,
    "add_time": _add,
    "time_diff": _diff,
    "time_range": _range,
    "year": _part(lambda time: time.year),
    "month": _part(lambda time: time.month),
    "day": _part(lambda time: time.day),
    "hour": _part(lambda time: time.hour),
    "minute": _part(lambda time: time.minute),
    "second": _part(lambda time: time.second),
    "weekday": _part(lambda time: time.isoweekday()),
    "iso_week": _part(lambda time: time.isocalendar()[1]),
    "day_of_year": _part(lambda time: time.timetuple().tm_yday),
}
