"""Jobs that write to an object store: uploads, commits and leftovers."""

import multiprocessing
import os
import pickle
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fsspec")

import headrace
from headrace.errors import (
    BadSetError,
    SetLockedError,
    SourceNotFoundError,
    StreamNotContinuedError,
    UncertainCommitError,
    UnwritableError,
    UsageError,
)
from headrace.store.shards.job import job as jobs
from headrace.store.shards.job import object_store
from headrace.store.shards.job.job import Batch
from headrace.store.shards.job.object_store import RemoteHome
from tests.reference.shard_jobs import (
    attempt,
    begin,
    check_many_at_once,
    commit_some,
    is_sound,
    rows,
    run,
)
from tests.stores.shelf import Shelf, shelf, stored


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory, monkeypatch):
    """The directory where attempts write before they upload; it must be empty at the end."""
    directory = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    assert list(directory.iterdir()) == []


@pytest.fixture
def bucket(tmp_path):
    return tmp_path / "bucket"


@pytest.fixture
def url(bucket):
    return shelf(bucket)


def named(url):
    """Return the files that the newest generation of the set names."""
    metadata = headrace.ShardSet(url).metadata
    meta = f"rows.meta-{metadata.generation:08}.json"
    return {meta, *(part.path for part in metadata.parts)}


@pytest.mark.parametrize("codec", ["zstd", "gzip", "none"])
@pytest.mark.parametrize("partition_by", [None, "k"])
def test_a_set_in_a_store_equals_one_on_a_file_system(tmp_path, url, bucket, codec, partition_by):  # fmt: skip
    tasks = [[{"k": n % 3, "n": n} for n in range(first, first + 100)] for first in (0, 100, 200)]  # fmt: skip
    more = {"codec": codec, "partition_by": partition_by, "max_records": 30}
    here = run(tmp_path / "here", *tasks, **more)
    there = run(url, *tasks, **more)
    contents = [
        [(root / part.path).read_bytes() for part in metadata.parts]
        for root, metadata in ((tmp_path / "here", here), (bucket, there))
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) > 9
    assert [replace(part, path="") for part in there.parts] == [
        replace(part, path="") for part in here.parts
    ]
    assert rows(url) == rows(f"{url}/") == rows(tmp_path / "here")
    assert list(headrace.ShardSet(url).records()) == rows(url)
    assert is_sound(url)
    assert stored(bucket) == named(url)


def test_a_job_and_its_parts_can_be_pickled(url):
    job = pickle.loads(pickle.dumps(begin(url)))
    parts = pickle.loads(pickle.dumps(attempt(job, 0, [1])))
    pickle.loads(pickle.dumps(job)).commit([parts])
    assert rows(url) == [1]


def test_nothing_is_seen_before_the_commit(url):
    run(url, ["old"])
    job = begin(url, overwrite=True)
    parts = attempt(job, 0, ["new"])
    assert rows(url) == ["old"]
    job.commit([parts])
    assert rows(url) == ["new"]


def test_names_of_sets(url, bucket):
    with pytest.raises(SourceNotFoundError):
        headrace.ShardSet(f"{url}/nothing")
    (bucket / "else").mkdir(parents=True)
    (bucket / "else" / "notes.txt").write_text("mine")
    with pytest.raises(BadSetError, match="no set was ever committed"):
        headrace.ShardSet(f"{url}/else")
    first = run(url, [1])
    run(url, [2])
    for name in (url, f"{url}/", f"{url}/rows", f"{url}/rows/"):
        assert headrace.ShardSet(name).metadata.generation == 2
        assert rows(name) == [1, 2]
    assert headrace.ShardSet(url, "rows").path == f"{url}/rows"
    meta = f"{url}/rows.meta-{first.generation:08}.json"
    assert rows(meta) == [1]
    with pytest.raises(SourceNotFoundError):
        headrace.open(f"{url}/*.gz")
    with pytest.raises(UsageError, match="is in an object store"):
        _directory = headrace.ShardSet(url).directory


