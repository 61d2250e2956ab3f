"""Misuse of log commands: refusals, skipped records and messages."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
from array import array
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "headrace"]


class TestBadRecords:
    GIVEN = b'{"i":0}\n{"i":\n{"i":2}\n\nnot json\n{"i":5}\n{"half'

    @pytest.mark.parametrize("policy", ["skip", "collect"])
    def test_they_are_left_out(self, piped, policy):
        outcome = piped(
            "log", "append", "log", "--ack", "--on-error", policy, stdin=self.GIVEN
        )
        assert outcome.code == 0
        assert outcome.out.splitlines()[-1] == b"ACK 4"
        assert "3 bad records left out" in outcome.err
        assert ("line 5 of the input, byte " in outcome.err) == (policy == "collect")
        there = piped("log", "cat", "log").out
        assert there == b'{"i":0}\n{"i":2}\n\n{"i":5}\n'

    def test_they_are_kept_in_a_file(self, piped, tmp_path):
        for _ in range(2):
            command = ["log", "append", "log", "-q", "--errors", "bad.jsonl"]
            assert piped(*command, stdin=self.GIVEN).code == 0
        rejected = [
            json.loads(line)
            for line in (tmp_path / "bad.jsonl").read_text().split("\n")[:-1]
        ]
        assert [each["line"] for each in rejected] == [2, 5, 7] * 2
        assert [each["raw"] for each in rejected[:3]] == ['{"i":', "not json", '{"half']

    def test_one_that_is_too_long(self, piped):
        long = b'"' + b"x" * 3_000_000 + b'"'
        given = b"1\n" + long + b"\n2\n" + long + b"\n3\n" + long
        outcome = piped(
            *("log", "append", "log", "--on-error", "collect", "--max-record", "1000"),
            *("--events", "json"),
            stdin=given,
        )
        assert outcome.code == 0
        bad = [each for each in outcome.events if each["event"] == "bad_row"]
        assert [each["line"] for each in bad] == [2, 4, 6]
        assert "raw" not in bad[0]
        assert piped("log", "cat", "log").out == b"1\n2\n3\n"

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--errors", "log/bad.jsonl"], "is in the directory of a log"),
            (["--errors", "bad", "--on-error", "skip"], "--errors keeps bad lines"),
            (["--level", "3"], "give --codec"),
            (["--rotate-bytes", "0"], "--rotate-bytes"),
        ],
    )
    def test_invalid_options_are_refused(self, piped, options, said):
        piped("log", "append", "log", "-q", stdin=b"1\n")
        outcome = piped("log", "append", "log", *options, stdin=b"2\n")
        assert outcome.code == 2
        assert said in outcome.err
        assert piped("log", "cat", "log").out == b"1\n"


class TestMetrics:
    def test_a_file_of_the_log_is_not_replaced(self, piped):
        piped("log", "append", "log", "-q", stdin=b"1\n")
        name = f"log/{0:020d}.jsonl"
        outcome = piped("log", "append", "log", "--metrics", name, stdin=b"2\n")
        assert outcome.code == 2
        assert "is in the directory of a log" in outcome.err
        assert piped("log", "cat", "log").out == b"1\n"

    def test_other_data_is_not_replaced(self, piped, tmp_path):
        (tmp_path / "data.jsonl").write_bytes(b"1\n")
        outcome = piped("log", "append", "log", "--metrics", "data.jsonl")
        assert outcome.code == 2
        assert "has other data than metrics" in outcome.err
        assert (tmp_path / "data.jsonl").read_bytes() == b"1\n"

    def test_metrics_replace_the_metrics_of_an_earlier_run(self, piped, tmp_path):
        for n in (1, 2):
            command = ["log", "append", "log", "-q", "--metrics", "m.prom"]
            assert piped(*command, stdin=b"%d\n" % n).code == 0
        assert "storage_lines" in (tmp_path / "m.prom").read_text()


class TestAConsumerOfAPipe:
    def test_lines_that_were_not_read_are_printed_again(self, piped, tmp_path):
        """The reader of the pipe ends early, as in `log cat --consumer c | head -3`."""
        rows = b"".join(b'{"i":%d,"pad":"%s"}\n' % (i, b"x" * 30) for i in range(1500))
        piped("log", "append", "log", "-q", stdin=rows)
        child = subprocess.Popen(
            [*COMMAND, "log", "cat", "log", "--consumer", "c"],
            stdout=subprocess.PIPE,
            cwd=tmp_path,
        )
        assert child.stdout.read(100)
        child.stdout.close()
        assert child.wait(60) == 0
        assert piped("log", "cat", "log", "--consumer", "c").out == rows
        assert piped("log", "cat", "log", "--consumer", "c").out == b""

    @pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
    def test_a_reader_ended_while_its_output_is_unread(self, piped, tmp_path, wait_for):
        """Unread lines in the pipe are not marked as consumed."""
        piped("log", "append", "log", "-q", stdin=b"1\n2\n3\n")
        reading, writing = os.pipe()
        child = subprocess.Popen(
            [*COMMAND, "log", "cat", "log", "--consumer", "c", "--events", "json"],
            stdout=writing,
            cwd=tmp_path,
        )
        os.close(writing)
        assert os.read(reading, 2) == b"1\n"
        unread = array("i", [0])

        def waits_for_its_reader():
            fcntl.ioctl(reading, termios.FIONREAD, unread)
            state = Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1]
            return unread[0] == len(b"2\n3\n") and state.split()[0] == "S"

        wait_for(waits_for_its_reader, 60)
        child.send_signal(signal.SIGTERM)
        child.wait(60)
        os.close(reading)
        assert piped("log", "cat", "log", "--consumer", "c").out == b"2\n3\n"


class TestWhatIsNoLog:
    @pytest.mark.parametrize("command", ["cat", "check", "stats", "recover"])
    def test_a_missing_directory(self, piped, command):
        outcome = piped("log", command, "nosuch")
        assert (outcome.code, outcome.out) == (2, b"")
        assert "nosuch: no such directory" in outcome.err

    @pytest.mark.parametrize("command", ["cat", "check", "stats", "recover"])
    def test_a_backup_and_a_segment(self, piped, command):
        piped("log", "append", "log", "-q", stdin=b"1\n")
        piped("log", "backup", "log", "backup")
        outcome = piped("log", command, "backup")
        assert outcome.code == 2
        assert "headrace log restore backup DIR" in outcome.err
        outcome = piped("log", command, f"log/{0:020d}.jsonl")
        assert outcome.code == 2
        assert "name the log: log" in outcome.err


def test_a_writer_ended_by_a_signal_reports_its_last_line(start, tmp_path):
    child = start("log", "append", "log", "--ack")
    child.stdin.write(b"1\n2\n")
    while child.stdout.readline() != b"ACK 2\n":
        pass
    child.send_signal(signal.SIGTERM)
    _out, err = child.communicate(timeout=60)
    assert b"ended early: 2 records, the last is line 2" in err


def test_stats_say_whether_a_writer_is_at_work(start, piped):
    child = start("log", "append", "log", "--ack")
    child.stdin.write(b"1\n")
    assert child.stdout.readline() == b"ACK 1\n"
    assert "has it open" in piped("log", "stats", "log").out.decode()
    child.stdin.close()
    child.wait(60)
    text = piped("log", "stats", "log").out.decode()
    assert "has it open" not in text
    assert "durability" in text
