"""Following a log: committed lines in order, during rotation, compression and retention."""

import os
import shutil
import threading
import warnings
from dataclasses import replace
from itertools import islice

import pytest

import headrace
from headrace.errors import (
    HeadraceWarning,
    LinesGoneError,
    LogReplacedError,
    UsageError,
)
from headrace.store.files import system
from headrace.store.files.units import Between
from headrace.store.log.manifest import load
from headrace.store.log.names import LogNames
from headrace.store.log.read.consumers import Follower
from headrace.store.log.read.reader import LogReader


def follower(directory, first=1, gone="error"):
    return Follower(LogReader(directory), first, Between(), gone)


def numbers(follower):
    return [number for block in follower.blocks() for number, _ in block.numbered()]


def remove_first(directory, segments):
    """Remove the first segment, like retention."""
    names = LogNames(directory)
    manifest = load(names)
    replace(manifest, segments=manifest.segments[segments:]).save(names)
    for segment in manifest.segments[:segments]:
        system.calls.unlink(names.data(segment.base))
        system.calls.unlink(names.index(segment.base))


def test_through_new_segments(tmp_path):
    with headrace.LogWriter(tmp_path, rotate_rows=3) as log:
        found = follower(tmp_path)
        assert numbers(found) == []
        seen = []
        for n in range(1, 20):
            log.append(n)
            if n % 4 == 0:
                seen += numbers(found)
                assert seen == list(range(1, n + 1))
    assert seen + numbers(found) == list(range(1, 20))


def test_lines_without_an_entry_are_not_returned(tmp_path):
    with headrace.LogWriter(tmp_path) as log:
        log.append(1)
    found = follower(tmp_path)
    assert numbers(found) == [1]
    with (tmp_path / f"{0:020d}.jsonl").open("ab") as file:
        file.write(b"2\n")
    assert numbers(found) == []


def test_a_start_line_that_does_not_exist_yet(tmp_path):
    with headrace.LogWriter(tmp_path) as log:
        log.append(1)
        found = follower(tmp_path, 3)
        assert numbers(found) == []
        log.append(2)
        assert numbers(found) == []
        log.append_many([3, 4])
        assert numbers(found) == [3, 4]


def test_lines_that_retention_removed(tmp_path):
    with headrace.LogWriter(tmp_path, rotate_rows=2) as log:
        log.append_many(range(7))
    strict, lenient = follower(tmp_path), follower(tmp_path, gone="skip")
    remove_first(tmp_path, 2)
    with pytest.raises(
        LinesGoneError, match="lines 1 to 4 are gone, 4 lines"
    ) as caught:
        numbers(strict)
    assert (caught.value.first, caught.value.last) == (1, 4)
    with pytest.warns(HeadraceWarning, match="lines 1 to 4 are gone"):
        assert numbers(lenient) == [5, 6, 7]
    assert lenient.gone == 4


