"""Lines by time, compared with reading every line; times may repeat and go back."""

from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import given

import headrace
from headrace.store.files.units import Between
from headrace.store.log.read import ranges, reader
from headrace.store.log.read.consumers import Follower
from tests.examples import often

TIMES = st.lists(
    st.one_of(st.integers(0, 30), st.integers(0, 3).map(lambda n: n * 10)), max_size=60
)


def write(directory, times, rotate_rows, monotonic):
    """Append a record for each time; return the times that were stored."""
    with headrace.LogWriter(
        directory,
        durability="os",
        time="$.t",
        rotate_rows=rotate_rows,
        monotonic=monotonic,
    ) as log:
        log.append_many({"n": n, "t": time} for n, time in enumerate(times))
    found = headrace.Log(directory)._reader
    return [found.entry(line).time for line in range(1, len(times) + 1)]


@often(0.7)
@given(
    times=TIMES,
    rotate_rows=st.integers(1, 20),
    monotonic=st.sampled_from(["strict", "off", 5]),
    since=st.none() | st.integers(-1, 31),
    until=st.none() | st.integers(-1, 31),
    first=st.integers(1, 40),
)
def test_ranges_of_times(
    tmp_path_factory, times, rotate_rows, monotonic, since, until, first
):
    directory = tmp_path_factory.mktemp("log")
    got = write(directory, times, rotate_rows, monotonic)
    expected = [
        n
        for n, time in enumerate(got)
        if n + 1 >= first
        and (since is None or time >= since)
        and (until is None or time < until)
    ]
    log = headrace.Log(directory)
    # With monotonic="off", times are stored as given.
    assert monotonic != "off" or got == times
    found = [each["n"] for each in log.range(first, since=since, until=until)]
    assert found == expected


@often(0.7)
@given(
    times=TIMES,
    rotate_rows=st.integers(1, 20),
    since=st.integers(-1, 31),
    length=st.integers(0, 20),
    at_once=st.integers(1, 5),
)
def test_blocks_know_their_lines(
    tmp_path_factory, times, rotate_rows, since, length, at_once
):
    directory = tmp_path_factory.mktemp("log")
    write(directory, times, rotate_rows, "off")
    log = reader.LogReader(directory)
    meant = Between(since, since + length)
    before = ranges._ENTRIES_AT_ONCE, reader._ENTRIES_AT_ONCE, reader._ROWS_AT_ONCE
    ranges._ENTRIES_AT_ONCE = at_once
    reader._ENTRIES_AT_ONCE, reader._ROWS_AT_ONCE = at_once * 2, at_once + 1
    try:
        blocks = list(ranges.blocks_between(log, 1, len(times), meant))
        first = ranges.first_between(log, 1, len(times), meant)
    finally:
        ranges._ENTRIES_AT_ONCE, reader._ENTRIES_AT_ONCE, reader._ROWS_AT_ONCE = before
    numbers = [number for block in blocks for number, _line in block.numbered()]
    assert numbers == [
        line for line, time in enumerate(times, 1) if since <= time < since + length
    ]
    assert all(
        log.line(number) == line for b in blocks for number, line in b.numbered()
    )
    assert all(one.last_line < two.first_line for one, two in pairwise(blocks))
    assert first <= min([*numbers, len(times) + 1])
    follower = Follower(log, first, meant)
    followed = [number for b in follower.blocks() for number, _line in b.numbered()]
    assert followed == numbers
    for block in blocks:
        for rows in range(1, block.rows + 1):
            some = block.first(rows)
            assert list(some.numbered()) == list(block.numbered())[:rows]
            assert some.data == b"".join(line + b"\n" for _, line in some.numbered())
