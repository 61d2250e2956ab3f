"""The order of replay equals a slow, obvious sort, for any batch size."""

import hypothesis.strategies as st
from hypothesis import given

import headrace
from headrace.store.log.read import reader
from tests.examples import often
from tests.reference.slow_replay import slow_replay

NAMES = ["a", "a/b", "a-c", "B", "ü"]
TIMES = st.lists(st.integers(0, 12), max_size=25)
LOGS = st.dictionaries(st.sampled_from(NAMES), TIMES, min_size=1)


@often(0.7)
@given(
    logs=LOGS,
    rotate_rows=st.integers(1, 9),
    since=st.none() | st.integers(-1, 13),
    until=st.none() | st.integers(-1, 13),
    start=st.dictionaries(st.sampled_from(NAMES), st.integers(1, 9)),
    threads=st.integers(0, 3),
    at_once=st.integers(1, 6),
)
def test_the_order_equals_a_slow_sort(
    tmp_path_factory, logs, rotate_rows, since, until, start, threads, at_once
):
    directory = tmp_path_factory.mktemp("logs")
    for name, times in logs.items():
        with headrace.LogWriter(
            directory / name,
            durability="os",
            time="$.t",
            monotonic="off",
            rotate_rows=rotate_rows,
        ) as log:
            log.append_many({"in": name, "t": time} for time in times)
    start = {name: line for name, line in start.items() if name in logs}
    expected = slow_replay(logs, since, until, start)
    before = reader._ROWS_AT_ONCE
    reader._ROWS_AT_ONCE = at_once
    try:
        with headrace.Log(directory).replay(
            since=since, until=until, from_line=start, threads=threads
        ) as replay:
            found = list(replay)
    finally:
        reader._ROWS_AT_ONCE = before
    assert [(each.partition, each.line, each.time) for each in found] == expected
    assert all(each.record == {"in": each.partition, "t": each.time} for each in found)


@often(0.3)
@given(logs=LOGS, cut=st.integers(0, 40))
def test_continuing_from_a_position(tmp_path_factory, logs, cut):
    """A partition whose times do not go back continues as if it had never ended."""
    directory = tmp_path_factory.mktemp("logs")
    for name, times in logs.items():
        with headrace.LogWriter(directory / name, durability="os", time="$") as log:
            log.append_many(sorted(times))
    with headrace.Log(directory).replay() as replay:
        everything = list(replay)
    first = []
    with headrace.Log(directory).replay() as replay:
        for record in replay:
            if len(first) == cut:
                break
            first.append(record)
        # The record that was returned, but not acknowledged, is returned again.
        start = dict(replay.next_lines)
        if len(first) < len(everything) and len(first) == cut:
            start[record.partition] = record.line
    with headrace.Log(directory).replay(from_line=start) as replay:
        assert first + list(replay) == everything
