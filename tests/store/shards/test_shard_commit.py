"""Commits of sets: visibility, the lock, failures, leftovers, old generations."""

import errno
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

import headrace
from headrace.errors import BadSetError, SetLockedError, UnwritableError, UsageError
from headrace.store.shards.local_set import LocalSet


def write(directory, records, **options):
    with headrace.ShardWriter(directory, **options) as writer:
        writer.write_many(records)
    return writer.close()


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_a_new_set_replaces_the_old_when_it_is_whole(tmp_path):
    write(tmp_path, [1])
    with headrace.ShardWriter(tmp_path, codec="none", max_bytes=20) as writer:
        writer.write_many(range(100))
        assert writer.bytes_written > 100
        assert list(headrace.open(tmp_path)) == [1]
    assert list(headrace.open(tmp_path)) == list(range(100))
    assert headrace.ShardSet(tmp_path).metadata.generation == 2
    # Readers of the old generation have some minutes to finish.
    assert list(headrace.open(tmp_path / "rows.meta-00000001.json")) == [1]


@pytest.mark.parametrize(
    "error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit]
)
@pytest.mark.parametrize("partition_by", [None, "k"])
def test_a_failure_leaves_the_old_set_and_nothing_else(tmp_path, error, partition_by):
    write(tmp_path, [1])
    before = names(tmp_path)

    def fail():
        with headrace.ShardWriter(
            tmp_path, codec="none", max_bytes=20, partition_by=partition_by
        ) as writer:
            writer.write_many({"k": i % 3} for i in range(100))
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == before
    assert list(headrace.open(tmp_path)) == [1]


def test_a_failure_takes_back_the_directories_that_were_made(tmp_path):
    def fail():
        with headrace.ShardWriter(tmp_path / "a" / "b" / "c") as writer:
            writer.write(1)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011, it is ours
        fail()
    assert names(tmp_path) == []
    (tmp_path / "a").mkdir()
    with pytest.raises(ValueError):  # noqa: PT011, it is ours
        fail()
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == []


def test_a_failing_source_of_records_aborts(tmp_path):
    def records():
        yield 1
        raise RuntimeError

    with pytest.raises(RuntimeError), headrace.ShardWriter(tmp_path) as writer:
        writer.write_many(records())
    assert names(tmp_path) == []


def test_only_one_writer_at_a_time(tmp_path):
    with headrace.ShardWriter(tmp_path) as writer:
        with pytest.raises(
            SetLockedError, match=f"process {os.getpid()} on "
        ) as raised:
            headrace.ShardWriter(tmp_path)
        assert "another name" in str(raised.value)
        assert "rows" in str(raised.value)
        with pytest.raises(SetLockedError):
            headrace.ShardSet.vacuum(_set(tmp_path))
        write(tmp_path, [2], name="other")
        writer.write(1)
    assert list(headrace.open(tmp_path / "rows")) == [1]
    assert list(headrace.open(tmp_path / "other")) == [2]
    assert not [name for name in names(tmp_path) if name.startswith(".")]
    write(tmp_path, [3])


def _set(directory):
    write(directory, [], name="for-vacuum")
    shards = headrace.ShardSet(directory, "for-vacuum")
    shards._where = LocalSet(directory, "rows")
    return shards


