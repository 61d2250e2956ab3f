"""A log under misuse: forged manifests, clocks that jump, full disks, restarts, other processes."""

import errno
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest

import headrace
from headrace.api.log.recovery import open_recovered
from headrace.errors import (
    HeadraceWarning,
    LogDamagedError,
    LogLockedError,
    LogRemovedError,
    RefusedRecordError,
    UnwritableError,
    UsageError,
)
from headrace.store.files.checked_json import with_checksum
from headrace.store.files.system import System
from headrace.store.log import files
from headrace.store.log import manifest as manifests
from headrace.store.log.entries import dumped_index
from headrace.store.log.report.check import check_log
from headrace.store.log.report.stats import log_stats
from tests.fault.failing_system import using


def written(path, count, **options):
    with headrace.LogWriter(path, **options) as writer:
        writer.append_many([{"i": i} for i in range(count)])
    return path


def sources_of(log):
    for path in sorted(log.glob("*.idx")):
        for each in dumped_index(path):
            if each.get("type") != "header":
                yield each["messageTime"], each["timeSource"]


class TestTimesOfRecords:
    @pytest.mark.parametrize(
        ("record", "expected"),
        [
            ({"t": "2026-01-01T03:42:13+00:00"}, 1_767_238_933_000),
            ({"t": "2026-01-01T09:12:13.25+05:30"}, 1_767_238_933_250),
            ({"t": "2026-01-01"}, 1_767_225_600_000),
            ('{"t": 1.7e12}', 1_700_000_000_000),
            ('{"t": 1700000000000.0}', 1_700_000_000_000),
            ('{"t": 17000000000000e-1}', 1_700_000_000_000),
            ({"t": "yesterday"}, None),
            ({"t": "2026-02-29"}, None),
            ('{"t": 1.5}', None),
        ],
    )
    def test_texts_and_numbers_in_any_notation(self, tmp_path, record, expected):
        with headrace.LogWriter(tmp_path / "log", time="$.t") as writer:
            writer.append_lines(
                record.encode()
                if isinstance(record, str)
                else json.dumps(record).encode()
            )
        ((found, source),) = sources_of(tmp_path / "log")
        assert source == ("created" if expected is None else "extracted")
        assert expected in (None, found)

    def test_they_are_extracted_again_in_recovery(self, tmp_path):
        with headrace.LogWriter(tmp_path / "log", time="$.t") as writer:
            writer.append_many([{"t": f"2026-01-0{n}T00:00:00Z"} for n in range(1, 9)])
        before = list(sources_of(tmp_path / "log"))
        next((tmp_path / "log").glob("*.idx")).unlink()
        headrace.Log(tmp_path / "log").recover()
        assert list(sources_of(tmp_path / "log")) == before


class TestRotationByAge:
    def test_it_counts_from_the_first_record_of_any_writer(self, tmp_path):
        for n in range(3):
            with headrace.LogWriter(tmp_path / "log", rotate_seconds=0.15) as writer:
                writer.append(n)
            time.sleep(0.2)
        assert len(list((tmp_path / "log").glob("*.jsonl"))) == 3

    @pytest.mark.parametrize("timed", [None, "$.t"])
    def test_the_state_of_a_reopened_segment_has_its_age(self, tmp_path, timed):
        written(tmp_path / "log", 1, time=timed)
        time.sleep(0.1)
        ages = []
        with headrace.LogWriter(
            tmp_path / "log",
            rotate=lambda state: ages.append(state.seconds),
            time=timed,
        ) as writer:
            writer.append({"t": 1})
        assert min(ages) >= 0.1

    def test_a_clock_that_went_back_rotates_nothing(self, tmp_path, monkeypatch):
        written(tmp_path / "log", 1)
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now - 10**15)
        with pytest.warns(HeadraceWarning, match="seconds ahead of this machine's"):
            writer = headrace.LogWriter(tmp_path / "log", rotate_seconds=5)
        with writer:
            writer.append(2)
        assert len(list((tmp_path / "log").glob("*.jsonl"))) == 1