def test_lines_that_are_removed_while_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("headrace.store.log.read.reader._ROWS_AT_ONCE", 1)
    monkeypatch.setattr("headrace.store.log.read.reader._MOST_OPEN", 1)
    with headrace.LogWriter(tmp_path, rotate_rows=2) as log:
        log.append_many(range(9))
    found = follower(tmp_path, gone="skip")
    blocks = found.blocks()
    assert next(blocks).first_line == 1
    remove_first(tmp_path, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        rest = [block.first_line for block in blocks]
    # Line 2 is in a file that is still open.
    assert rest[-3:] == [7, 8, 9]
    assert set(rest) <= {2, 7, 8, 9}
    assert found.gone + len(rest) + 1 == 9


def test_lines_that_a_repair_gave_up(tmp_path):
    with headrace.LogWriter(tmp_path, rotate_rows=3) as log:
        log.append_many(range(10, 17))
    path = tmp_path / f"{3:020d}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"14", b"15")[:-3])
    headrace.Log(tmp_path).recover(repair=True)
    with pytest.raises(LinesGoneError, match="lines 5 to 6"):
        numbers(follower(tmp_path))
    found = follower(tmp_path, gone="skip")
    with pytest.warns(HeadraceWarning):
        assert numbers(found) == [1, 2, 3, 4, 7]


def test_another_log(tmp_path):
    def make(count):
        with headrace.LogWriter(tmp_path / "log") as log:
            log.append_many(range(count))

    make(3)
    found = follower(tmp_path / "log")
    assert numbers(found) == [1, 2, 3]
    shutil.rmtree(tmp_path / "log")
    make(5)
    with pytest.raises(LogReplacedError, match="another log"):
        numbers(found)


def test_follow_in_python(tmp_path):
    with headrace.LogWriter(tmp_path, rotate_rows=5) as writer:
        writer.append_many(range(10))
        log = headrace.Log(tmp_path)
        late = threading.Timer(0.2, writer.append_many, [range(10, 20)])
        late.start()
        try:
            assert list(islice(log.follow(4, poll=0.01), 17)) == list(range(3, 20))
        finally:
            late.join()
        assert next(log.follow(since="-1h")) == 0
    with pytest.raises(UsageError, match="poll"):
        next(log.follow(poll=0))
    with pytest.raises(UsageError, match="gone"):
        next(log.follow(gone="maybe"))
    with pytest.raises(
        UsageError, match=r"from_line \(--from\) must be a positive integer, not 0"
    ):
        next(log.follow(0))


def test_ranges_in_python(tmp_path):
    with headrace.LogWriter(tmp_path, time="$", monotonic="off") as writer:
        writer.append_many([5, 3, 9, 3])
    log = headrace.Log(tmp_path)
    assert list(log.since(4)) == [5, 9]
    assert list(log.range(2, since=3, until=9)) == [3, 3]
    assert list(log.range(until="1970-01-01T00:00:00.005Z")) == [3, 3]
    assert list(log.range(since="-1h")) == []
    with pytest.raises(UsageError, match="not a time"):
        list(log.since("soon"))


def test_a_bad_entry_is_not_skipped(tmp_path):
    with headrace.LogWriter(tmp_path, time="$", rotate_rows=3) as writer:
        writer.append_many([1, 2, 3, 4])
    path = tmp_path / f"{0:020d}.jsonl.idx"
    content = bytearray(path.read_bytes())
    content[256 + 56 + 16] ^= 1  # the time of line 2
    path.write_bytes(content)
    with pytest.raises(headrace.HeadraceError, match="line 2"):
        list(headrace.Log(tmp_path).range(since=3))
    assert list(headrace.Log(tmp_path).range(since=4)) == [4]


def test_times_that_recovery_made_again(tmp_path):
    """Recovery rebuilds a lost index with other times, and updates the manifest."""
    with headrace.LogWriter(tmp_path, rotate_rows=2) as writer:
        writer.append_many(range(5))
    os.utime(tmp_path / f"{0:020d}.jsonl", (5, 5))
    (tmp_path / f"{0:020d}.jsonl.idx").unlink()
    headrace.Log(tmp_path).recover()
    log = headrace.Log(tmp_path)
    assert list(log.range(since=5000, until=5001)) == [0, 1]
    assert list(log.range(since=5001)) == [2, 3, 4]


def test_through_compression_and_retention(tmp_path):
    """The writer compresses and removes full segments while they are followed."""
    with headrace.LogWriter(
        tmp_path, rotate_rows=5, codec="zstd", retain_bytes=6000
    ) as log:
        found, seen = follower(tmp_path), []
        for n in range(1, 200):
            log.append({"n": n})
            seen += numbers(found)
    assert seen + numbers(found) == list(range(1, 200))
    assert headrace.Log(tmp_path).first_line > 1
    names = [path.name for path in tmp_path.iterdir()]
    assert any(name.endswith(".zst") for name in names)


def test_times_of_compressed_segments(tmp_path):
    times = [n * 7 % 50 for n in range(60)]
    with headrace.LogWriter(
        tmp_path / "log", rotate_rows=9, time="$", monotonic="off"
    ) as log:
        log.append_many(times)
    expected = [time for time in times if 10 <= time < 30]
    log = headrace.Log(tmp_path / "log")
    assert list(log.range(since=10, until=30)) == expected
    with headrace.Log(tmp_path).replay() as replay:
        played = list(replay)
    headrace.Log(tmp_path / "log").seal()
    assert list(log.range(since=10, until=30)) == expected
    with headrace.Log(tmp_path).replay() as replay:
        assert list(replay) == played
    headrace.Log(tmp_path / "log").retain(before_line=20)
    assert log.last_line == 60
    assert list(log.range(since=10, until=30)) == [
        time for time in times[18:] if 10 <= time < 30
    ]
    with pytest.raises(LinesGoneError, match="lines 1 to 18"):
        numbers(follower(tmp_path / "log"))