def test_append_keeps_the_old_parts(url, bucket):
    first = run(url, [1, 2])
    second = run(url, [3])
    assert second.parts[: len(first.parts)] == first.parts
    run(url, [])
    assert rows(url) == [1, 2, 3]
    assert named(url) < stored(bucket)


def test_an_empty_job_makes_an_empty_set(url, bucket):
    assert run(url).parts == run(url, [], []).parts == ()
    assert rows(url) == []
    assert stored(bucket) == {"rows.meta-00000001.json", "rows.meta-00000002.json"}


def test_an_attempt_that_fails_leaves_nothing(url, bucket):
    job = begin(url, max_records=1)
    parts = attempt(job, 0, [1, 2])

    def records():
        yield from range(5)
        raise RuntimeError("the task fails")

    before = stored(bucket)
    with pytest.raises(RuntimeError, match="the task fails"):
        attempt(job, 0, records())
    assert stored(bucket) == before
    job.commit([parts])
    assert rows(url) == [1, 2]


def test_a_job_that_fails_leaves_nothing(url, bucket):
    run(url, ["old"])
    before = stored(bucket)
    job = begin(url)
    parts = [*attempt(job, 0, [1]), *attempt(job, 1, [2])]
    assert stored(bucket) > before
    job.drop(parts)
    job.close()
    assert stored(bucket) == before
    assert rows(url) == ["old"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"codec": "gzip"}, "its parts are zstd, gzip cannot be appended"),
        ({"partition_by": "k"}, "is not partitioned; append with the same options"),
    ],
)
def test_an_append_with_other_options_is_refused(url, bucket, how, message):
    late = begin(url, **how)
    parts = attempt(late, 0, [{"k": 2}])
    run(url, [{"k": 1}])
    with pytest.raises(UsageError, match=message):
        begin(url, **how)
    # Also if the set changed meanwhile.
    with pytest.raises(UsageError, match=message):
        late.commit([parts])
    assert stored(bucket) == named(url)
    run(url, [{"k": 2}], overwrite=True, **how)
    assert rows(url) == [{"k": 2}]


# Once and no more


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_job_that_is_in_the_set_is_not_run_again(url, bucket, overwrite):
    late = begin(url, job_id="a", overwrite=overwrite)
    parts = attempt(late, 0, [1])
    run(url, [1], job_id="a", overwrite=overwrite)
    run(url, [2], job_id="b")
    before = stored(bucket) - {part.path for part in parts}
    assert begin(url, job_id="a", overwrite=overwrite).done
    # Also if it began before the other was committed.
    assert late.commit([parts]).generation == 2
    assert rows(url) == [1, 2]
    assert stored(bucket) == before


def test_a_batch_is_written_once(url, bucket):
    def write(number, query="q"):
        job = begin(url, token="0" * 16)
        parts = attempt(job, 0, [number])
        return job.commit([parts], batch=Batch("default", query, number))

    for number in (0, 1, 1, 0, 2):
        write(number)
    assert rows(url) == [0, 1, 2]
    before = stored(bucket)
    assert {name for name in before if "part-" in name} == named(url) - {
        "rows.meta-00000003.json"
    }
    for number, query in ((4, "q"), (3, "another")):
        with pytest.raises(StreamNotContinuedError):
            write(number, query)
    assert stored(bucket) == before


# Several at once


def test_a_concurrent_commit_is_kept(url, monkeypatch):
    run(url, [])
    other, job = begin(url), begin(url)
    others, parts = attempt(other, 0, ["other"]), attempt(job, 0, ["ours"])
    create = Shelf.pipe_file

    def late(self, path, value, mode="overwrite", **more):
        monkeypatch.setattr(Shelf, "pipe_file", create)
        assert other.commit([others]).generation == 2
        create(self, path, value, mode, **more)

    monkeypatch.setattr(Shelf, "pipe_file", late)
    assert job.commit([parts]).generation == 3
    assert rows(url) == ["other", "ours"]
    assert is_sound(url)


