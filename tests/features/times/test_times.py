"""Operations on times equal those of Python's `datetime` and `zoneinfo`, in any zone."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from tests.examples import often
from tests.reference.comparison import alike
from tests.reference.language.evaluate import answer
from tests.reference.language.values import QueryError, read

# Zones whose rules do not depend on the age of the time zone tables of the machine.
ZONES = st.sampled_from([
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
    "America/St_Johns", "+05:30", "-11:00", "Europe/Dublin",
])  # fmt: skip
NEAR = [
    datetime(2026, 3, 29, 1), datetime(2026, 10, 25, 1), datetime(2026, 3, 8, 7), datetime(2026, 11, 1, 6),
    datetime(2026, 4, 4, 15), datetime(2026, 10, 3, 15, 30), datetime(2011, 12, 30, 10), datetime(2024, 2, 29),
    datetime(2020, 12, 31, 23, 59, 59), datetime(1969, 12, 31, 23, 59, 59), datetime(2027, 1, 1),
]  # fmt: skip
MOMENTS = st.one_of(
    st.builds(
        lambda near, seconds: near + timedelta(seconds=seconds),
        st.sampled_from(NEAR),
        st.integers(-90_000, 90_000),
    ),
    # Zones have rules of whole minutes since about 1972.
    st.datetimes(datetime(1975, 1, 1), datetime(2037, 1, 1)),
    st.datetimes(datetime(1975, 1, 1), datetime(2090, 1, 1)),
)


@st.composite
def texts(draw):
    """Make texts of times for rows."""
    moment = draw(MOMENTS)
    fraction = draw(st.sampled_from(["", ".5", ".123456789", ".000001", ",25"]))
    text = f"{moment:%Y-%m-%dT%H:%M:%S}"
    form = draw(st.integers(0, 6))
    if form == 0:
        return f"{moment:%Y-%m-%d}"
    if form == 1:
        return f"{moment:%a, %d %b %Y %H:%M:%S} {draw(st.sampled_from(['GMT', '+0200', '-0930']))}"
    if form == 2:
        return f"{moment:%Y%m%dT%H%M%S}{fraction}Z"
    offset = draw(st.sampled_from(["", "Z", "+01:00", "-0800", " +05:45", "+14"]))
    return text.replace("T", draw(st.sampled_from("T t"))) + fraction + offset


BAD = st.sampled_from([
    "", "2026-02-30", "2026-11-18T24:00:00", "2026-06-30T23:59:60Z", "2026-06-30T12:00:60Z", "now", "0000-01-01",
    "2026-11-18T10:00:00+24:00", "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
])  # fmt: skip
UNITS = st.sampled_from(
    [
        "year",
        "quarter",
        "month",
        "week",
        "day",
        "hour",
        "minute",
        "second",
        "ms",
        "us",
        "ns",
        "h",
        "weeks",
    ]
)
BUCKETS = UNITS | st.sampled_from(
    ["15m", "6h", "3mo", "30 s", "7m", "2 weeks", "500ms", "0h", "12h"]
)
SPANS = st.sampled_from([
    '"1h30m"', '"-1d"', '"1mo"', '"-3mo"', '"1y"', '"90s"', '"2w 1ns"', "{days: 1, hours: -25}", "{months: 13}",
    "{years: -100}", '"36h"', '"1d12h"', '"-30m"', '"soon"', "{days: 1.5}", '"9999y"', '"1q"',
])  # fmt: skip
PARTS = st.sampled_from(
    [
        "year",
        "month",
        "day",
        "hour",
        "minute",
        "second",
        "weekday",
        "iso_week",
        "day_of_year",
    ]
)
WRITTEN = st.sampled_from([
    "%Y-%m-%d %H:%M:%S", "%a %A %b %B %d %j", "%I:%M %p", "%F %T %z", "%G-%V-%u", "%s %f", "%D %R %y %%", "%Q", "%",
])  # fmt: skip


@st.composite
def queries(draw):
    """Make a query about a time."""
    zone = f"zone: {json.dumps(draw(ZONES))}"
    return draw(
        st.one_of(
            st.just(f"$.a.to_time({zone})"),
            PARTS.map(lambda part: f"$.a.{part}({zone})"),
            UNITS.map(lambda unit: f"$.a.to_epoch({json.dumps(unit)})"),
            BUCKETS.map(lambda name: f"$.a.trunc_time({json.dumps(name)}, {zone})"),
            SPANS.map(lambda span: f"$.a.add_time({span}, {zone})"),
            UNITS.map(lambda unit: f"$.a.time_diff($.b, {json.dumps(unit)}, {zone})"),
            WRITTEN.map(lambda text: f"$.a.format_time({json.dumps(text)}, {zone})"),
            SPANS.map(lambda span: f"$.a.time_range($.b, {span}, {zone}).take(40)"),
            st.just("$.a.to_time() < $.b.to_time()"),
            st.sampled_from(["s", "ms", "us", "ns", "month"]).map(
                lambda unit: f'$.n.to_time("{unit}")'
            ),
        )
    )


def outcome(ask, errors):
    try:
        return ask()
    except errors:
        return "an error"


@often(4)
@given(
    query=queries(),
    first=texts() | BAD | st.just(None),
    second=texts() | texts() | BAD,
    number=st.integers(-(2**63), 2**63 - 1)
    | st.integers(-(10**10), 10**10)
    | st.floats(-1e11, 1e11),
)
def test_operations_on_times(query, first, second, number):
    document = json.dumps({"a": first, "b": second, "n": number})
    wanted = outcome(lambda: answer(query, read(document)), QueryError)
    found = outcome(lambda: read(evaluate(query, document.encode())), HeadraceError)
    assert alike(found, wanted), f"{query} on {document} gave {found}, not {wanted}"


@often(3)
@given(
    moment=st.datetimes(datetime(1970, 1, 2), datetime(2037, 12, 31), timezones=st.just(UTC)),
    pattern=st.sampled_from([
        "%Y-%m-%d %H:%M:%S", "%d/%b/%Y:%H:%M:%S %z", "%a %d %B %Y %I:%M %p", "%y%m%d", "%Y %j", "%F %T.%f",
        "%Y-%m-%dT%H:%M:%S.%f%z", "%m/%d/%y",
    ]),
    zone=ZONES,
)  # fmt: skip
def test_times_parsed_by_a_pattern(moment, pattern, zone):
    pattern = pattern.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S")
    document = json.dumps(moment.strftime(pattern))
    query = f"$.parse_time({json.dumps(pattern)}, zone: {json.dumps(zone)})"
    wanted = answer(query, read(document))
    assert read(evaluate(query, document.encode())) == wanted


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ('$.to_time(zone: "Europe/Nowhere")', "there is no time zone"),
        ('$.format_time("%Q")', "there is no %Q"),
        ('$.parse_time("%H:%M")', "the pattern has no year"),
        ('$.parse_time("%Y %I")', "goes with %p"),
        ('$.trunc_time("fortnight")', "there is no unit"),
        ('$.trunc_time("7m")', "divides neither"),
        ('$.add_time("a while")', "is no span of time"),
        ('$.to_epoch("furlong")', "there is no unit"),
        ('$.re_match("(")', "bad pattern"),
    ],
)
def test_an_invalid_literal_is_refused_with_its_column(query, reason):
    with pytest.raises(HeadraceError, match=reason) as caught:
        # It is refused before any row is read.
        evaluate(f"[][* if {query}]", b"[]")
    column = len("[][* if ") + query.index('"') + 1
    assert f"column {column}" in str(caught.value)
