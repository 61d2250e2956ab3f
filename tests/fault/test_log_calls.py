"""Every system call of a log fails in turn: no record is lost, doubled or out of order."""

import errno
import os
import threading
from itertools import count

import pytest

import headrace
from headrace.errors import HeadraceError, LogFailedError, UnwritableError
from headrace.store.files import system
from headrace.store.log import files
from headrace.store.log.manifest import load
from headrace.store.log.names import LogNames
from headrace.store.log.recover import recovery
from headrace.store.log.write.appender import SegmentAppender
from tests.fault.failing_system import CALLS, ENDS, FailingSystem, Killed, dying, using
from tests.fault.logs import (
    append_until,
    record,
    refuse_unless_sound,
    retrying,
)
from tests.fault.power_log import scratch

RECORDS = 7
OPTIONS = [
    pytest.param({"durability": "data", "rotate_rows": 3}, id="data"),
    pytest.param({"durability": "always", "rotate_bytes": 2000}, id="always"),
    pytest.param({"durability": "os", "rotate_rows": 3}, id="os"),
    pytest.param(
        {"durability": "interval", "interval": 1e3, "rotate_rows": 3}, id="interval"
    ),
]


@pytest.fixture
def root():
    """Return a directory in memory: nothing here depends on the disk."""
    with scratch() as directory:
        yield directory


def write_all(directory, acknowledge, **options):
    """Open, append and rotate, close, and the same again."""
    for start, stop in ((0, RECORDS - 1), (RECORDS - 1, RECORDS)):
        with headrace.LogWriter(directory, **options) as writer:
            append_until(writer, start, stop, acknowledge)


def test_the_calls_of_a_log_are_those_that_fail_here(root):
    system = FailingSystem(0)
    with using(system):
        write_all(root / "log", lambda _number: None, rotate_rows=3)
    assert {"create", "open", "pwrite", "sync_data", "rename"} <= set(system.log)
    assert set(system.log) < set(CALLS)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("fault", ENDS)
def test_a_writer_killed_at_any_call(root, options, fault):
    """Acknowledged lines remain, and another writer continues."""
    assert kill_writers_at_any_call(root, fault, options) > 10


def kill_writers_at_any_call(root, fault, options):
    at, system = 0, None
    while system is None or system.failed is not None:
        at += 1
        directory = root / str(at)
        acknowledged = [0]
        system = FailingSystem(at, fault)
        with dying(system):
            write_all(
                directory,
                lambda number, to=acknowledged: to.append(number),
                **options,
            )
        found = refuse_unless_sound(directory, acknowledged[-1], RECORDS)
        with headrace.LogWriter(directory, **options) as writer:
            append_until(writer, found, RECORDS, lambda _number: None)
        refuse_unless_sound(directory, RECORDS, RECORDS)
    return at


def test_acknowledging_before_writing_is_caught(root, monkeypatch):
    write, held = SegmentAppender._write_data, []

    def late(appender, data):
        held.append(data)
        if len(held) > 1:
            write(appender, held.pop(0))

    monkeypatch.setattr(SegmentAppender, "_write_data", late)
    with pytest.raises((AssertionError, HeadraceError)):
        kill_writers_at_any_call(root, "before", {"rotate_rows": 3})


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("fault", ["error", "half", "short"])
def test_a_call_that_fails_once(root, options, fault):
    """A program that tries again ends with each record in the log, once."""
    failures = 0
    for at in count(1):
        directory = root / str(at)
        acknowledged = [0]
        system = FailingSystem(at, fault)
        with using(system):
            failures += retrying(directory, RECORDS, acknowledged.append, **options)
        assert acknowledged == sorted(set(acknowledged))
        refuse_unless_sound(directory, RECORDS, RECORDS)
        if system.failed is None:
            break
    assert failures > 10 if fault != "short" else failures == 0