def test_a_commit_that_always_loses_the_race_is_an_error(url, bucket, monkeypatch):
    job = begin(url)
    parts = attempt(job, 0, [1])

    def faster(self, path, value, mode="overwrite", **_more):
        content = value.replace(parts[0].digest.encode(), b"xxh3:0123456789abcdef")
        self._put(Path(path), content, new=True)
        raise FileExistsError(path)

    monkeypatch.setattr(Shelf, "pipe_file", faster)
    monkeypatch.setattr(jobs, "PATIENCE", 0.0)
    with pytest.raises(SetLockedError, match="has committed generation 1"):
        job.commit([parts])
    assert stored(bucket) == {"rows.meta-00000001.json"}


@pytest.mark.parametrize("ours_came_first", [False, True])
def test_a_generation_that_is_superseded_and_removed_is_settled(
    url, monkeypatch, ours_came_first
):
    run(url, [])
    job = begin(url)
    parts = attempt(job, 0, ["ours"])
    create = Shelf.pipe_file

    def late(self, path, value, mode="overwrite", **more):
        monkeypatch.setattr(Shelf, "pipe_file", create)
        if ours_came_first:
            create(self, path, value, mode, **more)
        else:
            run(url, ["first"])
        run(url, ["then"])
        headrace.ShardSet(url).vacuum(grace=0)
        raise FileExistsError(path)

    monkeypatch.setattr(Shelf, "pipe_file", late)
    job.commit([parts])
    assert rows(url) == (
        ["ours", "then"] if ours_came_first else ["first", "then", "ours"]
    )
    assert is_sound(url)


@pytest.mark.parametrize("overwrite", [False, True])
def test_many_jobs_at_once(url, overwrite):
    check_many_at_once(url, overwrite=overwrite)


def test_vacuum_takes_nothing_from_jobs_that_commit(url):
    context = multiprocessing.get_context("fork")
    several = [
        context.Process(target=commit_some, args=(url, number, False))
        for number in range(3)
    ]
    run(url, [])
    for each in several:
        each.start()
    removed = []
    while any(each.is_alive() for each in several):
        removed += headrace.ShardSet(url).vacuum(grace=0)
    for each in several:
        each.join()
        assert each.exitcode == 0
    removed += headrace.ShardSet(url).vacuum(grace=0)
    assert removed == list(range(1, 10))
    assert len(rows(url)) == 90
    assert len({tuple(row) for row in rows(url)}) == 9
    assert is_sound(url)


def test_an_overwrite_does_not_disturb_readers(url):
    run(url, list(range(1000)), list(range(1000)), max_records=100)
    reader = iter(headrace.open(url))
    first = [next(reader) for _ in range(10)]
    run(url, ["new"], overwrite=True)
    headrace.ShardSet(url).vacuum()
    assert first + list(reader) == [*range(1000), *range(1000)]
    assert rows(url) == ["new"]


# Faults of stores


def test_a_store_with_another_error_for_an_existing_file(url, monkeypatch):
    put = Shelf._put

    def refuse(self, path, value, *, new):
        try:
            put(self, path, value, new=new)
        except FileExistsError:
            raise OSError(
                22, "At least one of the pre-conditions did not hold"
            ) from None

    monkeypatch.setattr(Shelf, "_put", refuse)
    run(url, [1])
    first, second = begin(url), begin(url)
    parts = [attempt(first, 0, [2]), attempt(second, 0, [3])]
    number = second.home.generation().number
    first.commit([parts[0]])
    generation, seen = RemoteHome.generation, []

    def stale(home):
        made = generation(home)
        if not seen:
            made.number = number
        seen.append(made.number)
        return made

    monkeypatch.setattr(RemoteHome, "generation", stale)
    assert second.commit([parts[1]]).generation == 3
    assert seen == [2, 3]
    assert rows(url) == [1, 2, 3]


