"""Times and durations as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from headrace.errors import UsageError
from headrace.store.files.units import (
    format_time,
    parse_duration,
    parse_time,
)

NOON = 1_769_860_800_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5, 5),
        (-5, -5),
        ("1700", 1700),
        ("-1700", -1700),
        ("now", NOON),
        ("-15m", NOON - 900_000),
        (" -15m ", NOON - 900_000),
        ("-1h30m", NOON - 5_400_000),
        ("-1.5s", NOON - 1500),
        ("2026-01-31", NOON - 43_200_000),
        ("2026-01-31T12:00", NOON),
        ("2026-01-31 12:00:00.0059", NOON + 5),
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T13:00:00+01:00", NOON),
        ("1969-12-31T23:59:59.999Z", -1),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), NOON),
        (datetime(2026, 1, 31, 14, tzinfo=timezone(timedelta(hours=2))), NOON),
    ],
)
def test_times(given, expected):
    assert parse_time(given, NOON) == expected


def test_now_is_the_clock():
    assert parse_time("2026-01-01") < parse_time("-1m") < parse_time("now")


@pytest.mark.parametrize(
    "given",
    [
        "",
        "15m",
        "+15m",
        "yesterday",
        "-",
        "-m",
        "-5x",
        "2026-13-01",
        "1" * 19,
        10**15,
        True,
        1.5,
        None,
        "-9999999w",
    ],
)
def test_an_invalid_time_is_refused(given):
    with pytest.raises(UsageError, match=r"not a time: .*write"):
        parse_time(given, NOON)


def test_a_moment_without_zone():
    with pytest.raises(UsageError, match="no time zone"):
        parse_time(datetime(2026, 1, 31))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0s", 0),
        ("500ms", 500),
        ("7d", 604_800_000),
        ("1w2d3h4m5s6ms", 788_645_006),
        ("0.0005s", 0),
        (timedelta(minutes=2), 120_000),
    ],
)
def test_durations(given, expected):
    assert parse_duration(given) == expected


@pytest.mark.parametrize("given", ["", "7", "d", "-7d", "7 d", 7, timedelta(-1), None])
def test_an_invalid_duration_is_refused(given):
    with pytest.raises(UsageError, match=r"not a duration: .*write"):
        parse_duration(given)


@pytest.mark.parametrize("time", [0, -1, NOON + 5, -62_135_596_800_000])
def test_a_time_can_be_read_again(time):
    assert parse_time(format_time(time)) == time
