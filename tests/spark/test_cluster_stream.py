"""Streaming on a real cluster with faults and losses: each row once, or the query stops."""

import shutil
import sys

import pytest

import headrace
from headrace.api.shards.check import check_shards
from tests.spark.stream_data import append_log

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]

A_BATCH = 1000
BATCHES = 3


def run(context, directory, order="nothing", reading=None, writing=None):
    """Run a query over a log to its end; return the error.

    A batch has several tasks, which read several times.
    """
    context.sabotage.give(order)
    options = {
        "maxRowsPerTrigger": A_BATCH,
        "maxPartitionBytes": "4KiB",
        "maxBatchBytes": "1KiB",
        **(reading or {}),
    }
    checkpoint = {"checkpointLocation": f"{directory}/checkpoint", **(writing or {})}
    lines = context.spark.readStream.format("headrace").schema("_raw binary")
    query = (
        lines.options(**options)
        .load(f"{directory}/log")
        .writeStream.format("headrace")
        .options(**checkpoint)
        .trigger(availableNow=True)
        .start(f"{directory}/out")
    )
    try:
        query.awaitTermination()
    except Exception as raised:  # noqa: BLE001, Spark has many
        return context.sabotage.done(), str(raised)
    return context.sabotage.done(), None


def ids(directory):
    """Return the ids in the set, after checking that it is whole and no other files are left."""
    out = directory / "out"
    shards = headrace.ShardSet(out)
    assert not any(found.faults for found in check_shards(shards))
    # The staged parts of failed attempts are removed.
    assert not list(out.glob(".*"))
    return [row["id"] for row in headrace.open(out)]


@pytest.mark.parametrize(
    ("order", "often", "stops"),
    [
        ("executor", 1, None),
        ("worker", 1, None),
        ("always", 4, "RuntimeError: attempt 3 fails"),
    ],
)
def test_a_batch_in_which_something_dies_is_there_once(
    driver, tmp_path, order, often, stops
):
    append_log(tmp_path / "log", range(A_BATCH))
    assert driver(run, tmp_path) == [0, None]
    append_log(tmp_path / "log", range(A_BATCH, BATCHES * A_BATCH))
    done, error = driver(run, tmp_path, order)
    assert done == often
    if stops is None:
        assert error is None
    else:
        # The batch was not committed.
        assert stops in error
        assert ids(tmp_path) == list(range(A_BATCH))
        assert driver(run, tmp_path) == [0, None]
    assert ids(tmp_path) == list(range(BATCHES * A_BATCH))
    assert headrace.ShardSet(tmp_path / "out").metadata.generation == BATCHES


def test_a_lost_checkpoint_directory_stops_the_query(driver, tmp_path):
    append_log(tmp_path / "log", range(A_BATCH))
    assert driver(run, tmp_path) == [0, None]
    offset = (tmp_path / "checkpoint/offsets/0").read_text().splitlines()[-1]
    shutil.rmtree(tmp_path / "checkpoint")
    append_log(tmp_path / "log", range(A_BATCH, A_BATCH + 50))
    _done, error = driver(run, tmp_path)
    assert "continue with the checkpoint directory of that query" in error
    assert ids(tmp_path) == list(range(A_BATCH))
    # The cure that the error names.
    shutil.rmtree(tmp_path / "checkpoint")
    begin = {"startingOffsets": offset}
    again = driver(run, tmp_path, "nothing", begin, {"stream": "second"})
    assert again == [0, None]
    assert ids(tmp_path) == list(range(A_BATCH + 50))


def test_retention_that_is_faster_stops_the_query_unless_it_may_jump(driver, tmp_path):
    append_log(tmp_path / "log", range(A_BATCH))
    assert driver(run, tmp_path) == [0, None]
    append_log(tmp_path / "log", range(A_BATCH, A_BATCH + 500))
    headrace.Log(tmp_path / "log").retain(before_line=A_BATCH + 201)
    _done, error = driver(run, tmp_path)
    gone = f"lines {A_BATCH + 1} to {A_BATCH + 200} were lost before they were read"
    assert gone in error
    assert "onDataLoss" in error
    assert ids(tmp_path) == list(range(A_BATCH))
    assert driver(run, tmp_path, "nothing", {"onDataLoss": "skip"}) == [0, None]
    there = [*range(A_BATCH), *range(A_BATCH + 200, A_BATCH + 500)]
    assert ids(tmp_path) == there


def test_a_part_that_is_removed_by_hand_stops_the_query(driver, tmp_path):
    """One stream writes the set that another stream reads."""
    append_log(tmp_path / "log", range(A_BATCH))
    assert driver(run, tmp_path) == [0, None]
    second = tmp_path / "second"
    second.mkdir()
    (second / "log").symlink_to(tmp_path / "out")
    done, error = driver(run, second, "remove", {"maxPartitionBytes": 50})
    assert done
    assert "no such file" in error
    assert not list((second / "out").glob("rows.meta-*"))
