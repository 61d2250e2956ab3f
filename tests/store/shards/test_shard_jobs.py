"""Jobs of many tasks: staged parts, commits and leftovers."""

import os
import pickle
import threading
import time

import pytest

import headrace
from headrace.errors import (
    BadSetError,
    SetLockedError,
    SourceChangedError,
    UnwritableError,
    UsageError,
)
from headrace.store.shards.job import job as jobs
from headrace.store.shards.job.commit import Generation
from headrace.store.shards.vacuum import local
from tests.reference.shard_jobs import (
    attempt,
    begin,
    check_many_at_once,
    is_sound,
    rows,
    run,
)


def files(directory):
    return sorted(
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file()
    )


def test_parts_are_in_the_order_of_their_tasks(tmp_path):
    metadata = run(tmp_path, [1, 2, 3], [], [4], [5, 6], max_records=2)
    assert rows(tmp_path) == [1, 2, 3, 4, 5, 6]
    assert [part.records for part in metadata.parts] == [2, 1, 1, 2]
    assert [part.path[-22:] for part in metadata.parts] == [
        f"/part-{number:08}.jsonl.zst"[-22:] for number in range(4)
    ]
    assert is_sound(tmp_path)


def test_a_job_and_its_parts_can_be_pickled(tmp_path):
    job = pickle.loads(pickle.dumps(begin(tmp_path)))
    parts = pickle.loads(pickle.dumps(attempt(job, 0, [1])))
    pickle.loads(pickle.dumps(job)).commit([parts])
    assert rows(tmp_path) == [1]


def test_the_same_records_give_the_same_files(tmp_path):
    for name in ("a", "b"):
        run(tmp_path / name, range(1000), range(2000), max_records=300)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert len(files(tmp_path / "a")) > 10
    for path in files(tmp_path / "a"):
        assert (tmp_path / "a" / path).read_bytes() == (
            tmp_path / "b" / path
        ).read_bytes()


def test_nothing_is_seen_before_the_commit_and_nothing_is_left_after(tmp_path):
    run(tmp_path, ["old"])
    job = begin(tmp_path, overwrite=True)
    parts = attempt(job, 0, ["new"])
    assert rows(tmp_path) == ["old"]
    # Another writer can commit meanwhile, and ignores the staged parts.
    with headrace.ShardWriter(tmp_path) as writer:
        writer.write("between")
    assert rows(tmp_path) == ["between"]
    job.commit([parts])
    assert rows(tmp_path) == ["new"]
    job.close()
    assert {path.name for path in tmp_path.glob(".*")} <= {".rows.superseded"}


@pytest.mark.parametrize("made", [False, True])
def test_a_job_that_fails_leaves_nothing(tmp_path, made):
    directory = tmp_path / "deep" / "out"
    if made:
        directory.mkdir(parents=True)
    job = begin(directory)
    attempt(job, 0, [1])
    attempt(job, 0, [1])
    job.close()
    assert directory.exists() == made
    assert list(tmp_path.rglob("*")) == ([tmp_path / "deep", directory] if made else [])


def test_an_attempt_that_fails_removes_only_its_own_parts(tmp_path):
    job = begin(tmp_path, max_records=1)
    parts = attempt(job, 0, [1, 2])

    def records():
        yield from range(5)
        raise RuntimeError("the task fails")

    with pytest.raises(RuntimeError, match="the task fails"):
        attempt(job, 0, records())
    assert len(list(job.home.staging.iterdir())) == 1
    job.commit([parts])
    assert rows(tmp_path) == [1, 2]


def test_parts_of_other_attempts_are_not_committed(tmp_path):
    job = begin(tmp_path)
    attempt(job, 0, ["loser"])
    parts = attempt(job, 0, ["winner"])
    attempt(job, 0, ["speculative"])
    job.commit([parts])
    job.close()
    assert rows(tmp_path) == ["winner"]
    assert len(files(tmp_path)) == 3


def test_an_attempt_after_the_end_of_its_job_writes_nothing(tmp_path):
    job = begin(tmp_path)
    job.commit([attempt(job, 0, [1])])
    job.close()
    before = files(tmp_path)
    with pytest.raises(
        UnwritableError, match=r"the job is over, or the directory is not"
    ):
        attempt(job, 0, [2])
    assert files(tmp_path) == before


def test_append_keeps_the_old_parts(tmp_path):
    first = run(tmp_path, [1, 2])
    second = run(tmp_path, [3], block_bytes="1MiB")
    assert second.parts[: len(first.parts)] == first.parts
    assert rows(tmp_path) == [1, 2, 3]
    assert second.compression.block_bytes == 1 << 20
    run(tmp_path, [])
    assert rows(tmp_path) == [1, 2, 3]
    assert is_sound(tmp_path)