def test_the_other_writer_may_be_another_process(tmp_path):
    code = """
import sys, headrace
writer = headrace.ShardWriter(sys.argv[1])
writer.write(1)
print("ready", flush=True)
sys.stdin.read()
writer.close()
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        child.stdout.readline()
        with pytest.raises(SetLockedError, match=f"process {child.pid} on "):
            headrace.ShardWriter(tmp_path)
        child.stdin.close()
    assert list(headrace.open(tmp_path)) == [1]


def test_a_lock_file_without_a_writer_is_ignored(tmp_path):
    (tmp_path / ".rows.lock").write_text("process 1 on mars")
    write(tmp_path, [1])
    assert names(tmp_path) == ["rows.meta-00000001.json", "rows.parts-00000001"]


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    (out / ".rows.lock").symlink_to(victim)
    with pytest.raises(UnwritableError, match=r"\.rows\.lock"):
        headrace.ShardWriter(out)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "entries",
    [
        ["notes.txt"],
        ["data.jsonl"],
        [".hidden"],
        ["notes.txt", ".rows.lock"],
        ["manifest.json", "LOCK"],
        ["manifest.json", "LOCK", "rows.meta-00000001.json"],
    ],
)
def test_a_foreign_directory_is_refused(tmp_path, entries):
    for entry in entries:
        (tmp_path / entry).touch()
    with pytest.raises(UsageError, match="directory"):
        headrace.ShardWriter(tmp_path)
    assert names(tmp_path) == sorted(entries)


def test_a_file_in_place_of_the_directory_is_refused(tmp_path):
    path = tmp_path / "file"
    path.touch()
    for target in (path, path / "below"):
        with pytest.raises(UsageError, match="not a directory"):
            headrace.ShardWriter(target)
    assert names(tmp_path) == ["file"]


def test_files_beside_a_set_are_left_alone(tmp_path):
    write(tmp_path, [1])
    others = [
        "README.md",
        "rows.parts-1",
        "rows.parts-0000000x",
        "rowsX.parts-00000009",
        ".rows.meta-00000002.json.tmp-1-zz",
        ".rows.meta-00000002.json.tmp-12-0123abcd.bak",
    ]
    for name in others:
        (tmp_path / name).touch()
    write(tmp_path, [2])
    assert set(others) <= set(names(tmp_path))


def test_leftovers_of_dead_writers_are_removed_by_the_next(tmp_path):
    write(tmp_path, [1])
    dead = tmp_path / "rows.parts-00000002"
    (dead / "k=v").mkdir(parents=True)
    litter = [
        dead / "part-00000000.jsonl.zst",
        dead / "part-00000000.jsonl.zst.ckpt",
        dead / ".part-00000001.jsonl.zst.tmp-77-0123abcd",
        dead / ".part-00000000.jsonl.zst.ckpt.tmp-77-0123abcd",
        dead / "k=v" / "part-00000000.jsonl",
        tmp_path / ".rows.meta-00000002.json.tmp-77-0123abcd",
        tmp_path / ".rows.lock",
        tmp_path
        / "rows.meta-00000003.json",  # it is incomplete, so it was never committed
    ]
    for path in litter:
        path.touch()
    other = tmp_path / ".other.meta-00000002.json.tmp-77-0123abcd"
    other.touch()
    assert list(headrace.open(tmp_path / "rows")) == [1]
    write(tmp_path, [2])
    assert not [path for path in litter if path.exists() and path.stat().st_size == 0]
    assert other.exists()
    assert list(headrace.open(tmp_path / "rows")) == [2]
    assert names(tmp_path) == [
        other.name,
        ".rows.superseded",
        "rows.meta-00000001.json",
        "rows.meta-00000002.json",
        "rows.parts-00000002",
    ]


def test_a_stranger_in_a_dead_directory_stays(tmp_path):
    dead = tmp_path / "rows.parts-00000001"
    dead.mkdir()
    (dead / "thesis.txt").write_text("precious")
    (dead / "part-00000000.jsonl").touch()
    (dead / "part-00000001.jsonl").symlink_to(dead / "thesis.txt")
    (dead / "k=v").symlink_to(tmp_path)
    write(tmp_path, [1])
    assert names(dead) == ["k=v", "thesis.txt"]
    assert (dead / "thesis.txt").read_text() == "precious"
    assert headrace.ShardSet(tmp_path).metadata.generation == 2


def test_old_generations_are_removed_after_their_grace(tmp_path):
    for number in range(3):
        write(tmp_path, [number])
    shards = headrace.ShardSet(tmp_path)
    assert shards.vacuum() == []
    long_ago = time.time() - 1000
    os.utime(tmp_path / "rows.meta-00000002.json", (long_ago, long_ago))
    assert shards.vacuum() == [1]
    assert names(tmp_path) == [
        ".rows.superseded",
        "rows.meta-00000002.json",
        "rows.meta-00000003.json",
        "rows.parts-00000003",
    ]
    os.utime(tmp_path / "rows.meta-00000003.json", (long_ago, long_ago))
    write(tmp_path, [3])  # which looks for leftovers as well
    assert names(tmp_path)[1] == "rows.meta-00000003.json"
    assert shards.vacuum(grace=0) == [3]
    assert names(tmp_path) == ["rows.meta-00000004.json", "rows.parts-00000004"]
    assert list(headrace.open(tmp_path)) == [3]


def test_parts_that_a_newer_generation_names_stay(tmp_path):
    from headrace.store.shards.metadata import encode

    old = write(tmp_path, [1])
    newer = type(old)("rows", 2, old.compression, old.limits, old.parts)
    (tmp_path / "rows.meta-00000002.json").write_bytes(encode(newer))
    assert headrace.ShardSet(tmp_path).vacuum(grace=0) == [1]
    assert names(tmp_path) == ["rows.meta-00000002.json", "rows.parts-00000001"]
    assert list(headrace.open(tmp_path)) == [1]
    write(tmp_path, [2])
    assert list(headrace.open(tmp_path / "rows.meta-00000002.json")) == [1]


def test_a_damaged_set_can_be_written_again_and_loses_nothing(tmp_path):
    write(tmp_path, [1])
    write(tmp_path, [2])
    meta = tmp_path / "rows.meta-00000002.json"
    meta.write_bytes(
        meta.read_bytes().replace(b'"totalRecords": 1', b'"totalRecords": 7')
    )
    with pytest.raises(BadSetError, match="checksum"):
        headrace.open(tmp_path)
    write(tmp_path, [3])
    assert list(headrace.open(tmp_path)) == [3]
    assert headrace.ShardSet(tmp_path).vacuum(grace=0) == [1, 2]


def test_the_first_commit_of_a_generation_wins(tmp_path):
    writer = headrace.ShardWriter(tmp_path)
    writer.write(1)
    theirs = tmp_path / "rows.meta-00000001.json"
    theirs.write_bytes(b"")
    with pytest.raises(SetLockedError, match="committed generation 1"):
        writer.close()
    assert list((tmp_path).glob("rows.parts*")) == []


def test_without_links_the_metadata_is_created_exclusively(tmp_path, monkeypatch):
    def link(*_args):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    write(tmp_path, [1])
    write(tmp_path, [2])
    assert list(headrace.open(tmp_path)) == [2]
    hidden = [name for name in names(tmp_path) if name.startswith(".")]
    assert hidden == [".rows.superseded"]
    writer = headrace.ShardWriter(tmp_path)
    writer.write(3)
    (tmp_path / "rows.meta-00000003.json").touch()
    with pytest.raises(SetLockedError):
        writer.close()


def test_a_forked_child_does_not_touch_the_set(tmp_path):
    with headrace.ShardWriter(tmp_path, max_bytes=20, codec="none") as writer:
        writer.write_many(range(20))
        before = names(tmp_path)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                writer.abort()
                for use in (writer.close, lambda: writer.write(1)):
                    try:
                        use()
                    except UsageError as error:
                        assert "process" in str(error)  # noqa: PT017, in a child
                    else:
                        os._exit(2)
                del writer
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert names(tmp_path) == before
        writer.write(99)
    assert list(headrace.open(tmp_path)) == [*range(20), 99]


def test_a_child_that_lives_on_does_not_keep_the_lock(tmp_path):
    writer = headrace.ShardWriter(tmp_path)
    reading, writing = os.pipe()
    living, ending = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ending)
        os.write(writing, b"1")
        os.read(living, 1)
        os._exit(0)
    try:
        os.read(reading, 1)
        # As if the parent had died: its lock ends with its descriptor.
        writer._generation._lock.forget()
        write(tmp_path, [1])
    finally:
        os.close(ending)
        os.waitpid(pid, 0)
        for descriptor in (reading, writing, living):
            os.close(descriptor)
    assert list(headrace.open(tmp_path)) == [1]


INTERRUPTED = """
import signal, sys, headrace
def end(number, frame):
    raise SystemExit(128 + number)