@pytest.mark.parametrize("options", OPTIONS)
def test_a_disk_that_stays_full(root, options):
    """No acknowledged line is lost, and the log continues when there is space again."""
    refused = 0
    for at in count(1):
        directory = root / str(at)
        acknowledged = [0]
        system = FailingSystem(at, number=errno.ENOSPC, lasting=True)
        with using(system):
            try:
                write_all(directory, acknowledged.append, **options)
            except (HeadraceError, OSError):
                refused += 1
        found = refuse_unless_sound(directory, acknowledged[-1], RECORDS)
        retrying(directory, RECORDS, lambda _number: None, **options)
        assert found <= RECORDS
        refuse_unless_sound(directory, RECORDS, RECORDS)
        if system.failed is None:
            break
    assert refused > 15


@pytest.mark.parametrize("fault", ENDS)
def test_recovery_killed_at_any_call(root, fault):
    """The leftovers of a killed recovery are recovered as if it had never begun."""
    torn = b'{"n":3,"half":'
    for at in count(1):
        directory = root / str(at)
        with headrace.LogWriter(directory, rotate_rows=5) as writer:
            append_until(writer, 0, 7, lambda _number: None)
        data, index = (directory / f"{5:020d}.jsonl{end}" for end in ("", ".idx"))
        data.write_bytes(data.read_bytes() + record(7) + b"\n" + torn)
        index.write_bytes(index.read_bytes()[:-60] + b"\0" * 30)
        (directory / "manifest.json").unlink()
        system = FailingSystem(at, fault)
        with dying(system):
            headrace.Log(directory).recover()
        refuse_unless_sound(directory, 8, 8)
        kept = [path.read_bytes() for path in (directory / "quarantine").iterdir()]
        assert torn in kept
        assert all(torn.startswith(each) for each in kept)
        if system.failed is None:
            break
    assert at > 3


def recover_times_killed_at(directory, at, fault):
    """Lose the index of a full segment, kill its recovery, and recover again."""
    with headrace.LogWriter(directory, rotate_rows=2) as writer:
        writer.append_many(range(5))
    os.utime(directory / f"{0:020d}.jsonl", (5, 5))
    (directory / f"{0:020d}.jsonl.idx").unlink()
    system = FailingSystem(at, fault)
    with dying(system):
        headrace.Log(directory).recover()
    headrace.Log(directory).recover()
    return system


def by_time(directory):
    """Return the lines with the time that recovery took from the file, and all others."""
    log = headrace.Log(directory)
    return list(log.range(since=5000, until=5001)), list(log.range(since=5001))


@pytest.mark.parametrize("fault", ENDS)
def test_times_of_a_recovery_killed_at_any_call(root, fault):
    """A rebuilt index has other times, and no reader leaves its lines out."""
    for at in count(1):
        directory = root / str(at)
        system = recover_times_killed_at(directory, at, fault)
        assert by_time(directory) == ([0, 1], [2, 3, 4])
        if system.failed is None:
            break
    assert "rename" in system.log
    assert at > 3


def test_times_that_are_saved_too_late_are_caught(root, monkeypatch):
    monkeypatch.setattr(recovery._Recovery, "_widen", lambda *_: None)
    missed = 0
    for at in count(1):
        directory = root / str(at)
        system = recover_times_killed_at(directory, at, "before")
        missed += by_time(directory) != ([0, 1], [2, 3, 4])
        if system.failed is None:
            break
    assert missed


@pytest.mark.parametrize("fault", ENDS)
def test_entries_made_again_by_a_repair_killed_at_any_call(root, fault):
    """The next repair finishes it, and the manifest and the index find lines by time."""
    for at in count(1):
        directory = root / str(at)
        with headrace.LogWriter(directory, rotate_rows=3, time="$") as writer:
            writer.append_many(range(1000, 1005))
        for base in (0, 3):
            index = directory / f"{base:020d}.jsonl.idx"
            content = bytearray(index.read_bytes())
            content[256 + 56 * (base == 0)] ^= 1
            index.write_bytes(content)
        system = FailingSystem(at, fault)
        with dying(system):
            headrace.Log(directory).recover(repair=True)
        headrace.Log(directory).recover(repair=True)
        log = headrace.Log(directory)
        assert list(log) == [*range(1000, 1005)]
        assert list(log.range(since=1001, until=1004)) == [1001, 1002, 1003]
        if system.failed is None:
            break
    assert at > 3