def test_parts_of_superseded_generations_stay_while_they_are_named(tmp_path):
    for number in range(4):
        run(tmp_path, [number])
    assert headrace.ShardSet(tmp_path).vacuum(grace=0) == [1, 2, 3]
    assert rows(tmp_path) == [0, 1, 2, 3]
    run(tmp_path, ["new"], overwrite=True)
    headrace.ShardSet(tmp_path).vacuum(grace=0)
    assert rows(tmp_path) == ["new"]
    assert len(files(tmp_path)) == 3


def test_metadata_has_the_limits_that_all_parts_obey(tmp_path):
    run(tmp_path, [1, 2, 3], max_records=2)
    assert run(tmp_path, [4, 5, 6], max_records=3).limits.max_records == 3
    assert run(tmp_path, [7]).limits.max_records is None


def test_an_empty_job_makes_an_empty_set(tmp_path):
    assert run(tmp_path).parts == ()
    assert run(tmp_path, [], []).parts == ()
    assert rows(tmp_path) == []
    assert not is_empty_directory_left(tmp_path)


def is_empty_directory_left(directory):
    return any(path.is_dir() for path in directory.iterdir())


def test_partitions(tmp_path):
    records = [{"k": "b/c", "n": 1}, {"k": None, "n": 2}, {"k": "a", "n": 3}]
    more = [{"k": "a", "n": 4}, {"n": 5}]
    metadata = run(tmp_path, records, more, partition_by="k")
    assert [(part.partition, part.records) for part in metadata.parts] == [
        (("k", None), 1),
        (("k", None), 1),
        (("k", "a"), 1),
        (("k", "a"), 1),
        (("k", "b/c"), 1),
    ]
    assert [row["n"] for row in rows(tmp_path)] == [2, 5, 3, 4, 1]
    run(tmp_path, [{"k": "a", "n": 6}], partition_by="k")
    assert [row["n"] for row in rows(tmp_path)] == [2, 5, 3, 4, 1, 6]
    assert is_sound(tmp_path)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"codec": "gzip"}, "its parts are zstd, gzip cannot be appended"),
        ({"partition_by": "k"}, "is not partitioned; append with the same options"),
    ],
)
def test_an_append_with_other_options_is_refused(tmp_path, how, message):
    run(tmp_path, [{"k": 1}])
    before = files(tmp_path)
    with pytest.raises(UsageError, match=message):
        run(tmp_path, [{"k": 1}], **how)
    assert files(tmp_path) == before
    run(tmp_path, [{"k": 2}], overwrite=True, **how)
    assert rows(tmp_path) == [{"k": 2}]


def test_an_append_to_a_set_replaced_meanwhile_is_refused(tmp_path):
    job = begin(tmp_path)
    parts = attempt(job, 0, [1])
    run(tmp_path, [2], codec="gzip")
    before = files(tmp_path)
    with pytest.raises(UsageError, match="its parts are gzip"):
        job.commit([parts])
    assert files(tmp_path) == before
    assert rows(tmp_path) == [2]


def test_a_replaced_generation_stays_for_its_readers(tmp_path):
    run(tmp_path, [1, 2])
    first, second = headrace.open(tmp_path), headrace.open(tmp_path)
    run(tmp_path, [3], overwrite=True, grace=3600)
    assert list(first) == [1, 2]
    run(tmp_path, [4], overwrite=True, grace=0)
    with pytest.raises(SourceChangedError, match="the set was replaced"):
        list(second)


def test_foreign_directories_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="has files in it, but no set"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_damaged_set_can_only_be_overwritten(tmp_path):
    run(tmp_path, [1])
    meta = next(tmp_path.glob("*.json"))
    meta.write_bytes(meta.read_bytes().replace(b'"records": 1', b'"records": 2'))
    with pytest.raises(BadSetError, match="checksum"):
        begin(tmp_path)
    run(tmp_path, [2], overwrite=True)
    assert rows(tmp_path) == [2]


# The same job again


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_job_that_is_in_the_set_is_not_run_again(tmp_path, overwrite):
    run(tmp_path, [1], job_id="a", overwrite=overwrite)
    run(tmp_path, [2], job_id="b")
    run(tmp_path, [3])
    before = files(tmp_path)
    again = begin(tmp_path, job_id="a", overwrite=overwrite)
    assert again.done
    # Also if it began before the other was committed.
    assert again.commit([attempt(again, 0, [1])]).generation == 3
    again.close()
    assert files(tmp_path) == before
    assert headrace.ShardSet(tmp_path).metadata.run == {
        "jobId": "b",
        "jobIds": ["a", "b"],
    }
    run(tmp_path, [4], job_id="c", overwrite=True)
    assert not begin(tmp_path, job_id="a").done