def failing(monkeypatch, error, *, after=False, times=1):
    """Make the store fail when metadata is created; with `after`, after creating it."""
    create, left = Shelf.pipe_file, [times]

    def fail(self, path, value, mode="overwrite", **more):
        if ".meta-" not in path or not left[0]:
            return create(self, path, value, mode, **more)
        left[0] -= 1
        if after:
            create(self, path, value, mode, **more)
        raise error

    monkeypatch.setattr(Shelf, "pipe_file", fail)


@pytest.mark.parametrize("error", [FileExistsError(), TimeoutError("no answer")])
def test_a_commit_whose_answer_was_lost_is_committed(url, monkeypatch, error):
    run(url, [0])
    job = begin(url)
    parts = attempt(job, 0, [1])
    failing(monkeypatch, error, after=True)
    monkeypatch.setattr(object_store, "_PAUSES", (0.0, 0.0))
    assert job.commit([parts]).generation == 2
    assert rows(url) == [0, 1]


def test_a_request_without_an_answer_is_repeated(url, monkeypatch):
    job = begin(url)
    parts = attempt(job, 0, [1])
    failing(monkeypatch, TimeoutError("no answer"), times=2)
    monkeypatch.setattr(object_store, "_PAUSES", (0.0, 0.0, 0.0))
    assert job.commit([parts]).generation == 1
    assert rows(url) == [1]


def test_an_uncertain_commit_keeps_its_parts(url, bucket, monkeypatch):
    job = begin(url, job_id="a")
    parts = attempt(job, 0, [1])
    failing(monkeypatch, TimeoutError("no answer"), times=3)
    monkeypatch.setattr(object_store, "_PAUSES", (0.0, 0.0, 0.0))
    with pytest.raises(UncertainCommitError, match=r"no answer.*run the job again"):
        job.commit([parts])
    assert stored(bucket) == {parts[0].path}
    # The error must survive pickling, since it comes from other processes.
    error = pickle.loads(pickle.dumps(UncertainCommitError("a", "b", "c")))
    assert str(error) == "a: cannot be written: b; c"


def test_a_commit_that_is_refused_leaves_nothing(url, bucket, monkeypatch):
    job = begin(url)
    parts = attempt(job, 0, [1])
    failing(monkeypatch, PermissionError("Access Denied"))
    with pytest.raises(UnwritableError, match=r"Access Denied \(these credentials"):
        job.commit([parts])
    assert stored(bucket) == set()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError("Access Denied"), "these credentials may not"),
        (
            FileNotFoundError("The specified bucket does not exist"),
            "is there such a bucket",
        ),
        (
            TypeError("unexpected keyword argument 'mode'"),
            "a newer version of the package",
        ),
        (RuntimeError("Unable to locate credentials"), "Unable to locate credentials"),
    ],
)
def test_a_read_only_store_is_refused_before_tasks_begin(url, monkeypatch, error, message):  # fmt: skip
    def refuse(*_arguments, **_more):
        raise error

    monkeypatch.setattr(Shelf, "pipe_file", refuse)
    with pytest.raises(UnwritableError, match=message):
        begin(url)


def test_a_store_that_only_overwrites_is_refused(url, bucket, monkeypatch):
    create = Shelf.pipe_file

    def overwrite(self, path, value, mode="overwrite", **more):
        create(self, path, value, **more)

    monkeypatch.setattr(Shelf, "pipe_file", overwrite)
    with pytest.raises(UnwritableError, match="cannot create a file only if"):
        begin(url)
    assert list(bucket.iterdir()) == []


def test_an_upload_that_is_cut_off_fails_its_task(url, bucket, monkeypatch):
    job = begin(url)

    def cut(self, lpath, rpath, **_more):
        self.pipe_file(rpath, Path(lpath).read_bytes()[:-1])

    monkeypatch.setattr(Shelf, "put_file", cut)
    with pytest.raises(UnwritableError, match="bytes were sent, but"):
        attempt(job, 0, [1])
    assert stored(bucket) == set()


