"""A write on a real cluster: executors die, tasks run twice, each row is written once."""

import os
import sys

import pytest

import headrace
from headrace.api.shards.check import check_shards
from tests.spark.cluster import PATIENCE, SETTINGS, run_driver
from tests.stores.shelf import shelf, stored

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]

ROWS = 2000

DRIVER = f"""
import os, signal, sys, tempfile, time
from pathlib import Path
import headrace.spark
from headrace.engines.spark.sink.writer import HeadraceWriter
from headrace.engines.spark.source.data_source import HeadraceSource
from pyspark import TaskContext

master, directory, marks, what = sys.argv[1:]
if "://" in directory:
    del os.environ["HEADRACE_SHARED"]
marks = Path(marks)

def kill(task):
    # Only the first executor that reaches this line.
    if task.partitionId() == 1 and task.attemptNumber() == 0:
        worker = os.getppid()
        executor = int(Path("/proc", str(worker), "stat").read_text().rsplit(")", 1)[1].split()[1])
        assert b"CoarseGrainedExecutorBackend" in Path("/proc", str(executor), "cmdline").read_bytes()
        (marks / "killed").touch(exist_ok=False)
        os.kill(executor, signal.SIGKILL)
        time.sleep({PATIENCE})

def slow(task):
    # The first attempt waits for the second, then both write on.
    if task.partitionId() == 0 and task.attemptNumber() == 0:
        deadline = time.monotonic() + {PATIENCE}
        while not (marks / "again").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    elif task.partitionId() == 0:
        (marks / "again").touch()

happen = {{"kill": kill, "slow": slow}}[what]

class Writer(HeadraceWriter):
    def write(self, iterator):
        return super().write(self.watched(iterator))

    def watched(self, iterator):
        for number, batch in enumerate(iterator):
            yield batch
            if number == 1:
                happen(TaskContext.get())

class Source(HeadraceSource):
    @classmethod
    def name(cls):
        return "watched"

    def writer(self, schema, overwrite):
        made = super().writer(schema, overwrite)
        made.__class__ = Writer
        return made

spark = headrace.spark.session(master, **{SETTINGS}, **{{
    "spark.sql.execution.arrow.maxRecordsPerBatch": 100,
    "spark.speculation": what == "slow",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": 1.1,
    "spark.speculation.quantile": 0.25,
    "spark.speculation.efficiency.enabled": False,
    "spark.task.maxFailures": 4,
    "spark.executorEnv.TMPDIR": tempfile.gettempdir(),
}})
spark.dataSource.register(Source)
frame = spark.range(0, {ROWS}, 1, 4)
frame.write.format("watched").mode("append").option("maxRecords", 150).save(directory)
spark.stop()
"""


@pytest.mark.parametrize(
    ("what", "mark"),
    [
        # `make test` kills the executor that writes to an object store.
        pytest.param("kill", "killed", marks=pytest.mark.sweep),
        ("slow", "again"),
    ],
)
def test_every_row_is_written_once(master, tmp_path, what, mark):
    out, marks = tmp_path / "out", tmp_path / "marks"
    marks.mkdir()
    run_driver(DRIVER, master, str(out), str(marks), what)
    # The fault did happen.
    assert [path.name for path in marks.iterdir()] == [mark]
    assert [row["id"] for row in headrace.open(out)] == list(range(ROWS))
    shards = headrace.ShardSet(out)
    assert [checked.faults for checked in check_shards(shards)] == [()] * 16
    named = {name for part in shards.metadata.parts for name in (part.path, part.ckpt)}
    there = {
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()
    }
    assert there == named | {"rows.meta-00000001.json"}
    assert not list(out.glob(".*"))


def test_every_row_is_written_once_to_an_object_store(master, tmp_path, monkeypatch):
    out, marks, scratch = tmp_path / "out", tmp_path / "marks", tmp_path / "scratch"
    marks.mkdir()
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))  # an executor that dies leaves something
    run_driver(DRIVER, master, shelf(out), str(marks), "kill")
    assert [path.name for path in marks.iterdir()] == ["killed"]
    assert [row["id"] for row in headrace.open(shelf(out))] == list(range(ROWS))
    shards = headrace.ShardSet(shelf(out))
    assert [checked.faults for checked in check_shards(shards)] == [()] * 16
    named = {"rows.meta-00000001.json", *(part.path for part in shards.metadata.parts)}
    # The files that the executor had uploaded when it died.
    for name in stored(out) - named:
        os.utime(out / name, (0, 0))
    shards.vacuum()
    assert stored(out) == named
