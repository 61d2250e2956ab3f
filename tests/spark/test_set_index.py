"""Set indexes built by Spark tasks: the bytes of a build in this process."""

import json
import os
import random
import shutil
import signal
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Barrier, Thread

import pytest
from pyspark import TaskContext

import headrace
from headrace.engines.index import set as engine
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.index.set_slices import SetScan
from headrace.engines.local.index_build import InThreads
from headrace.engines.spark.index.set_segments import ByTasks
from headrace.errors import (
    BadSetError,
    DuplicateKeyError,
    KeyIndexError,
    KeyIndexLockedError,
    SparkFailedError,
)
from headrace.store.shards.opened_set import open_set
from tests.reference.shard_sets import write
from tests.spark.processes import until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

MASTER = "local[2,4]"
"""The master of the session of the tests."""

TASK_BYTES = 2000


def some_lines(count, seed):
    chance = random.Random(seed)
    values = ['"a"', "1", "1.0", '"1"', "null", "[]", *map(str, range(50))]
    lines = [f'{{"k": {chance.choice(values)}, "n": {n}}}' for n in range(count)]
    lines[count // 2 : count // 2] = ['{"k":', "{}"]
    return lines


def content(directory):
    path = directory / "rows.jnx.k"
    return {each.name: each.read_bytes() for each in path.iterdir()}


def made_by(make, shards, segment_rows=1000, **options):
    path = shards.directory / "rows.jnx.k"
    build = KeyBuild(("k",), fragment_bytes=TASK_BYTES, **options)
    return engine.build(open_set(shards), path, build, make, segment_rows)


@pytest.mark.parametrize(
    ("count", "codec", "segment_rows"),
    [(0, "zstd", 10), (1, "none", 10), (700, "zstd", 100), (700, "gzip", 10_000)],
)
def test_both_engines_make_the_same_files(spark, tmp_path, count, codec, segment_rows):
    lines = some_lines(count, count) if count else []
    shards = write(tmp_path, lines, codec=codec, most=60, block_bytes=300)
    local = made_by(InThreads(), shards, segment_rows=segment_rows)
    expected = content(tmp_path)
    shutil.rmtree(tmp_path / "rows.jnx.k")
    made = made_by(ByTasks(spark, TASK_BYTES), shards, segment_rows=segment_rows)
    assert (made.lines, made.first_skipped) == (local.lines, local.first_skipped)
    assert content(tmp_path) == expected
    # An update with new parts, and a build of all parts.
    more = some_lines(200, 1)
    shards = write(tmp_path, more, codec=codec, most=60, block_bytes=300)
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / "rows.jnx.k", kept)
    results = []
    for make in (InThreads(), ByTasks(spark, TASK_BYTES)):
        shutil.rmtree(tmp_path / "rows.jnx.k")
        shutil.copytree(kept, tmp_path / "rows.jnx.k")
        engine.update(open_set(shards), tmp_path / "rows.jnx.k", KeyBuild(("k",)), make)
        results.append(content(tmp_path))
    assert results[0] == results[1]
    assert headrace.KeyIndex.check(tmp_path, "k", deep=True)["fresh"]


def test_the_command_builds_and_updates_with_spark(spark, tmp_path):
    del spark  # the session that the command finds
    shards = write(tmp_path, some_lines(300, 2), most=60)
    built = headrace.KeyIndex.build(tmp_path, "k", engine="spark", master=MASTER)
    assert built.lines.bad == 1
    index = headrace.KeyIndex.open(tmp_path, "k")
    rows = [json.loads(line) for line in some_lines(300, 2) if line != '{"k":']
    expected = [row for row in rows if str(row.get("k")) in ("7", "7.0")]
    assert index.get(7) == expected
    write(tmp_path, ['{"k": 7, "n": -1}'])
    updated = headrace.KeyIndex.update(tmp_path, "k", engine="spark", master=MASTER)
    assert updated.mode == "incremental"
    index = headrace.KeyIndex.open(shards.path, "k")
    assert index.get(7) == [*expected, {"k": 7, "n": -1}]


@dataclass(frozen=True, slots=True)
class PatientScan(SetScan):
    """Delays the last slice until progress on another one was reported."""

    mark: str = ""

    def scan(self, part, opened):
        if part.end == sum(each.logical_bytes for each in self.parts):
            assert until(Path(self.mark).exists)
        return SetScan.scan(self, part, opened)


def test_progress_is_reported_as_tasks_end(spark, tmp_path, monkeypatch):
    shards = write(tmp_path / "set", some_lines(300, 2), most=60)
    mark, reported = tmp_path / "mark", []

    def progress(done, _records):
        reported.append(done)
        if done:
            mark.touch()

    def patient(how, *others):
        same = {each.name: getattr(how, each.name) for each in fields(how)}
        return make(PatientScan(**same, mark=str(mark)), *others)

    make = ByTasks(spark, TASK_BYTES, KeyBuild(("k",), progress=progress))
    made = made_by(patient, shards)
    assert made.lines.bad == 1
    assert reported == sorted(reported)
    assert 0 < next(each for each in reported if each) < open_set(shards).size


