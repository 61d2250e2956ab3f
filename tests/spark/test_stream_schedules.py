"""Random schedules of appends, upkeep, batches and restarts: the rows of one read.

The test calls the reader directly, so that thousands of batches are fast.
"""

import gzip
import json
from collections import defaultdict

import hypothesis.strategies as st
import pytest
from hypothesis import given

import headrace
from tests.examples import often
from tests.spark.driven import EVERYTHING, Stream
from tests.spark.stream_data import append_file, append_log, append_set, expected, text

pytestmark = pytest.mark.spark

NAMES = st.sampled_from(["a", "b", "c"])
COUNTS = st.integers(1, 12)
BUDGETS = st.fixed_dictionaries(
    {},
    optional={
        "maxRowsPerTrigger": st.integers(1, 15),
        "maxBytesPerTrigger": st.integers(1, 120),
        "maxPartitionBytes": st.integers(1, 60),
    },
)


def steps(*others):
    """Random events of a stream; most of them append or read rows."""
    append = st.tuples(st.just("append"), NAMES, COUNTS)
    batch = st.tuples(st.just("batch"))
    rare = st.sampled_from([("restart",), ("again",), ("everything",), *others])
    return st.lists(append | append | batch | batch | rare, max_size=30)


class Schedule:
    """A stream, and the rows that it has returned."""

    def __init__(self, directory, budget):
        self.directory = directory
        self.stream = Stream(directory, **budget)
        self.found = []
        self.counts = defaultdict(int)

    def next_ids(self, name, count):
        begin = self.counts[name]
        self.counts[name] += count
        return range(begin, begin + count)

    def read(self, limit=None):
        """Run a batch as Spark does: its end is recorded before it runs."""
        planned = self.stream.plan(limit)
        if planned is not None:
            self.found += self.stream.run(planned)

    def again(self):
        """Run a batch and drop its rows, as if it had been killed, then run it again."""
        planned = self.stream.plan()
        if planned is not None:
            start, end = self.stream.end, planned
            self.stream.rows(start, json.loads(end))
            self.stream.restart()
            self.found += self.stream.run(planned)

    def do(self, step):
        match step:
            case ("batch",):
                self.read()
            case ("everything",):
                self.read(EVERYTHING)
            case ("restart",):
                self.stream.restart()
            case ("again",):
                self.again()

    def end(self):
        """Read the rest; return the rows of each name."""
        self.found += self.stream.rest()
        by_name = defaultdict(list)
        for file, _row, raw in self.found:
            below = file.removeprefix(f"{self.directory}/")
            by_name[below[0]].append(raw)
        return dict(by_name)


def rows_of_a_read(*paths):
    return sorted(Stream(*paths).rest())


@given(steps=steps(("compress",)), budget=BUDGETS)
def test_logs(tmp_path_factory, steps, budget):
    directory = tmp_path_factory.mktemp("logs")
    append_log(directory / "a", [], rotate_rows=7)
    schedule = Schedule(directory, budget)
    for step in steps:
        match step:
            case ("append", name, count):
                ids = schedule.next_ids(name, count)
                append_log(directory / name, ids, rotate_rows=7)
            case ("compress",):
                for name in schedule.counts:
                    headrace.Log(directory / name).seal()
            case _:
                schedule.do(step)
    by_name = schedule.end()
    assert by_name == {
        name: expected(range(count)) for name, count in schedule.counts.items()
    }
    assert {
        name: list(headrace.Log(directory / name, raw=True)) for name in by_name
    } == by_name


@given(steps=steps(("half",), ("packed",)), budget=BUDGETS)
def test_files(tmp_path_factory, steps, budget):
    directory = tmp_path_factory.mktemp("files")
    schedule = Schedule(directory, budget)
    halves, packed = {}, []
    for step in steps:
        match step:
            case ("append", name, count):
                path = directory / f"{name}.jsonl"
                append_file(path, halves.pop(name, b""))
                append_file(path, text(schedule.next_ids(name, count)))
            case ("half",):
                for name in sorted(schedule.counts.keys() - halves.keys()):
                    line = text(schedule.next_ids(name, 1))
                    append_file(directory / f"{name}.jsonl", line[:4])
                    halves[name] = line[4:]
            case ("packed",):
                packed.append(directory / f"z{len(packed):03}.jsonl.gz")
                packed[-1].write_bytes(gzip.compress(text(range(5))))
            case _:
                schedule.do(step)
    for name, rest in halves.items():
        append_file(directory / f"{name}.jsonl", rest)
    by_name = schedule.end()
    assert by_name.pop("z", []) == expected(range(5)) * len(packed)
    assert by_name == {
        name: expected(range(count)) for name, count in schedule.counts.items()
    }
    # The row numbers are those of one read of the final files.
    if schedule.found:
        assert sorted(schedule.found) == rows_of_a_read(directory)


@often(0.5)
@given(steps=steps(), budget=BUDGETS)
def test_sets(tmp_path_factory, steps, budget):
    directory = tmp_path_factory.mktemp("set")
    append_set(directory, [])
    schedule = Schedule(directory, budget)
    for step in steps:
        match step:
            case ("append", _name, count):
                append_set(directory, schedule.next_ids("r", count))
            case _:
                schedule.do(step)
    assert schedule.end().get("r", []) == expected(range(schedule.counts["r"]))
    assert sorted(schedule.found) == rows_of_a_read(directory)