def write_and_keep(directory, acknowledge, removing):
    """Append and rotate, compress and remove: beside a writer, and without one."""
    with headrace.LogWriter(directory, rotate_rows=2) as writer:
        append_until(writer, 0, 5, acknowledge)
    headrace.Log(directory).seal(keep_plain=1)
    with headrace.LogWriter(directory, rotate_rows=2, codec="gzip") as writer:
        append_until(writer, 5, RECORDS, acknowledge)
        writer.wait_for_upkeep()
        removing(range(3))
        writer.retain(before_line=3)
    removing(range(2, 5))
    headrace.Log(directory).retain(before_line=5)
    removing(range(4, 5))


@pytest.fixture
def killed_threads(monkeypatch):
    """Ignore the reports of killed threads; report any other end."""

    def report(arguments, report_others=threading.excepthook):
        if arguments.exc_type is not Killed:
            report_others(arguments)

    monkeypatch.setattr(threading, "excepthook", report)


@pytest.mark.usefixtures("killed_threads")
@pytest.mark.parametrize("fault", ENDS)
def test_compressing_and_removing_killed_at_any_call(root, fault):
    calls = set()
    for at in count(1):
        directory = root / str(at)
        acknowledged, removable = [0], [range(1)]
        system = FailingSystem(at, fault)
        with dying(system):
            try:
                write_and_keep(directory, acknowledged.append, removable.append)
            except HeadraceError:
                # A thread that was killed leaves a writer that reports it.
                assert system.failed is not None
        calls.add(system.failed)

        def allowed(_last, now=removable[-1]):
            return now

        found = refuse_unless_sound(directory, acknowledged[-1], RECORDS, allowed)
        with headrace.LogWriter(directory, rotate_rows=2, codec="zstd") as writer:
            append_until(writer, found, RECORDS, lambda _number: None)
            writer.wait_for_upkeep()
            assert writer.upkeep_failures == []
        refuse_unless_sound(directory, RECORDS, RECORDS, allowed)
        if directory.exists():
            manifest = load(LogNames(directory))
            assert all(each.packed for each in manifest.segments)
            named = {each.name for each in manifest.all_segments}
            assert {
                path.name for _base, path in LogNames(directory).segments()
            } == named
        if system.failed is None:
            break
    assert at > 20
    known = {"create", "pwrite", "sync_data", "rename", "unlink", "sync_directory"}
    assert calls >= (known if fault == "before" else {"pwrite"})


@pytest.mark.parametrize("fault", ["error", "half", "short"])
@pytest.mark.parametrize("beside_a_writer", [False, True])
def test_compressing_and_removing_with_a_call_that_fails_once(
    root, fault, beside_a_writer
):
    """All lines remain, and a program that tries again gets its result."""
    failures = 0
    for at in count(1):
        directory = root / str(at)
        with headrace.LogWriter(directory, rotate_rows=2) as writer:
            append_until(writer, 0, RECORDS, lambda _number: None)
        system = FailingSystem(at, fault)
        with using(system):
            while not kept(directory, beside_a_writer=beside_a_writer):
                failures += 1
                refuse_unless_sound(directory, RECORDS, RECORDS, lambda _last: range(5))
                assert failures < 3 * at
        manifest = load(LogNames(directory))
        assert (manifest.first_line, manifest.removing) == (5, ())
        assert all(each.packed for each in manifest.segments)
        refuse_unless_sound(directory, RECORDS, RECORDS, lambda _last: range(4, 5))
        named = {each.name for each in manifest.all_segments}
        assert {path.name for _base, path in LogNames(directory).segments()} == named
        if system.failed is None:
            break
    assert failures > 10 if fault != "short" else failures == 0
    assert at > 10


