"""Logs as a stream: every committed line once, during upkeep and retention."""

import json
import warnings

import pytest

import headrace
from headrace.errors import (
    HeadraceWarning,
    SourceChangedError,
    StreamLossError,
    StreamReplacedError,
)
from tests.spark.driven import EVERYTHING, Stream
from tests.spark.stream_data import append_log, expected, lines

pytestmark = pytest.mark.spark


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    append_log(path, range(350))
    return path


def test_rows_are_those_of_a_batch_read(log):
    stream = Stream(log)
    found = stream.rest()
    assert found == [
        (str(log / f"{n // 100 * 100:020d}.jsonl"), n % 100, b'{"id":%d}' % n)
        for n in range(350)
    ]
    assert stream.batch() is None
    append_log(log, range(350, 420))
    assert lines(stream.batch()) == expected(range(350, 420))


@pytest.mark.filterwarnings("ignore:.*are not committed")
def test_uncommitted_lines_are_not_read(log):
    with max(log.glob("*.jsonl")).open("ab") as file:
        file.write(b'{"id":"not committed"}\n')
    assert lines(Stream(log).rest()) == expected(range(350))


@pytest.mark.parametrize(
    "budget", [{"maxRowsPerTrigger": 30}, {"maxBytesPerTrigger": 300}]
)
def test_a_budget_cuts_batches(log, budget):
    batches = Stream(log, **budget).available_now()
    assert [row for batch in batches for row in lines(batch)] == expected(range(350))
    assert len(batches) >= 350 // 30
    if "maxRowsPerTrigger" in budget:
        assert all(len(batch) == 30 for batch in batches[:-1])
    else:
        assert all(
            sum(len(raw) + 1 for raw in lines(batch)) <= 300 for batch in batches
        )


def test_a_line_that_is_longer_than_the_budget_is_a_batch(tmp_path):
    append_log(tmp_path, range(3))
    batches = Stream(tmp_path, maxBytesPerTrigger=1).available_now()
    assert [lines(batch) for batch in batches] == [
        [line] for line in expected(range(3))
    ]


def test_available_now_ignores_budgets(log):
    stream = Stream(log, maxRowsPerTrigger=30)
    assert len(stream.batch(EVERYTHING)) == 350


def test_partitions_share_a_budget(tmp_path):
    for name, count in (("a", 300), ("b/c", 5), ("d", 300)):
        append_log(tmp_path / name, range(count))
    stream = Stream(tmp_path, maxRowsPerTrigger=25)
    first = stream.batch()
    counts = dict.fromkeys(("a", "b", "d"), 0)
    for path, *_ in first:
        counts[path.removeprefix(f"{tmp_path}/")[0]] += 1
    assert counts == {"a": 10, "b": 5, "d": 10}
    assert stream.end["places"]["b/c"]["line"] == 5
    rest = [row for batch in stream.available_now() for row in batch]
    assert len(first) + len(rest) == len({*first, *rest}) == 605


def test_a_partition_that_comes_later_is_read_from_its_first_line(tmp_path):
    append_log(tmp_path / "a", range(5))
    stream = Stream(tmp_path, startingOffsets="latest")
    assert stream.batch() is None
    append_log(tmp_path / "b", range(7))
    append_log(tmp_path / "a", range(5, 6))
    assert sorted(lines(stream.batch())) == sorted(expected([5, *range(7)]))


def test_compression_does_not_move_a_place(log):
    stream = Stream(log, maxRowsPerTrigger=130)
    found = stream.batch()
    planned = stream.plan()
    headrace.Log(log).seal()
    assert not (log / f"{100:020d}.jsonl").exists()
    stream.restart()
    found += stream.run(planned) + stream.rest()
    assert lines(found) == expected(range(350))


def test_tasks_find_lines_that_were_compressed_since_they_were_planned(log):
    stream = Stream(log, maxPartitionBytes=200)
    end = stream.reader.latestOffset(stream.reader.initialOffset(), EVERYTHING)
    tasks = stream.reader.partitions(stream.reader.initialOffset(), end)
    append_log(log, range(350, 450))  # the last segment is full now, too
    headrace.Log(log).seal()
    assert len(list(log.glob("*.zst"))) == 4
    rows = [
        row["_raw"]
        for task in tasks
        for batch in stream.reader.read(task)
        for row in batch.to_pylist()
    ]
    assert rows == expected(range(350))


def test_lines_that_retention_removed_are_an_error_that_names_them(log):
    stream = Stream(log, maxRowsPerTrigger=130)
    found = stream.batch()
    headrace.Log(log).retain(before_line=201)
    with pytest.raises(
        StreamLossError, match=r"lines 131 to 200 were lost .*onDataLoss"
    ):
        stream.batch()
    stream.restart(onDataLoss="skip")
    with pytest.warns(HeadraceWarning, match="lines 131 to 200 were lost"):
        found += stream.rest()
    assert lines(found) == expected([*range(130), *range(200, 350)])


def test_lines_removed_before_a_batch_is_repeated(log):
    stream = Stream(log, onDataLoss="skip")
    planned = stream.plan()
    headrace.Log(log).retain(before_line=201)
    with pytest.warns(HeadraceWarning, match="lines 1 to 200 were lost"):
        assert lines(stream.run(planned)) == expected(range(200, 350))


def test_a_segment_that_is_removed_between_plan_and_task_stops_the_query_once(log):
    stream = Stream(log, onDataLoss="skip", maxRowsPerTrigger=250)
    planned = stream.plan()
    start, end = stream.end, json.loads(planned)
    tasks = stream.reader.partitions(start, end)
    headrace.Log(log).retain(before_line=201)
    with pytest.raises(SourceChangedError, match="lines 1 to 100 of the log"):
        list(stream.reader.read(tasks[0]))
    # The same batch runs again with its remaining lines.
    stream.restart()
    with pytest.warns(HeadraceWarning, match="lines 1 to 200 were lost"):
        found = stream.run(planned)
    assert lines(found) == expected(range(200, 250))
    assert lines(stream.rest()) == expected(range(250, 350))


def test_a_new_query_begins_with_the_first_remaining_line(log):
    headrace.Log(log).retain(before_line=201)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = Stream(log, maxRowsPerTrigger=90)
        assert lines(stream.batch()) == expected(range(200, 290))
        stream.restart()
        assert lines(stream.rest()) == expected(range(290, 350))
    # Lines that were appended after its start must not be lost.
    stream = Stream(log, maxRowsPerTrigger=20)
    stream.batch()
    headrace.Log(log).retain(before_line=301)
    with pytest.raises(StreamLossError, match="lines 221 to 300 were lost"):
        stream.batch()


def test_retention_of_lines_already_read_is_harmless(log):
    stream = Stream(log)
    stream.rest()
    headrace.Log(log).retain(before_line=301)
    append_log(log, range(350, 360))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lines(stream.rest()) == expected(range(350, 360))


def test_another_log_is_an_error(log):
    stream = Stream(log)
    stream.rest()
    log.rename(log.with_name("old"))
    append_log(log, range(1000))
    for _ in range(2):
        with pytest.raises(StreamReplacedError, match="it was replaced by another log"):
            stream.batch()
        stream.restart()


def test_starting_offsets_decide_where_a_new_query_begins(log):
    stream = Stream(log)
    stream.rest()
    offset = stream.end
    (place,) = offset["places"].values()
    assert place["line"] == 350
    place["line"] = 340
    begun = Stream(log, startingOffsets=json.dumps(offset))
    assert lines(begun.rest()) == expected(range(340, 350))