def test_a_driver_that_fails_after_the_commit_has_committed(tmp_path, monkeypatch):
    job = begin(tmp_path, job_id="a")
    parts = attempt(job, 0, [1])

    def fail(*_arguments):
        raise OSError(5, "the disk is gone")

    monkeypatch.setattr(local, "remove_superseded", fail)
    publish = Generation._publish

    def published(*arguments):
        publish(*arguments)
        raise OSError(5, "the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Generation, "_publish", published)
        with pytest.raises(UnwritableError, match="the disk is gone"):
            job.commit([parts])
    job.close()
    assert rows(tmp_path) == [1]
    assert begin(tmp_path, job_id="a").done


def test_a_driver_that_fails_before_the_commit_leaves_nothing(tmp_path, monkeypatch):
    run(tmp_path, ["old"])
    before = files(tmp_path)
    job = begin(tmp_path, job_id="a")
    parts = attempt(job, 0, [1])

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Generation, "_publish", fail)
        with pytest.raises(UnwritableError, match="the set that was there is intact"):
            job.commit([parts])
    assert rows(tmp_path) == ["old"]
    # The staged parts are still whole, so the commit can be repeated.
    job.commit([parts])
    job.close()
    assert rows(tmp_path) == ["old", 1]
    assert set(before) < set(files(tmp_path))


# Several at once


def test_a_job_waits_for_another_writer(tmp_path, monkeypatch):
    job = begin(tmp_path)
    parts = attempt(job, 0, [1])
    writer = headrace.ShardWriter(tmp_path)
    writer.write("local")
    with monkeypatch.context() as patched:
        patched.setattr(jobs, "PATIENCE", 0.0)
        with pytest.raises(SetLockedError, match="is writing this set"):
            job.commit([parts])
    waiting = threading.Thread(target=job.commit, args=([parts],))
    waiting.start()
    time.sleep(0.05)
    writer.close()
    waiting.join()
    assert rows(tmp_path) == ["local", 1]


def test_a_concurrent_commit_without_a_lock_is_kept(tmp_path, monkeypatch):
    other = begin(tmp_path)
    others = attempt(other, 0, ["other"])
    job = begin(tmp_path)
    parts = attempt(job, 0, ["ours"])
    publish, lock = Generation._publish, []

    def after_the_other(self, meta, content):
        if not lock:
            lock.append(self)
            # As on a file system whose locks do not reach other machines.
            self.names.lock.unlink()
            assert other.commit([others]).generation == 2
        publish(self, meta, content)

    # The set has a first generation, which the other job then finds.
    run(tmp_path, [])
    monkeypatch.setattr(Generation, "_publish", after_the_other)
    metadata = job.commit([parts])
    assert metadata.generation in (2, 3)
    assert sorted(rows(tmp_path)) == ["other", "ours"]
    assert is_sound(tmp_path)


@pytest.mark.parametrize("overwrite", [False, True])
def test_many_jobs_at_once(tmp_path, overwrite):
    check_many_at_once(tmp_path, overwrite=overwrite)
    assert {path.name for path in tmp_path.glob(".*")} <= {".rows.superseded"}


# Leftovers of dead drivers


def test_leftovers_of_a_dead_driver_are_removed_by_age(tmp_path):
    run(tmp_path, [1])
    live, dead = begin(tmp_path), begin(tmp_path)
    parts = attempt(live, 0, [2])
    attempt(dead, 0, [3])
    attempt(dead, 1, [4])
    long_ago = time.time() - local.ORPHAN_AGE - 1
    for path in [*dead.home.staging.rglob("*"), dead.home.staging, live.home.staging]:
        os.utime(path, (long_ago, long_ago))
    headrace.ShardSet(tmp_path).vacuum()
    assert not dead.home.staging.exists()
    live.commit([parts])
    assert rows(tmp_path) == [1, 2]


def test_leftovers_of_a_killed_commit_are_removed_by_the_next(tmp_path):
    job = begin(tmp_path)
    parts = attempt(job, 0, [1])
    # As if the driver was killed after it had moved the parts.
    generation = job.home.generation()
    generation.take(parts)
    assert files(tmp_path)
    generation._lock.forget()
    generation._lock = None
    run(tmp_path, [2])
    assert rows(tmp_path) == [2]
    assert len([path for path in files(tmp_path) if path.startswith("rows.")]) == 3
    assert generation.names.committed() == [1]


def test_a_part_that_differs_from_the_report_of_its_task_is_refused(tmp_path):
    job = begin(tmp_path)
    parts = attempt(job, 0, [1])
    (job.home.staging / parts[0].path).write_bytes(b"")
    with pytest.raises(UnwritableError, match="its task wrote"):
        job.commit([parts])
    (job.home.staging / parts[0].path).unlink()
    with pytest.raises(UnwritableError, match="No such file"):
        job.commit([parts])
    job.close()
    assert not files(tmp_path)