def kept(directory, *, beside_a_writer):
    """Compress and remove; return whether that succeeded."""
    try:
        if not beside_a_writer:
            headrace.Log(directory).seal()
            headrace.Log(directory).retain(before_line=5)
            return True
        with headrace.LogWriter(directory, codec="zstd") as writer:
            writer.wait_for_upkeep()
            writer.retain(before_line=5)
            failed = bool(writer.upkeep_failures)
    except (HeadraceError, OSError):
        return False
    return not failed


class TestAWriter:
    def test_is_poisoned_by_a_sync_that_fails(self, root):
        with headrace.LogWriter(root / "log") as writer:
            writer.append(record(0))
            with (
                using(FailingSystem(2, number=errno.EIO)),
                pytest.raises(LogFailedError),
            ):
                writer.append(record(1))
            with pytest.raises(
                LogFailedError, match=r"sync failed.*open another writer"
            ):
                writer.append(record(1))
            with pytest.raises(LogFailedError):
                writer.flush()
        # It is unknown whether it is on disk; it may be in the log.
        refuse_unless_sound(root / "log", 1, 2)

    def test_truncates_lines_that_it_cannot_write_completely(self, root):
        with headrace.LogWriter(root / "log") as writer:
            writer.append(record(0))
            with (
                using(FailingSystem(1, "half")),
                pytest.raises(UnwritableError, match="space"),
            ):
                writer.append(record(1))
            assert (root / f"log/{0:020d}.jsonl").read_bytes() == record(0) + b"\n"
            assert writer.append(record(1)) == 2

    def test_truncates_lines_whose_entries_it_cannot_write(self, root):
        with headrace.LogWriter(root / "log") as writer:
            writer.append(record(0))
            with (
                using(FailingSystem(2, "half")),
                pytest.raises(UnwritableError, match="space"),
            ):
                writer.append(record(1))
            assert writer.append(record(1)) == 2
        refuse_unless_sound(root / "log", 2, 2)

    def test_reports_how_many_records_of_a_call_are_in_the_log(self, root):
        with headrace.LogWriter(root / "log", rotate_rows=2) as writer:
            # Data, sync and entries of the first two; then both are synchronised.
            with (
                using(FailingSystem(6)),
                pytest.raises(UnwritableError, match="2 of 5 records are in the log"),
            ):
                writer.append_many([record(number) for number in range(5)])
            assert writer.last_line == 2
            writer.append_many([record(number) for number in range(2, 5)])
        refuse_unless_sound(root / "log", 5, 5)

    def test_fails_if_it_cannot_truncate(self, root):
        class Stubborn(FailingSystem):
            def truncate(self, descriptor, size):
                raise OSError(errno.EIO, "no")

        with headrace.LogWriter(root / "log") as writer:
            writer.append(record(0))
            with (
                using(Stubborn(1, "half")),
                pytest.raises(LogFailedError, match="taken back"),
            ):
                writer.append(record(1))
        refuse_unless_sound(root / "log", 1, 1)


def ignoring_short_writes(descriptor, data, offset):
    system.calls.pwrite(descriptor, memoryview(data), offset)


def write_with_each_write_short(root):
    for at in count(1):
        directory = root / str(at)
        system = FailingSystem(at, "short")
        with using(system):
            write_all(directory, lambda _number: None, rotate_rows=5)
        refuse_unless_sound(directory, RECORDS, RECORDS)
        if system.failed is None:
            break
    return at


def test_a_short_write_that_is_ignored_is_caught(root, monkeypatch):
    with scratch() as other:
        assert write_with_each_write_short(other) > 20
    monkeypatch.setattr(files, "write_at", ignoring_short_writes)
    with pytest.raises((AssertionError, HeadraceError)):
        write_with_each_write_short(root)
