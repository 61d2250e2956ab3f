"""A driver that is killed while it runs several operations, each at a different moment.

Each operation has a directory whose name has the operation and the moment. At its moment it
makes a mark and waits, and the next operation begins. When all of them wait, all processes of
the driver are killed, as when a machine fails: the commit of a write or of a batch runs in a
Python process beside the driver's Java.
"""

import os
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import headrace
import headrace.spark
from headrace.engines.index.jobs import _Begun
from headrace.engines.spark.sink.writer import HeadraceWriter, StreamWriter
from headrace.engines.spark.source.data_source import HeadraceSource
from headrace.store.files.object_store import ObjectDirectory
from headrace.store.index.set import commit
from headrace.store.shards.job.commit import Generation
from headrace.store.shards.job.job import Job
from tests.spark.cluster import environment
from tests.spark.driver import sabotaged
from tests.spark.processes import kill, until
from tests.spark.sabotage import Sabotage
from tests.stores.shelf import shelf

ROWS = 1000
BATCH = 100

THINGS = [
    "append-before",
    "append-during",
    "append-after",
    "overwrite-during",
    "store-during",
    "store-after",
    "stream-before",
    "stream-during",
    "stream-after",
    "keys-take",
    "keys-publish",
    "set-publish",
]
"""The operations that begin before the scans."""

SCANS = ["set-scan", "graph-scan"]
"""The operations that are killed while one of their tasks reads."""


def mark(path):
    return path.with_name(f"{path.name}.mark")


def wait(path):
    mark(path).touch()
    time.sleep(600)


def wait_when(path):
    """Wait at the moment of a commit that is in the name of its set."""
    moment = path.name.partition("-")[2]
    if moment == "before":
        wait(path)
    # The parts have their names, the metadata has not.
    if moment == "during":
        Generation._publish = lambda *_: wait(path)
        ObjectDirectory.create = lambda *_, **__: wait(path)
    # The set has the rows, Spark does not know.
    if moment == "after":
        Job.close = lambda *_: wait(path)


class Writer(HeadraceWriter):
    def commit(self, messages):
        wait_when(self.path)
        super().commit(messages)


class BatchWriter(StreamWriter):
    def commit(self, messages, batchId):  # noqa: N803, Spark's name
        if batchId == 1:
            wait_when(self.path)
        super().commit(messages, batchId)


class Source(HeadraceSource):
    """The format, with commits that wait."""

    @classmethod
    def name(cls):
        return "waiting"

    def writer(self, schema, overwrite):
        return self._waiting(super().writer(schema, overwrite), Writer)

    def streamWriter(self, schema, overwrite):  # noqa: N802, Spark's name
        return self._waiting(super().streamWriter(schema, overwrite), BatchWriter)

    def _waiting(self, made, kind):
        made.__class__ = kind
        made.path = Path(self.options["path"].removeprefix("shelf://"))
        return made


class Doing:
    """The operations, each run in a thread."""

    def __init__(self, spark, master):
        self.spark = spark
        self.options = {"engine": "spark", "master": master}

    def append(self, path):
        rows = self.spark.range(0, ROWS, 1, 4).write.format("waiting").mode("append")
        rows.option("jobId", "one").save(str(path))

    def store(self, path):
        self.append(shelf(path))

    def overwrite(self, path):
        rows = self.spark.range(0, ROWS, 1, 4).write.format("waiting")
        rows.mode("overwrite").option("jobId", "one").save(str(path))

    def stream(self, path):
        lines = self.spark.readStream.format("headrace").schema("_raw binary")
        lines = lines.option("maxRowsPerTrigger", BATCH).load(f"{path}.log")
        writer = lines.writeStream.format("waiting").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", f"{path}.checkpoint")
        writer.start(str(path)).awaitTermination()

    def keys(self, path):
        file = path / "rows.jsonl"
        headrace.KeyIndex.build(file, "k", partition_bytes=2000, **self.options)

    def set(self, path):
        headrace.KeyIndex.build(path, "k", partition_bytes=2000, **self.options)

    def graph(self, path):
        file = path / "rows.jsonl"
        with headrace.GraphIndex.open(
            file, from_field="k", pred_field=None, to_field="n", index=False
        ) as graph:
            master = self.options["master"]
            list(graph.on_spark(master, partition_bytes=2000).expand("7", 2))


def wait_in_builds():
    """Make index builds wait at the moment in the name of their directory."""

    def waiting(build, moment, place):
        def at(*arguments):
            path = place(arguments[0])
            if path.name.endswith(f"-{moment}"):
                wait(path)
            return build(*arguments)

        return at

    def of_file(begun):
        return begun.target.path.parent

    _Begun.take = waiting(_Begun.take, "take", of_file)
    _Begun.publish = waiting(_Begun.publish, "publish", of_file)
    # The segments are renamed, the manifest is not.
    commit.publish = waiting(commit.publish, "publish", lambda index: index.parent)


class Begun:
    """The operations that have begun, each in a thread."""

    def __init__(self, doing, directory):
        self._doing, self._directory = doing, directory
        # Spark finds a format by the session of the thread, which this sets.
        self._pool = ThreadPoolExecutor(
            len(THINGS) + len(SCANS),
            initializer=lambda: doing.spark.createDataFrame([], "id long"),
        )
        self._threads = []

    def begin(self, name, reached):
        """Begin an operation, and wait until it waits; none may end before it is killed."""
        what = getattr(self._doing, name.partition("-")[0])
        self._threads.append(self._pool.submit(what, self._directory / name))

        def over():
            return any(thread.done() for thread in self._threads)

        assert until(lambda: over() or reached(), 100), f"{name} does not wait"
        for thread in self._threads:
            if thread.done():
                raise AssertionError(f"{name}: one ended") from thread.exception()


def main(master, directory):
    directory = Path(directory)
    sabotage = Sabotage(directory)
    sabotage.give("nothing")
    spark = headrace.spark.session(master, **sabotaged(directory))
    spark.dataSource.register(Source)
    wait_in_builds()
    begun = Begun(Doing(spark, master), directory)
    try:
        for name in THINGS:
            begun.begin(name, mark(directory / name).exists)
        sabotage.give("wait")
        for number, name in enumerate(SCANS, 1):
            begun.begin(name, lambda number=number: sabotage.done() == number)
        (directory / "waiting").touch()
        time.sleep(600)
    except AssertionError:
        traceback.print_exc()
        # The threads wait on.
        os._exit(1)


def kill_driver(master, directory):
    """Start a driver, and kill all of its processes when all operations wait."""
    said = directory / "driver.log"
    with said.open("wb") as output:
        driver = subprocess.Popen(
            [sys.executable, "-m", __name__, master, str(directory)],
            env=environment(),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    waiting = directory / "waiting"
    try:
        until(lambda: waiting.exists() or driver.poll() is not None, 300)
        assert waiting.exists(), said.read_text(errors="replace")
    finally:
        kill(driver.pid)
        driver.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