class TestTheLock:
    def test_a_writer_waits_for_a_reader(self, tmp_path):
        log = written(tmp_path / "log", 1)
        with (log / "LOCK").open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            threading.Timer(0.2, fcntl.flock, (file, fcntl.LOCK_UN)).start()
            written(log, 1)
        assert len(headrace.Log(log)) == 2

    def test_a_writer_that_ended_is_not_named(self, tmp_path):
        log = written(tmp_path / "log", 1)
        with (log / "LOCK").open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(LogLockedError, match="another process is writing"):
                headrace.LogWriter(log)

    def test_a_writer_that_died_is_not_named(self, tmp_path):
        log = tmp_path / "log"
        script = (
            "import headrace, os, sys\n"
            "headrace.LogWriter(sys.argv[1]).append(1)\n"
            "os._exit(9)\n"
        )
        subprocess.run([sys.executable, "-c", script, log], check=False, timeout=60)
        assert "holder" in json.loads((log / "LOCK").read_bytes())
        with (log / "LOCK").open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(LogLockedError, match="another process is writing"):
                headrace.LogWriter(log)
        written(log, 1)


def forged(log, pattern, replacement):
    path = log / "manifest.json"
    text = path.read_text()
    text = text[: text.rindex(' "crc32c"')]
    changed = re.sub(pattern, replacement, text, count=1)
    assert changed != text
    path.write_bytes(with_checksum(changed.encode()))


class TestForgedManifests:
    @pytest.mark.parametrize(
        ("pattern", "replacement", "said"),
        [
            (r'"maxDepth": \d+', f'"maxDepth": {1 << 32}', "maxDepth"),
            (r'"maxRecord": \d+', f'"maxRecord": {1 << 62}', "maxRecord"),
            (r'"maxTime": \d+', f'"maxTime": {(1 << 63) - 1}', "maxTime"),
            (r'"minTime": \d+', f'"minTime": {-(1 << 62)}', "minTime"),
            (r'"rows": \d+', f'"rows": {1 << 32}', "rows"),
            (r'"fileNumber": \d+', f'"fileNumber": {1 << 32}', "fileNumber"),
        ],
    )
    @pytest.mark.parametrize(
        "read",
        [
            open_recovered,
            lambda log: headrace.Log(log).recover(),
            log_stats,
            lambda log: headrace.Log(log).first_line,
            headrace.open,
            headrace.LogWriter,
            lambda log: list(check_log(log)),
        ],
    )
    def test_numbers_out_of_range_are_refused(
        self, tmp_path, read, pattern, replacement, said
    ):
        log = written(tmp_path / "log", 5, rotate_rows=2)
        forged(log, pattern, replacement)
        with pytest.raises(LogDamagedError, match=said):
            read(log)


class TestCheck:
    def test_a_segment_that_no_writer_accepts(self, tmp_path):
        log = written(tmp_path / "log", 5)
        (log / f"{500:020d}.jsonl").write_bytes(b'{"f":1}\n')
        faults = [fault for each in check_log(log) for fault in each.faults]
        assert len(faults) == 1
        assert "begins behind line 500" in faults[0]
        with pytest.raises(LogDamagedError):
            headrace.LogWriter(log)

    def test_an_index_that_lost_durable_entries(self, tmp_path):
        log = written(tmp_path / "log", 5)
        index = next(log.glob("*.idx"))
        index.write_bytes(index.read_bytes()[: 256 + 56 * 2])
        (checked,) = check_log(log)
        assert checked.faults == [
            "its index ends behind line 2, but line 5 was durable"
        ]
        assert checked.remade
        headrace.Log(log).recover()
        (checked,) = check_log(log)
        assert not checked.faults


