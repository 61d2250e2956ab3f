"""Times, computed with Python's `datetime` and `zoneinfo`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from tests.conformance.generators.made import Case, fails, gives

MOMENTS = [
    "1970-01-01T00:00:00+00:00",
    "2024-02-29T23:59:59+00:00",
    "2026-11-18T21:09:41+00:00",
    "2025-12-31T23:30:00+00:00",
    "2026-03-29T00:59:59+00:00",
    "1969-07-20T20:17:40+00:00",
]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"]

PARTS = {
    "year": lambda t: t.year,
    "month": lambda t: t.month,
    "day": lambda t: t.day,
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: t.second,
    "weekday": lambda t: t.isoweekday(),
    "iso_week": lambda t: t.isocalendar().week,
    "day_of_year": lambda t: t.timetuple().tm_yday,
}

UNITS = {
    "year": lambda t: t.replace(month=1, day=1, hour=0, minute=0, second=0),
    "quarter": lambda t: t.replace(month=(t.month - 1) // 3 * 3 + 1, day=1, hour=0, minute=0, second=0),
    "month": lambda t: t.replace(day=1, hour=0, minute=0, second=0),
    "week": lambda t: (t - timedelta(days=t.weekday())).replace(hour=0, minute=0, second=0),
    "day": lambda t: t.replace(hour=0, minute=0, second=0),
    "hour": lambda t: t.replace(minute=0, second=0),
    "minute": lambda t: t.replace(second=0),
    "15m": lambda t: t.replace(minute=t.minute // 15 * 15, second=0),
    "6h": lambda t: t.replace(hour=t.hour // 6 * 6, minute=0, second=0),
}  # fmt: skip

PATTERNS = [
    "%Y-%m-%d",
    "%d.%m.%y %H:%M:%S",
    "%j",
    "%a %A %b %B",
    "%I:%M %p",
    "%F %T",
    "%G-W%V-%u",
]


def written(moment: datetime) -> str:
    """Write a time as the language does: RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat()


def cases() -> list[Case]:
    """Return all cases of times."""
    made = []
    for text in MOMENTS:
        moment = datetime.fromisoformat(text)
        for zone in ZONES:
            local = moment.astimezone(ZoneInfo(zone))
            document = {"t": text, "z": zone}
            parts = ", ".join(f"t.{name}(zone: $.z)" for name in PARTS)
            made.append(
                gives(
                    "parts",
                    f"[{parts}]",
                    document,
                    [part(local) for part in PARTS.values()],
                )
            )
            patterns = ", ".join(
                f'format_time(t, "{pattern}", zone: $.z)' for pattern in PATTERNS
            )
            shown = [local.strftime(pattern) for pattern in PATTERNS]
            made.append(gives("format_time", f"[{patterns}]", document, shown))
            starts = ", ".join(f'trunc_time(t, "{unit}", zone: $.z)' for unit in UNITS)
            whole = [written(start(local)) for start in UNITS.values()]
            made.append(gives("trunc_time", f"[{starts}]", document, whole))
        seconds = int(moment.timestamp())
        made += [
            gives(
                "to_epoch",
                "[t.to_epoch(), t.to_epoch('ms')]",
                {"t": text},
                [seconds, seconds * 1000],
            ),
            gives("to_time", "n.to_time('s')", {"n": seconds}, written(moment)),
            gives(
                "to_time", "n.to_time('us')", {"n": seconds * 10**6}, written(moment)
            ),
            gives(
                "to_time",
                "t.to_time()",
                {"t": text.replace("+00:00", "Z")},
                written(moment),
            ),
        ]
        for hours in (5, -3):
            shown = moment.astimezone(ZoneInfo(f"Etc/GMT{-hours:+d}")).isoformat()
            made.append(gives("to_time", "t.to_time()", {"t": shown}, written(moment)))
        for name, part in PARTS.items():
            made.append(gives(name, f"{name}(t)", {"t": text}, part(moment)))
    return [*made, *spans(), *mistakes()]


SPANS = {
    "1h30m": timedelta(hours=1, minutes=30),
    "-2d": timedelta(days=-2),
    "45s": timedelta(seconds=45),
    "1w": timedelta(weeks=1),
    "1d12h": timedelta(days=1, hours=12),
}


