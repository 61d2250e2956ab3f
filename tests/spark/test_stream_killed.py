"""Drivers and workers that are killed in the middle of a batch: it is there once in the end.

As in `test_killed_driver`, all processes of a driver are killed, as when a machine dies.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.api.shard_check import check_shards
from tests.spark.cluster import QUICK_START, environment
from tests.spark.processes import kill, until
from tests.spark.stream_data import append_log

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]

DRIVER = f"""
import sys, time
from pathlib import Path
import headrace.spark
from headrace.engines.spark.source import HeadraceSource
from headrace.engines.spark.stream_sink import StreamWriter
from headrace.store.shards.commit import Generation
from headrace.store.shards.job import Job

log, out, checkpoint, mark, when = sys.argv[1:]

def wait(*_arguments):
    Path(mark).touch()
    time.sleep(600)

class Writer(StreamWriter):
    def commit(self, messages, batchId):
        if batchId == 1 and when == "before":
            wait()
        # The parts have their names, the metadata has not.
        if batchId == 1 and when == "during":
            Generation._publish = wait
        # The set has the batch, Spark does not know.
        if batchId == 1 and when == "after":
            Job.close = wait
        super().commit(messages, batchId)

class Source(HeadraceSource):
    @classmethod
    def name(cls):
        return "waiting"

    def streamWriter(self, schema, overwrite):
        made = super().streamWriter(schema, overwrite)
        made.__class__ = Writer
        return made

quick = {{"spark.driver.extraJavaOptions": {QUICK_START!r}}}
spark = headrace.spark.session("local[2,4]", **quick)
spark.dataSource.register(Source)
lines = spark.readStream.format("headrace").schema("_raw binary")
lines = lines.option("maxRowsPerTrigger", 100).load(log)
writer = lines.writeStream.format("waiting").option("checkpointLocation", checkpoint)
writer.trigger(availableNow=True).start(out).awaitTermination()
"""


def go_on(frame, directory):
    """Run a query to the end of what there is."""
    writer = frame.writeStream.format("headrace").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(directory / "checkpoint"))
    writer.start(str(directory / "out")).awaitTermination()


def ids(directory):
    return [row["id"] for row in headrace.open(directory)]


@pytest.mark.parametrize(
    ("when", "seen"), [("before", 100), ("during", 100), ("after", 200)]
)
def test_a_driver_that_is_killed(spark, tmp_path, when, seen):
    log, out, mark = (tmp_path / name for name in ("log", "out", "mark"))
    append_log(log, range(350))
    arguments = (log, out, tmp_path / "checkpoint", mark, when)
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *map(str, arguments)],
        env=environment(),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert until(lambda: mark.exists() or driver.poll() is not None, 120)
        assert driver.poll() is None
    finally:
        kill(driver.pid)
        driver.wait()
    assert ids(out) == list(range(seen))
    lines = spark.readStream.format("headrace").schema("_raw binary").load(str(log))
    go_on(lines, tmp_path)
    assert ids(out) == list(range(350))
    assert not any(found.faults for found in check_shards(headrace.ShardSet(out)))
    # What the killed one had put aside went with the next batch.
    assert not list(out.glob(".*"))


def test_a_worker_that_is_killed(spark, tmp_path):
    append_log(tmp_path / "log", range(350))
    mark = str(tmp_path / "mark")

    def die_once(batches):
        import os
        import signal

        for batch in batches:
            yield batch
            if not os.path.exists(mark):  # noqa: PTH110, sent to a worker as it is
                with open(mark, "w"):  # noqa: PTH123
                    pass
                os.kill(os.getpid(), signal.SIGKILL)

    reader = spark.readStream.format("headrace").schema("_raw binary")
    lines = reader.option("maxPartitionBytes", 500).load(str(tmp_path / "log"))
    go_on(lines.mapInArrow(die_once, "_raw binary"), tmp_path)
    assert Path(mark).exists()
    assert ids(tmp_path / "out") == list(range(350))
    assert not list((tmp_path / "out").glob(".*"))
