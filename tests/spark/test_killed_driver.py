"""Drivers that are killed while they write: what was not committed is not there.

The commit is a process of Python beside the driver's Java; all of them are killed, as when a
machine dies.
"""

import os
import subprocess
import sys

import pytest

import headrace
from headrace.api.shard_check import check_shards
from tests.spark.cluster import QUICK_START, environment
from tests.spark.processes import kill, until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]

ROWS = 1000

DRIVER = f"""
import sys, time
from pathlib import Path
import headrace.spark
from headrace.engines.spark.sink import HeadraceWriter
from headrace.engines.spark.source import HeadraceSource
from headrace.store.shards.commit import Generation
from headrace.store.shards.job import Job

directory, mark, when, mode = sys.argv[1:]

def wait(*_arguments):
    Path(mark).touch()
    time.sleep(600)

class Writer(HeadraceWriter):
    def commit(self, messages):
        if when == "before":
            wait()
        # The parts have their names, the metadata has not.
        if when == "during":
            Generation._publish = wait
        if when == "after":
            Job.close = wait
        super().commit(messages)

class Source(HeadraceSource):
    @classmethod
    def name(cls):
        return "waiting"

    def writer(self, schema, overwrite):
        made = super().writer(schema, overwrite)
        made.__class__ = Writer
        return made

quick = {{"spark.driver.extraJavaOptions": {QUICK_START!r}}}
spark = headrace.spark.session("local[2,4]", **quick)
spark.dataSource.register(Source)
frame = spark.range(0, {ROWS}, 1, 4)
frame.write.format("waiting").mode(mode).option("jobId", "one").save(directory)
"""


def kill_driver(*arguments, mark):
    """Start a driver, and kill all that belongs to it when it has made its mark."""
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *map(str, arguments)],
        env=environment(),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        assert until(lambda: mark.exists() or driver.poll() is not None)
        assert driver.poll() is None
    finally:
        kill(driver.pid)
        driver.wait()


def ids(directory):
    return sorted(row["id"] for row in headrace.open(directory))


def files(directory):
    return {
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file()
    }


OLD, NEW = list(range(-3, 0)), list(range(ROWS))


@pytest.mark.parametrize(
    ("when", "mode", "seen"),
    [
        ("before", "append", OLD),
        ("during", "append", OLD),
        ("during", "overwrite", OLD),
        ("after", "append", OLD + NEW),
    ],
)
def test_a_driver_that_is_killed(spark, tmp_path, when, mode, seen):
    directory, mark = tmp_path / "out", tmp_path / "mark"
    with headrace.ShardWriter(directory, name="rows") as writer:
        for row in OLD:
            writer.write({"id": row})
    kill_driver(directory, mark, when, mode, mark=mark)
    assert ids(directory) == seen
    # What is left of it stands where nobody looks.
    (staging,) = directory.glob(".rows.staging-*")
    assert not any(found.faults for found in check_shards(headrace.ShardSet(directory)))

    again = spark.range(0, ROWS, 1, 4).write.format("headrace").mode(mode)
    again.option("jobId", "one").save(str(directory))
    assert ids(directory) == (OLD + NEW if mode == "append" else NEW)
    shards = headrace.ShardSet(directory)
    assert not any(found.faults for found in check_shards(shards))
    for path in (*staging.rglob("*"), staging):
        os.utime(path, (0, 0))
    shards.vacuum(grace=0)
    parts = headrace.ShardSet(directory).metadata.parts
    named = {name for part in parts for name in (part.path, part.ckpt)}
    assert files(directory) == named | {"rows.meta-00000002.json"}
