"""Sets of shards as a stream: each committed part once."""

import pytest

from headrace.errors import BadSetError, StreamReplacedError, UsageError
from tests.spark.driven import Stream
from tests.spark.stream_data import (
    append_file,
    append_log,
    append_set,
    expected,
    lines,
    text,
)

pytestmark = pytest.mark.spark


@pytest.fixture
def shards(tmp_path):
    append_set(tmp_path / "set", range(35))
    return tmp_path / "set"


def test_each_generation_once(shards):
    stream = Stream(shards)
    rows = stream.batch()
    assert lines(rows) == expected(range(35))
    assert [row for _file, row, _raw in rows] == [n % 10 for n in range(35)]
    assert stream.batch() is None
    append_set(shards, range(35, 50))
    stream.restart()
    assert lines(stream.batch()) == expected(range(35, 50))


@pytest.mark.parametrize(
    ("budget", "counts"),
    [
        ({"maxRowsPerTrigger": 25}, [20, 15]),
        ({"maxRowsPerTrigger": 1}, [10, 10, 10, 5]),
        ({"maxBytesPerTrigger": 1}, [10, 10, 10, 5]),
        ({"maxBytesPerTrigger": "1MiB"}, [35]),
    ],
)
def test_a_budget_takes_whole_parts(shards, budget, counts):
    batches = Stream(shards, **budget).available_now()
    assert [len(batch) for batch in batches] == counts
    assert [row for batch in batches for row in lines(batch)] == expected(range(35))


def test_a_set_that_was_overwritten_is_an_error(shards):
    stream = Stream(shards)
    planned = stream.plan()
    stream.run(planned)
    append_set(shards, range(100), overwrite=True)
    with pytest.raises(StreamReplacedError, match=r"overwritten: rows\.parts-"):
        stream.batch()
    stream.restart()
    with pytest.raises(StreamReplacedError, match="the set was overwritten"):
        stream.rows(stream.reader.initialOffset(), stream.end)


def test_parts_that_were_removed_by_hand_are_an_error(shards):
    stream = Stream(shards)
    planned = stream.plan()
    min(shards.rglob("part-*.zst")).unlink()
    with pytest.raises(BadSetError, match="the metadata names it, but it is missing"):
        stream.run(planned)


def test_a_stream_reads_one_kind_of_source(shards, tmp_path):
    append_file(tmp_path / "a.jsonl", text([1]))
    with pytest.raises(
        UsageError, match=r"one kind of input, but .*set has sets, .*files"
    ):
        Stream(shards, tmp_path / "a.jsonl").batch()
    append_log(tmp_path / "log", range(3))
    stream = Stream(tmp_path / "log")
    stream.batch()
    other = Stream(shards, startingOffsets=str(stream.end).replace("'", '"'))
    with pytest.raises(UsageError, match="is of logs, but the path has sets"):
        other.batch()