class TestAFullDisk:
    class Full(System):
        """A full disk: no file can be created before an index is removed."""

        def __init__(self):
            self.room = False

        def create(self, path):
            if not self.room:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            return super().create(path)

        def unlink(self, path):
            self.room = self.room or path.suffix == ".idx"
            super().unlink(path)

    def test_retention_makes_room_for_its_manifest(self, tmp_path):
        log = written(tmp_path / "log", 10, rotate_rows=2)
        with using(self.Full()):
            removed = headrace.Log(log).retain(before_line=7)
        assert removed.lines == 6
        assert [row["i"] for row in headrace.Log(log)] == [6, 7, 8, 9]

    def test_retention_by_a_writer_makes_room_too(self, tmp_path):
        with headrace.LogWriter(tmp_path / "log", rotate_rows=2) as writer:
            writer.append_many(range(10))
            with using(self.Full()):
                assert writer.retain(before_line=7).lines == 6
        assert list(headrace.Log(tmp_path / "log")) == [6, 7, 8, 9]

    def test_a_process_killed_then_loses_only_the_index(self, tmp_path):
        class Killed(self.Full):
            def rename(self, source, target):
                raise KeyboardInterrupt

        log = written(tmp_path / "log", 10, rotate_rows=2)
        with using(Killed()), pytest.raises(KeyboardInterrupt):
            headrace.Log(log).retain(before_line=7)
        headrace.Log(log).recover()
        assert [row["i"] for row in headrace.Log(log)] == list(range(10))


class TestTheTail:
    def test_a_reader_leaves_the_torn_tail(self, tmp_path):
        log = written(tmp_path / "log", 3)
        data = next(log.glob("*.jsonl"))
        with data.open("ab") as file:
            file.write(b'{"torn')
        headrace.Log(log).recover(tail="keep")
        content = data.read_bytes()
        for _ in range(2):
            _reader, actions = open_recovered(log)
            assert [action.action for action in actions] == ["kept"]
        assert data.read_bytes() == content
        assert not (log / "quarantine").exists()


class TestLeftovers:
    def test_a_restore_removes_those_of_killed_ones(self, tmp_path):
        log = written(tmp_path / "log", 3)
        headrace.Log(log).backup(tmp_path / "backup")
        for name in ("killed", "begun"):
            left = tmp_path / f".new.tmp-1-{name.encode().hex()[:8]}"
            left.mkdir()
            if name == "killed":
                (left / "LOCK").touch()
                (left / "manifest.json").touch()
        other = tmp_path / ".new.tmp-2-0123abcd"
        other.mkdir()
        (other / "foreign file").touch()
        at_work = tmp_path / ".new.tmp-3-0123abcd"
        at_work.mkdir()
        with (at_work / "LOCK").open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            headrace.Log.restore(tmp_path / "backup", tmp_path / "new")
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"log", "backup", "new", other.name, at_work.name}
        assert len(headrace.Log(tmp_path / "new")) == 3

    def test_an_interrupt_leaves_no_manifest_in_the_making(self, tmp_path):
        class Interrupted(System):
            def rename(self, source, target):
                raise KeyboardInterrupt

        log = written(tmp_path / "log", 3)
        with using(Interrupted()), pytest.raises(KeyboardInterrupt):
            files.replace_content(log / "manifest.json", b"{}")
        assert not list(log.glob(".*"))


class TestWarnings:
    def test_times_that_were_extracted_before(self, tmp_path):
        written(tmp_path / "log", 1, time="$.i")
        with pytest.warns(HeadraceWarning, match=r"come from time='\$\.i'"):
            written(tmp_path / "log", 1)

    def test_a_level_without_a_codec(self, tmp_path):
        with pytest.raises(UsageError, match="give the codec"):
            headrace.LogWriter(tmp_path / "log", level=3)

    def test_times_of_writing_that_are_ahead(self, tmp_path, monkeypatch):
        now = time.time_ns()
        with monkeypatch.context() as patch:
            patch.setattr(time, "time_ns", lambda: now + 10**18)
            written(tmp_path / "log", 1)
        with pytest.warns(HeadraceWarning, match="1000000000 seconds|999999999 sec"):
            headrace.LogWriter(tmp_path / "log").close()
        headrace.LogWriter(tmp_path / "log", monotonic="off").close()