def spans() -> list[Case]:
    """Return cases of sums and differences of times."""
    made = []
    for text in MOMENTS:
        moment = datetime.fromisoformat(text)
        query = "[" + ", ".join(f"t.add_time('{span}')" for span in SPANS) + "]"
        later = [written(moment + span) for span in SPANS.values()]
        made.append(gives("add_time", query, {"t": text}, later))
    for a, b in pairwise(MOMENTS):
        between = datetime.fromisoformat(a) - datetime.fromisoformat(b)
        seconds = int(between.total_seconds())
        made += [
            gives("time_diff", "time_diff(a, b)", {"a": a, "b": b}, seconds),
            gives(
                "time_diff", "a.time_diff(b, 'ms')", {"a": a, "b": b}, seconds * 1000
            ),
            gives(
                "time_order",
                "[to_time(a) < to_time(b), to_time(b) < to_time(a)]",
                {"a": a, "b": b},
                [a < b, b < a],
            ),
        ]
    made += [
        gives("time_diff", "time_diff('2026-03-01', '2026-02-01', 'day')", None, 28),
        gives("time_diff", "time_diff('2026-03-01', '2026-01-31', 'month')", None, 1),
        gives("time_diff", "time_diff('2026-02-28', '2025-02-28', 'year')", None, 1),
        gives("time_diff", "time_diff('2026-02-27', '2025-02-28', 'year')", None, 0),
        gives("time_diff", "time_diff('2026-01-01T12:00:00Z', '2026-01-01', 'day')", None, 0.5),
        gives("add_time", "add_time('2024-01-31', {months: 1})", None, "2024-02-29T00:00:00+00:00"),
        gives("add_time", "add_time('2024-02-29', '1y')", None, "2025-02-28T00:00:00+00:00"),
        gives("add_time", "add_time('2026-03-31', '-1mo')", None, "2026-02-28T00:00:00+00:00"),
        gives("add_time", "add_time('2026-05-05', {days: 1, hours: -1})", None, "2026-05-05T23:00:00+00:00"),
        gives(
            "time_range", "time_range('2026-02-27', '2026-03-02', '1d').map(day(@))", None, [27, 28, 1]
        ),
        gives("time_range", "time_range('2026-01-03', '2026-01-01', '-1d').count()", None, 2),
        gives("time_range", "time_range('2026-01-01', '2026-01-01', '1h')", None, []),
        gives("parse_time", "s.parse_time('%d/%m/%Y')", {"s": "05/11/2026"}, "2026-11-05T00:00:00+00:00"),
        gives("strptime", "s.strptime('%F %T')", {"s": "2026-01-02 03:04:05"}, "2026-01-02T03:04:05+00:00"),
        gives("parse_time", "s.parse_time('%d %b %Y %H:%M %z')", {"s": "2 Jan 2026 12:00 +0200"}, "2026-01-02T10:00:00+00:00"),
        gives("strftime", "t.strftime('%H%M')", {"t": "2026-01-02T03:04:05Z"}, "0304"),
        gives("date_trunc", "t.date_trunc('month')", {"t": "2026-05-17"}, "2026-05-01T00:00:00+00:00"),
        gives("to_time", "t.to_time()", {"t": "Tue, 1 Jul 2025 10:52:37 +0200"}, "2025-07-01T08:52:37+00:00"),
        gives("to_time", "t.to_time(zone: 'Asia/Tokyo')", {"t": "2026-01-01 09:00:00"}, "2026-01-01T00:00:00+00:00"),
        gives("to_time", "t.to_time()", {"t": "2016-12-31T23:59:60Z"}, "2017-01-01T00:00:00+00:00"),
        gives("now", "[now() is number, now() > 1.7e12]", None, [True, True]),
        # 2026-03-29 02:30 is skipped in Berlin, 2026-10-25 02:30 comes twice.
        gives("gap", "t.to_time(zone: 'Europe/Berlin')", {"t": "2026-03-29T02:30:00"}, "2026-03-29T01:30:00+00:00"),
        gives("fold", "t.to_time(zone: 'Europe/Berlin')", {"t": "2026-10-25T02:30:00"}, "2026-10-25T00:30:00+00:00"),
    ]  # fmt: skip
    return made


def mistakes() -> list[Case]:
    """Return cases of texts that are no times."""
    reasons: list[tuple[str, Any, str]] = [
        ("v.to_time()", "soon", "is no time"),
        ("v.to_time()", 1700000000, "is no time"),
        ("v.to_time()", "2026-02-30", "no such date"),
        ("v.to_time()", "2026-01-01T25:00:00Z", "no such date"),
        ("v.year()", {"a": 1}, "is no time"),
        ("v.parse_time('%d.%m.')", "18.11.", "parse_time"),
        ("v.format_time('%Q')", "2026-01-01", "there is no %Q"),
        ("v.trunc_time('7m')", "2026-01-01", "7m"),
        ("v.add_time('later')", "2026-01-01", "later"),
        ("v.to_time(zone: 'Mars/Base')", "2026-01-01", "Mars/Base"),
        ("time_range(v, '2026-01-02', '0s')", "2026-01-01", "goes nowhere"),
        ("v.add_time('9000y')", "2026-01-01", "9999"),
    ]
    return [
        fails("no-time", query, {"v": value}, reason)
        for query, value, reason in reasons
    ]