def test_a_part_that_differs_from_the_report_of_its_task_is_refused(url, bucket):
    job = begin(url)
    parts = attempt(job, 0, [1])
    (bucket / parts[0].path).write_bytes(b"")
    with pytest.raises(UnwritableError, match=r"its task wrote .* but 0 is there"):
        job.commit([parts])
    with pytest.raises(
        UnwritableError, match=r"its task wrote .* but nothing is there"
    ):
        job.commit([parts])
    assert stored(bucket) == set()


# Leftovers of dead drivers


def aged(bucket, names, seconds):
    for name in names:
        long_ago = time.time() - seconds
        os.utime(bucket / name, (long_ago, long_ago))


def test_leftovers_of_a_dead_driver_are_removed_by_age(url, bucket):
    run(url, ["old"])
    dead, live = begin(url), begin(url)
    left = {part.path for part in attempt(dead, 0, ["dead"])}
    parts = attempt(live, 0, ["live"])
    assert headrace.ShardSet(url).vacuum(grace=0) == []
    assert left < stored(bucket)
    old = headrace.ShardSet(url).metadata.parts[0].path
    aged(bucket, {*left, old}, object_store.ORPHAN_AGE + 1)
    headrace.ShardSet(url).vacuum(grace=0)
    assert not left & stored(bucket)
    live.commit([parts])
    assert rows(url) == ["old", "live"]
    assert is_sound(url)


def test_a_job_that_took_a_week_is_refused(url, bucket):
    job = begin(url)
    parts = attempt(job, 0, [1])
    week = object_store.ORPHAN_AGE
    slow = replace(job, home=replace(job.home, since=job.home.since - week))
    with pytest.raises(UnwritableError, match="its job began six days ago"):
        slow.commit([parts])
    assert stored(bucket) == set()


def test_superseded_generations_are_removed(url, bucket):
    for number in range(3):
        run(url, [number])
    run(url, ["new"], overwrite=True)
    run(url, ["newer"])
    before = stored(bucket)
    assert headrace.ShardSet(url).vacuum() == []
    assert stored(bucket) == before
    aged(bucket, [f"rows.meta-0000000{n}.json" for n in range(1, 6)], 3600)
    assert headrace.ShardSet(url).vacuum() == [1, 2, 3, 4]
    assert rows(url) == ["new", "newer"]
    # Their names stay taken, so that no late writer commits these generations again.
    blank = {f"rows.meta-0000000{n}.json" for n in range(1, 5)}
    assert stored(bucket) == named(url) | blank
    assert {(bucket / name).read_bytes() for name in blank} == {b"\n"}
    with pytest.raises(BadSetError, match="no set was ever committed"):
        headrace.open(f"{url}/rows.meta-00000001.json")
    aged(bucket, blank, object_store.DAY + 1)
    assert headrace.ShardSet(url).vacuum() == []
    assert stored(bucket) == named(url)
    assert run(url, ["last"]).generation == 6


def test_vacuum_with_damaged_metadata_removes_nothing(url, bucket):
    run(url, [1])
    shards = headrace.ShardSet(url)
    run(url, [2], overwrite=True)
    meta = bucket / "rows.meta-00000002.json"
    meta.write_bytes(meta.read_bytes().replace(b'"records": 1', b'"records": 2'))
    before = stored(bucket)
    with pytest.raises(BadSetError, match="checksum"):
        shards.vacuum(grace=0)
    assert stored(bucket) == before
    with pytest.raises(BadSetError, match="checksum"):
        begin(url)
    run(url, [3], overwrite=True)
    assert rows(url) == [3]
    headrace.ShardSet(url).vacuum(grace=0)
    assert rows(url) == [3]