class TestAGrowingSource:
    def opened(self, log):
        with headrace.LogWriter(log) as writer:
            writer.append_many([{"i": i} for i in range(700)])
            rows = headrace.open(log)
            writer.append_many([{"i": i} for i in range(700, 1000)])
        with headrace.LogWriter(log, rotate_rows=1000) as writer:
            writer.append({"i": 1000})
        return rows

    @pytest.mark.parametrize("codec", [None, "zstd", "gzip"])
    def test_it_has_its_lines_when_its_segment_is_full(self, tmp_path, codec):
        rows = self.opened(tmp_path / "log")
        if codec is not None:
            headrace.Log(tmp_path / "log").seal(codec=codec)
        expected = [{"i": i} for i in range(700)]
        assert rows.query("i").to_list() == list(range(700))
        assert list(rows) == expected
        assert list(reversed(rows)) == expected[::-1]
        assert (len(rows), rows.count()) == (700, 700)
        assert rows[699] == rows[-1] == {"i": 699}
        assert rows.tail(2) == expected[-2:]
        assert rows.stats().lines == 700
        with pytest.raises(IndexError):
            rows[700]


class TestMessages:
    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            (b"x\n", "no record was appended"),
            (b"1\nx\n", "the record before it is in the log"),
            (b"1\n2\nx\n", "the 2 records before it are in the log"),
        ],
    )
    def test_a_refused_record_reports_the_last_line_of_the_log(
        self, tmp_path, lines, said
    ):
        with (
            headrace.LogWriter(tmp_path / "log") as writer,
            pytest.raises(RefusedRecordError, match=said),
        ):
            writer.append_lines(lines)

    def test_no_log_was_made(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(UnwritableError, match="no log was made"):
            headrace.LogWriter(tmp_path / "file" / "log")

    @pytest.mark.parametrize("name", ["manifest.json", f"{0:020d}.jsonl"])
    def test_files_that_were_removed_under_a_writer(self, tmp_path, name):
        writer = headrace.LogWriter(tmp_path / "log")
        writer.append(1)
        (tmp_path / "log" / name).unlink()
        with pytest.raises(LogRemovedError) as caught:
            writer.append(2)
        assert "in the log" not in str(caught.value)
        writer.close()

    def test_a_record_that_got_its_newline_is_a_row(self, tmp_path):
        log = written(tmp_path / "log", 3)
        with next(log.glob("*.jsonl")).open("ab") as file:
            file.write(b"{}")
        (action,) = headrace.Log(log).recover().actions
        assert (action.action, action.rows) == ("completed", 1)

    def test_arguments_have_their_names_on_the_command_line(self, tmp_path):
        with pytest.raises(
            UsageError, match=r"rotate_rows \(--rotate-rows\) must be a"
        ):
            headrace.LogWriter(tmp_path / "log", rotate_rows=0)


def test_a_rotation_encodes_only_the_new_segment(tmp_path, monkeypatch):
    """The manifest names all segments, and thousands of them were encoded for each new one."""
    encoded = []
    one = manifests._sealed
    monkeypatch.setattr(
        manifests, "_sealed", lambda each: encoded.append(1) or one(each)
    )
    written(tmp_path / "log", 100, rotate_rows=1, durability="os")
    assert len(encoded) < 400


def test_the_live_process_is_named(tmp_path):
    with (
        headrace.LogWriter(tmp_path / "log"),
        pytest.raises(LogLockedError, match=f"process {os.getpid()} on"),
    ):
        headrace.LogWriter(tmp_path / "log")
