"""``headrace log replay``."""

import json
import os
import signal

import pytest

import headrace as package
from tests.reference.slow_replay import slow_replay

TIMES = {
    "binance/btc": [n * 7 % 400 for n in range(500)],
    "binance/eth": [n // 3 for n in range(700)],
    "kraken": [n * n % 97 for n in range(300)],
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "storage"
    for name, times in TIMES.items():
        with package.LogWriter(
            path / name, time="$.t", monotonic="off", rotate_rows=64, durability="os"
        ) as log:
            log.append_many({"in": name, "t": time} for time in times)
    return path


def test_the_same_bytes_at_any_speed_and_thread_count(headrace, logs):
    expected = b"".join(
        json.dumps({"in": name, "t": time}, separators=(",", ":")).encode() + b"\n"
        for name, _line, time in slow_replay(TIMES)
    )
    for speed in ("max", "1000", "3.5"):
        for threads in (0, 1, 2, 5):
            outcome = headrace(
                "log", "replay", logs, "--speed", speed, "--threads", threads
            )
            assert (outcome.code, outcome.out) == (0, expected)
            assert "1,500 records of 3 partitions" in outcome.err


def test_tagged_records(headrace, logs):
    outcome = headrace("log", "replay", logs, "--tag", "--since", "20", "--until", "60")
    assert [json.loads(row) for row in outcome.rows] == [
        {
            "partition": name,
            "line": line,
            "time": time,
            "record": {"in": name, "t": time},
        }
        for name, line, time in slow_replay(TIMES, 20, 60)
    ]


def test_from_lines(headrace, logs):
    def printed(*options):
        found = headrace("log", "replay", logs, "--tag", *options).rows
        rows = map(json.loads, found)
        return [(each["partition"], each["line"], each["time"]) for each in rows]

    assert printed("--from", "290") == slow_replay(
        TIMES, start=dict.fromkeys(TIMES, 290)
    )
    start = {"kraken": 299, "binance/btc": 490}
    assert printed("--from", "kraken=299", "--from", "binance/btc=490") == slow_replay(
        TIMES, start=start
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no directory was given"),
        (["none"], "no such directory"),
        (["{logs}", "--speed", "0"], "speed 0.0"),
        (["{logs}", "--speed", "quick"], "speed 'quick'"),
        (["{logs}", "--from", "x"], "is not LINE or NAME=LINE"),
        (["{logs}", "--from", "0"], "lines count from 1"),
        (["{logs}", "--from", "okx=3"], "there is no partition 'okx'"),
        (["{logs}", "--from", "3", "--from", "kraken=3"], "name each, or none"),
        (["{logs}/kraken", "{logs}"], "named twice"),
    ],
    ids=str,
)
def test_invalid_command_lines(headrace, logs, options, said):
    outcome = headrace("log", "replay", *(each.format(logs=logs) for each in options))
    assert (outcome.code, outcome.out) == (2, b"")
    assert said in outcome.err


def test_the_summary_at_the_end(headrace, logs):
    outcome = headrace("log", "replay", logs / "kraken", "--events", "json")
    (event,) = outcome.events
    assert (event["event"], event["records"], event["partitions"]) == (
        "replayed",
        300,
        1,
    )
    assert event["lag_ms"] == 0
    assert headrace("log", "replay", logs, "-q").err == ""


def test_progress_events(start, tmp_path):
    """They have the replayed time, the number of records, and the lag."""
    with package.LogWriter(tmp_path / "log", time="$") as log:
        log.append_many([0, 1, 700, 60_000])
    child = start("log", "replay", "log", "--speed", "1", "--progress")
    while (event := json.loads(child.stderr.readline()))["done"] < 3:
        assert event["event"] == "progress"
    assert (event["done"], event["total"], event["time"]) == (3, None, 700)
    assert event["lag_ms"] >= 0
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130
    assert child.stdout.read() == b"0\n1\n700\n"


def test_each_record_is_printed_when_it_is_due(start, tmp_path):
    with package.LogWriter(tmp_path / "log", time="$") as log:
        log.append_many([0, 60_000_000])
    child = start("log", "replay", "log", "--speed", "2")
    assert os.read(child.stdout.fileno(), 100) == b"0\n"
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130


def test_a_log_that_is_being_written(start, process, tmp_path):
    child = start("log", "append", "log", "--ack")
    child.stdin.write(b"1\n2\n")
    while child.stdout.readline() != b"ACK 2\n":
        pass
    outcome = process("log", "replay", "log")
    assert (outcome.code, outcome.out) == (0, b"1\n2\n")


def test_a_log_whose_writer_crashed(headrace, tmp_path):
    with package.LogWriter(tmp_path / "log") as log:
        log.append(1)
    with (tmp_path / f"log/{0:020d}.jsonl").open("ab") as file:
        file.write(b'{"half')
    outcome = headrace("log", "replay", "log", "--events", "json")
    assert (outcome.code, outcome.out) == (0, b"1\n")
    assert [event["event"] for event in outcome.events] == ["recovered", "replayed"]


def test_damage(headrace, tmp_path):
    for name in ("a", "b"):
        with package.LogWriter(tmp_path / "logs" / name, time="$") as log:
            log.append_many(range(100, 400, 2) if name == "a" else range(101, 400, 2))
    path = tmp_path / f"logs/b/{0:020d}.jsonl"
    path.write_bytes(path.read_bytes().replace(b"201", b"2x1"))
    outcome = headrace("log", "replay", "logs")
    assert outcome.code == 1
    assert outcome.rows == [b"%d" % n for n in range(100, 200)]
    assert "--on-error skip" in outcome.err
    outcome = headrace("log", "replay", "logs", "--on-error", "skip")
    assert outcome.code == 0
    assert outcome.rows == [b"%d" % n for n in range(100, 400) if n != 201]
    assert "1 line that is damaged was skipped" in outcome.err
