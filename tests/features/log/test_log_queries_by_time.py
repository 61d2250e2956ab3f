"""Logs opened with times, compared with a filter over all lines by the dumped index."""

import hypothesis.strategies as st
from hypothesis import given

import headrace
from headrace.store.log.entries import dumped_log
from headrace.store.log.read import ranges, timed_rows

TIMES = st.lists(st.integers(0, 30), max_size=60) | st.lists(
    st.integers(0, 30), max_size=60
).map(sorted)


def write(directory, times, rotate_rows, sealed):
    """Append a record for each time, and perhaps compress all but the last segment."""
    with headrace.LogWriter(
        directory, durability="os", time="$.t", rotate_rows=rotate_rows, monotonic="off"
    ) as log:
        log.append_many({"n": n, "t": time} for n, time in enumerate(times))
    if sealed:
        headrace.Log(directory).seal(codec=sealed)


def numbers(directory, since, until):
    """Return the records with these times, by reading every entry."""
    return [
        entry["lineNumberGlobal"] - 1
        for _path, entries in dumped_log(directory)
        for entry in entries
        if entry.get("type") != "header"
        and (since is None or entry["messageTime"] >= since)
        and (until is None or entry["messageTime"] < until)
    ]


@given(
    several=st.lists(TIMES, min_size=1, max_size=2),
    rotate_rows=st.integers(1, 20),
    sealed=st.sampled_from([None, None, "zstd", "gzip"]),
    since=st.none() | st.integers(-1, 31),
    until=st.none() | st.integers(-1, 31),
    at_once=st.integers(1, 5),
    near=st.integers(0, 4),
    limit=st.integers(0, 40),
    data=st.data(),
)
def test_rows_and_counts(
    tmp_path_factory,
    several,
    rotate_rows,
    sealed,
    since,
    until,
    at_once,
    near,
    limit,
    data,
):
    logs = [tmp_path_factory.mktemp("log") for _ in several]
    for log, times in zip(logs, several, strict=True):
        write(log, times, rotate_rows, sealed)
    expected = [n for log in logs for n in numbers(log, since, until)]
    lines = sum(map(len, several))
    before = ranges._ENTRIES_AT_ONCE, timed_rows.INTERVAL
    ranges._ENTRIES_AT_ONCE, timed_rows.INTERVAL = at_once, near
    try:
        rows = headrace.open(logs, since=since, until=until)
        check_rows(rows, expected, data)
        check_counts(rows, expected, lines, limit)
    finally:
        ranges._ENTRIES_AT_ONCE, timed_rows.INTERVAL = before


def check_rows(rows, expected, data):
    assert [row["n"] for row in rows] == expected
    assert [row["n"] for row in reversed(rows)] == expected[::-1]
    assert (len(rows), rows.count(), rows.stats().records) == (len(expected),) * 3
    start = data.draw(st.integers(0, len(expected) + 1))
    stop = data.draw(st.integers(start, len(expected) + 2))
    assert [row["n"] for row in rows[start:stop]] == expected[start:stop]
    last = expected[-start:] if start else []
    assert [row["n"] for row in rows.tail(start)] == last
    if start < len(expected):
        assert rows[start]["n"] == expected[start]


def check_counts(rows, expected, lines, limit):
    """Check that counts cover all lines, and with a limit those up to the last row read."""
    for reverse in (False, True):
        result = rows.query("n if n % 2 == 0 else null", reverse=reverse)
        order = expected[::-1] if reverse else expected
        even = [n for n in order if n % 2 == 0]
        assert result.to_list() == even
        counts = result.stats
        assert (counts.rows, counts.emitted) == (lines, len(even))
        assert counts.filtered == len(expected) - len(even)
        assert counts.outside == lines - len(expected)
        some = rows.query("n", reverse=reverse, limit=limit)
        assert some.to_list() == order[:limit]
        counts = some.stats
        assert counts.rows == counts.emitted + counts.outside
        assert counts.outside <= lines - len(expected)
    whole = rows.query("[$.count(), $.sum(n), $.last().n]", stream=True)
    (found,) = whole.to_list()
    assert found[0] == len(expected)
    assert found[2] == (expected[-1] if expected else None)
    assert whole.stats.rows == lines
    assert whole.stats.outside == lines - len(expected)