def test_a_key_that_is_there_twice_is_the_same_error(spark, tmp_path):
    lines = [f'{{"k": {number}}}' for number in [*range(90), 33, 2]]
    shards = write(tmp_path, lines, most=20)
    for make in (InThreads(), ByTasks(spark, TASK_BYTES)):
        with pytest.raises(DuplicateKeyError) as error:
            made_by(make, shards, unique=True, segment_rows=10)
        assert (error.value.line, error.value.other) == (34, 91)
    assert not (tmp_path / "rows.jnx.k").exists()


@dataclass(frozen=True, slots=True)
class FaultyScan(SetScan):
    """Fails, or dies, at the first attempts at each task."""

    fault: str = "once"

    def _strike(self, place):
        attempt = TaskContext.get().attemptNumber()
        if self.fault == "always" or (self.fault == place and attempt == 0):
            raise RuntimeError(f"attempt {attempt} fails")
        if self.fault == f"kill {place}" and attempt == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def scan(self, part, opened):
        self._strike("scan")
        return SetScan.scan(self, part, opened)

    def write(self, number, runs, directory, kept):
        made = SetScan.write(self, number, runs, directory, kept)
        self._strike("write")
        return made


class Sabotaged:
    """Builds segments by tasks with a fault."""

    def __init__(self, spark, fault):
        self._make, self._fault = ByTasks(spark, TASK_BYTES), fault

    def __call__(self, how, *rest):
        same = {each.name: getattr(how, each.name) for each in fields(how)}
        return self._make(FaultyScan(**same, fault=self._fault), *rest)


@pytest.mark.parametrize("fault", ["scan", "write", "kill scan", "kill write"])
def test_tasks_that_fail_or_die_change_nothing(spark, tmp_path, fault):
    shards = write(tmp_path, some_lines(300, 3), most=60)
    made_by(InThreads(), shards, segment_rows=100)
    expected = content(tmp_path)
    shutil.rmtree(tmp_path / "rows.jnx.k")
    made_by(Sabotaged(spark, fault), shards, segment_rows=100)
    assert content(tmp_path) == expected


def test_a_job_that_fails_leaves_the_old_index(spark, tmp_path):
    shards = write(tmp_path, some_lines(100, 4), most=60)
    with pytest.raises(SparkFailedError, match="attempt 3 fails"):
        made_by(Sabotaged(spark, "always"), shards)
    assert not (tmp_path / "rows.jnx.k").exists()
    made_by(InThreads(), shards)
    expected = content(tmp_path)
    with pytest.raises(SparkFailedError, match="attempt 3 fails"):
        made_by(Sabotaged(spark, "always"), shards)
    assert content(tmp_path) == expected


def test_of_two_jobs_at_once_one_wins(spark, tmp_path):
    shards = write(tmp_path, some_lines(300, 5), most=60)
    outcomes = []
    together = Barrier(2)

    def build():
        together.wait()
        try:
            made_by(ByTasks(spark, TASK_BYTES), shards)
            outcomes.append("made")
        except KeyIndexLockedError:
            outcomes.append("refused")

    threads = [Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) in (["made", "refused"], ["made", "made"])
    checked = headrace.KeyIndex.check(tmp_path, "k", deep=True)
    assert (checked["valid"], checked["fresh"]) == (True, True)


def test_the_error_names_a_part_that_was_removed_by_hand(spark, tmp_path):
    shards = write(tmp_path, some_lines(100, 6), most=60)
    made_by(ByTasks(spark, TASK_BYTES), shards)
    gone = tmp_path / shards.metadata.parts[1].path
    gone.unlink()
    for ask in (
        lambda: headrace.KeyIndex.open(tmp_path, "k"),
        lambda: headrace.KeyIndex.build(tmp_path, "k", engine="spark", master=MASTER),
        lambda: headrace.KeyIndex.update(tmp_path, "k", engine="spark", master=MASTER),
    ):
        with pytest.raises(BadSetError, match="it is missing"):
            ask()


def test_a_set_that_was_replaced_is_not_updated(spark, tmp_path):
    shards = write(tmp_path, some_lines(100, 7), most=60)
    made_by(ByTasks(spark, TASK_BYTES), shards)
    write(tmp_path, some_lines(50, 8), overwrite=True)
    with pytest.raises(KeyIndexError, match="other parts now"):
        headrace.KeyIndex.update(tmp_path, "k", engine="spark", master=MASTER)
    updated = headrace.KeyIndex.update(
        tmp_path, "k", engine="spark", master=MASTER, full=True
    )
    assert updated.mode == "full"
    assert headrace.KeyIndex.open(tmp_path, "k").is_fresh()