signal.signal(signal.SIGTERM, end)
with headrace.ShardWriter(sys.argv[1], codec="none", max_bytes=100) as writer:
    writer.write(0)
    print("ready", flush=True)
    while True:
        writer.write({"more": "and more"})
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_the_old_set_and_no_litter(tmp_path, number):
    write(tmp_path, [1])
    before = names(tmp_path)
    for delay in (0, 0.003, 0.02):
        child = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, tmp_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with child:
            child.stdout.readline()
            time.sleep(delay)
            child.send_signal(number)
        assert child.returncode != 0
        assert names(tmp_path) == before
        assert list(headrace.open(tmp_path)) == [1]


# Files that an interrupt drops between two instructions are closed when collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_moment_leaves_one_whole_set_and_no_lock(tmp_path):
    """An alarm instead of Ctrl-C, so that many can be tried in one process."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    write(tmp_path, [0])
    began = time.perf_counter()
    write(tmp_path, [1] * 30, codec="none", max_records=7)
    longest = 1.3 * (time.perf_counter() - began)
    chance, number, interrupted = random.Random(1), 1, 0
    try:
        for _ in range(200):
            try:
                try:
                    wait = longest * chance.uniform(0.01, 1)
                    signal.setitimer(signal.ITIMER_REAL, wait)
                    write(tmp_path, [number + 1] * 30, codec="none", max_records=7)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            found = list(headrace.open(tmp_path))
            assert found in ([number] * 30, [number + 1] * 30)
            number = found[0]
            hidden = {name for name in names(tmp_path) if name.startswith(".")}
            assert hidden <= {".rows.superseded"}
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 20
    write(tmp_path, [-1])
    assert list(headrace.open(tmp_path)) == [-1]


def test_files_have_the_mode_of_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        metadata = write(tmp_path / "out", [1])
    finally:
        os.umask(old)
    for path in (
        metadata.parts[0].path,
        metadata.parts[0].ckpt,
        "rows.meta-00000001.json",
    ):
        assert (tmp_path / "out" / path).stat().st_mode & 0o777 == 0o640
    assert re.fullmatch(
        r"rows\.parts-\d{8}/part-\d{8}\.jsonl\.zst", metadata.parts[0].path
    )
