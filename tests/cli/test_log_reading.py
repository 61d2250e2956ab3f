"""``headrace log cat`` by time, following, and as a consumer; ``headrace log consumers``."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import headrace as package


def lines(first, last):
    return b"".join(b'{"n":%d}\n' % n for n in range(first, last + 1))


@pytest.fixture
def log(tmp_path):
    with package.LogWriter(tmp_path / "log", rotate_rows=4, time="$.n") as log:
        log.append_lines(lines(1, 10))
    return tmp_path / "log"


class Reading:
    """The output of a process, read as it comes."""

    def __init__(self, child):
        self.child = child
        self.out = b""

    def until(self, wanted):
        while not self.out.endswith(wanted):
            data = os.read(self.child.stdout.fileno(), 1 << 16)
            assert data, self.child.stderr.read()
            self.out += data
        return self.out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--since", "4", "--until", "7"], lines(4, 6)),
        (["--since", "9"], lines(9, 10)),
        (["--until", "1970-01-01T00:00:00.003Z"], lines(1, 2)),
        (["--since", "3", "-n", "2"], lines(3, 4)),
        (["--since", "3", "--from", "6", "--to", "8"], lines(6, 8)),
        (["--since", "-15m"], b""),
        (["--since=-15m"], b""),
        (["--until", "now", "-n", "1"], lines(1, 1)),
        (["--since", "7", "--until", "4"], b""),
    ],
    ids=str,
)
def test_by_time(headrace, log, options, expected):
    assert headrace("log", "cat", "log", *options).out == expected


def test_relative_times(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log") as log:
        log.append(1)
    assert headrace("log", "cat", "log", "--since", "-1h").out == b"1\n"
    assert headrace("log", "cat", "log", "--since", "-1h30m", "-f", "-n", "1").out == (
        b"1\n"
    )
    assert headrace("log", "cat", "log", "--until", "-1h").out == b""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--since", "soon"], "not a time: 'soon'"),
        (["--from", "0"], "lines count from 1"),
        (["-f", "--until", "now"], "--follow has no end"),
        (["-f", "--to", "3"], "--follow has no end"),
        (["--consumer", "c", "--from", "3"], "log consumers --set"),
        (["--consumer", "a/b"], "consumer 'a/b': a name is"),
        (["--gone", "maybe"], "invalid choice"),
    ],
    ids=str,
)
def test_invalid_command_lines(headrace, log, options, said):
    outcome = headrace("log", "cat", "log", *options)
    assert (outcome.code, outcome.out) == (2, b"")
    assert said in outcome.err


def test_following_a_writer_that_rotates(start, tmp_path):
    writer = start("log", "append", "log", "--ack", "--rotate-rows", "7")
    writer.stdin.write(lines(1, 5))
    assert writer.stdout.readline().startswith(b"ACK")
    reader = Reading(start("log", "cat", "log", "-f", "--poll", "0.01"))
    reader.until(lines(1, 5))
    for first in range(6, 100, 10):
        writer.stdin.write(lines(first, first + 9))
        reader.until(lines(first, first + 9))
    writer.stdin.close()
    assert writer.wait(20) == 0
    assert len(list((tmp_path / "log").glob("*.jsonl"))) > 10
    # Another writer continues.
    with package.LogWriter(tmp_path / "log") as log:
        log.append_lines(lines(106, 110))
    assert reader.until(lines(106, 110)) == lines(1, 110)
    reader.child.send_signal(signal.SIGINT)
    assert reader.child.wait(20) == 130
    assert reader.child.stderr.read() == b""


def test_waiting_for_a_log(start, tmp_path):
    reader = Reading(start("log", "cat", "log", "-f", "--poll", "0.01", "-n", "3"))
    assert b"there is no log yet" in reader.child.stderr.readline()
    with package.LogWriter(tmp_path / "other") as log:
        log.append_lines(lines(1, 5))
    (tmp_path / "other").rename(tmp_path / "log")
    assert reader.until(lines(3, 3)) == lines(1, 3)
    assert reader.child.wait(20) == 0


def test_a_consumer(headrace, log):
    read = ("log", "cat", "log", "--consumer", "billing")
    assert headrace(*read, "-n", "3").out == lines(1, 3)
    assert headrace(*read, "-n", "0").out == b""
    assert headrace(*read, "-f", "-n", "2").out == lines(4, 5)
    (consumer,) = map(json.loads, headrace("log", "consumers", "log", "--json").rows)
    assert consumer.pop("updated") > 1_700_000_000_000
    assert consumer == {
        "consumer": "billing",
        "line": 5,
        "lag_lines": 5,
        "lag_ms": 5,
        "gone_lines": 0,
    }
    assert headrace(*read).out == lines(6, 10)
    assert headrace(*read).out == b""
    (consumer,) = map(
        json.loads,
        headrace("log", "consumers", "log", "--set", "billing=8", "--json").rows,
    )
    assert consumer["lag_lines"] == 2
    assert headrace(*read).out == lines(9, 10)
    assert headrace("log", "consumers", "log", "--remove", "billing").out == b""
    assert headrace(*read).out == lines(1, 10)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "billing"], "is not NAME=LINE"),
        (["--set", "billing=-1"], "is not NAME=LINE"),
        (["--set", "a/b=1"], "a name is up to"),
        (["--set", "billing=11"], "no line 11; the last is line 10"),
        (["--remove", "billing"], "there is no consumer 'billing'"),
    ],
    ids=str,
)
def test_consumers_that_cannot_be(headrace, log, options, said):
    outcome = headrace("log", "consumers", "log", *options)
    assert (outcome.code, outcome.out) == (2, b"")
    assert said in outcome.err


def test_output_that_was_not_read_is_printed_again(process, log, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "log", "cat", "log", "--consumer", "c"],
        stdout=writing,
        cwd=tmp_path,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0
    assert process("log", "cat", "log", "--consumer", "c").out == lines(1, 10)


def test_a_killed_consumer_misses_no_line(start, process, tmp_path):
    """Delivery is at least once: lines without an acknowledged position come again."""
    total = 6000
    with package.LogWriter(tmp_path / "log", durability="os", rotate_rows=500) as log:
        log.append_lines(lines(1, total))
    seen = set()
    for _ in range(8):
        child = start("log", "cat", "log", "--consumer", "c")
        data = b""
        while len(data) < 20_000 and (more := os.read(child.stdout.fileno(), 5000)):
            data += more
        child.kill()
        child.wait()
        data += child.stdout.read()
        found = list(map(int, re.findall(rb'\{"n":(\d+)\}\n', data)))
        seen.update(found)
        for state in package.Log(tmp_path / "log").consumers():
            assert seen >= set(range(1, state.line + 1))
    rest = process("log", "cat", "log", "--consumer", "c")
    seen.update(map(int, re.findall(rb'"n":(\d+)', rest.out)))
    assert seen == set(range(1, total + 1))


def test_a_consumer_ended_by_a_signal_keeps_its_position(start, process, tmp_path):
    with package.LogWriter(tmp_path / "log") as log:
        log.append_lines(lines(1, 3))
    reader = Reading(start("log", "cat", "log", "-f", "--consumer", "c"))
    reader.until(lines(1, 3))
    outcome = process("log", "cat", "log", "--consumer", "c")
    assert outcome.code == 1
    assert f"process {reader.child.pid} on " in outcome.err
    with package.LogWriter(tmp_path / "log") as log:
        log.append_lines(lines(4, 4))
    reader.until(lines(4, 4))
    reader.child.send_signal(signal.SIGTERM)
    assert reader.child.wait(20) == 143
    # The position after the last line may not be stored yet: it is stored with the next one.
    rest = process("log", "cat", "log", "--consumer", "c").out
    assert rest in (b"", lines(4, 4))
