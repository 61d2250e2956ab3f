"""Streaming on a real cluster where executors and workers die in a batch: each row is there once.

One session runs all queries, since starting one takes longer than all the rest.
"""

import json
import sys

import pytest

import headrace
from headrace.api.shard_check import check_shards
from tests.spark.cluster import SETTINGS, cluster, run_driver

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]

A_BATCH = 1000
BATCHES = 3
FAULTS = [
    ("executor", 1, None),
    ("worker", 1, None),
    ("always", 4, "RuntimeError: attempt 3 fails"),
]
"""What happens in the second batch, how often, and what stops the query then."""

DRIVER = f"""
import json, sys
import headrace, headrace.spark
from tests.spark.sabotage import VARIABLE, Sabotage
from tests.spark.stream_data import append_log

master, directory, orders = sys.argv[1:]
sabotage = Sabotage(directory)
sabotage.give("nothing")
spark = headrace.spark.session(master, **{SETTINGS}, **{{
    "spark.python.daemon.module": "tests.spark.sabotage",
    "spark.executorEnv." + VARIABLE: directory,
}})

def run(order):
    sabotage.give(order)
    # Several tasks a batch, which read several times.
    reader = spark.readStream.format("headrace").schema("_raw binary")
    reader = reader.option("maxRowsPerTrigger", {A_BATCH}).option("maxPartitionBytes", "4KiB")
    lines = reader.option("maxBatchBytes", "1KiB").load(log)
    writer = lines.writeStream.format("headrace").trigger(availableNow=True)
    query = writer.option("checkpointLocation", f"{{out}}-checkpoint").start(out)
    error = None
    try:
        query.awaitTermination()
    except Exception as raised:
        error = str(raised)
    print(json.dumps([sabotage.done(), error, len(headrace.open(out))]), flush=True)

for order in json.loads(orders):
    log, out = f"{{directory}}/{{order}}-log", f"{{directory}}/{{order}}-out"
    append_log(log, range({A_BATCH}))
    run("nothing")
    append_log(log, range({A_BATCH}, {BATCHES * A_BATCH}))
    run(order)
    run("nothing")
spark.stop()
"""


def test_a_batch_in_which_something_dies_is_there_once(tmp_path):
    orders = json.dumps([order for order, _often, _error in FAULTS])
    with cluster(tmp_path) as master:
        printed = run_driver(DRIVER, master, str(tmp_path), orders)
    told = iter([json.loads(line) for line in printed.splitlines()])
    whole = BATCHES * A_BATCH
    for order, often, stops in FAULTS:
        assert next(told) == [0, None, A_BATCH], order
        done, error, rows = next(told)
        assert done == often, order
        if stops is None:
            assert (error, rows) == (None, whole), order
        else:
            # The batch came to nothing.
            assert stops in error, order
            assert rows == A_BATCH, order
        assert next(told) == [0, None, whole], order
        out = tmp_path / f"{order}-out"
        assert [row["id"] for row in headrace.open(out)] == list(range(whole)), order
        shards = headrace.ShardSet(out)
        assert shards.metadata.generation == BATCHES, order
        assert not any(found.faults for found in check_shards(shards)), order
        # What attempts had put aside that came to nothing is gone.
        assert not list(out.glob(".*")), order
    assert next(told, None) is None
