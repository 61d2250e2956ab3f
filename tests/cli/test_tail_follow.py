"""``tail -f`` on a terminal: a process, a file that changes, Ctrl-C."""

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "app.jsonl"
    path.write_bytes(b"1\n2\n3\n")
    return path


@pytest.fixture
def tail(start):
    text = ("--poll", "0.02", "--events", "text")
    return lambda *words, **options: start("tail", *text, *words, **options)


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def stop(child):
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=5) == 130
    return child.stderr.read().decode()


def test_rows_come_as_they_are_written(tail, path):
    child = tail("-n", "2", "-f", path)
    assert child.stdout.read(4) == b"2\n3\n"
    append(path, b"4\n5")
    assert child.stdout.read(100) == b"4\n"
    append(path, b"5\n\n")
    assert child.stdout.read(100) == b"55\n\n"
    assert stop(child) == ""


def test_rotation_is_reported_and_no_row_is_lost(tail, path):
    child = tail("-f", path)
    assert child.stdout.read(100) == b"1\n2\n3\n"
    append(path, b"4\n[0]")
    path.rename(path.with_suffix(".1"))
    path.write_bytes(b"5\n")
    assert (
        child.stderr.readline().decode()
        == f"headrace: {path}: rotated; going on with the new file\n"
    )
    assert read_exactly(child.stdout, b"4\n[0]\n5\n")
    assert stop(child) == ""


def test_truncation_is_reported(tail, path):
    child = tail("-f", path, "--events", "json")
    assert child.stdout.read(100) == b"1\n2\n3\n"
    path.write_bytes(b"9\n")
    assert b'"truncated"' in child.stderr.readline()
    assert child.stdout.read(100) == b"9\n"
    assert stop(child) == ""


def test_a_missing_file_is_an_error_or_waited_for(tail, process, tmp_path):
    path = tmp_path / "later.jsonl"
    outcome = process("tail", "-f", path)
    assert (outcome.code, outcome.out) == (1, b"")
    assert str(path) in outcome.err
    child = tail("-F", path)
    assert (
        child.stderr.readline().decode()
        == f"headrace: {path}: not there yet; waiting for it\n"
    )
    path.write_bytes(b"1\n")
    assert child.stdout.read(100) == b"1\n"
    assert stop(child) == ""


def test_standard_input_is_passed_on(tail):
    child = tail("-f", "-")
    child.stdin.write(b"1\n2\n3")
    assert read_exactly(child.stdout, b"1\n2\n")
    child.stdin.write(b"4\n5")
    assert child.stdout.read(100) == b"34\n"
    child.stdin.close()
    assert child.stdout.read(100) == b"5\n"
    assert child.wait(timeout=5) == 0
    child.stdin = None


def test_compressed_standard_input_is_passed_on(tail):
    child = tail("-f", "-")
    child.stdin.write(gzip.compress(b"1\n2\n3"))
    child.stdin.close()
    assert read_exactly(child.stdout, b"1\n2\n3\n")
    assert child.wait(timeout=5) == 0
    child.stdin = None


def test_strict_ends_standard_input_at_the_first_bad_row(tail):
    child = tail("-f", "-", "--strict")
    child.stdin.write(b"1\n{bad\n")
    assert read_exactly(child.stdout, b"1\n{bad\n")
    assert child.wait(timeout=5) == 1
    assert b"-: line 2, byte 3: " in child.stderr.read()


def test_an_interrupt_on_standard_input(tail):
    child = tail("-f", "-")
    child.stdin.write(b"1\n")
    assert child.stdout.read(100) == b"1\n"
    assert stop(child) == ""


INTERRUPTED = """
import signal, sys, threading, time
import headrace

def interrupt():
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    list(headrace.open("-"))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_signal_that_interrupts_no_read_ends_a_wait_for_a_pipe():
    # Like a signal just before a read, it only sets a flag in Python.
    command = [sys.executable, "-c", INTERRUPTED]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as child:
        assert child.stdout.read() == b"interrupted\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param(["a.jsonl", "b.jsonl"], "one file", id="several files"),
        pytest.param(["a.jsonl", "-"], "one file", id="a file and standard input"),
        pytest.param(["packed.jsonl.gz"], "compressed", id="compressed"),
        pytest.param(["s3://bucket/a.jsonl"], "URL", id="remote"),
        pytest.param(["*.jsonl"], "pattern", id="a pattern"),
        pytest.param(["directory"], "regular file", id="a directory"),
    ],
)
@pytest.mark.parametrize("flag", ["-f", "-F"])
def test_sources_that_cannot_be_followed(
    headrace, numbers, tmp_path, files, said, flag
):
    numbers(3, "a.jsonl")
    numbers(3, "b.jsonl")
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(b"1\n"))
    (tmp_path / "directory").mkdir()
    outcome = headrace("tail", flag, *files)
    assert (outcome.code, outcome.out) == (2, b"")
    assert said in outcome.err


def test_long_rows_and_stats(tail, path):
    child = tail("-f", "-n1", path, "--max-line", "10", "--stats")
    assert child.stdout.read(100) == b"3\n"
    append(path, b"x" * 11 + b"\n\n{\n")
    assert child.stdout.read(100) == b"\n{\n"
    warning, stats, *bad = stop(child).splitlines()
    assert warning.startswith(f"headrace: warning: {path}: byte 6: 11 bytes long")
    assert "--max-line" in warning
    assert stats == "lines 4 / records 1 / blank 1 / bad 1 / too long 1"
    assert [place.split(": ")[1] for place in bad] == ["byte 6", "byte 20"]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_an_endless_line_is_not_kept(tail, path):
    child = tail("-f", "-n1", path, "--max-line", "100")
    assert child.stdout.read(100) == b"3\n"
    for size in range(1, 9):
        # A sparse file: the line is long, but takes no memory.
        os.truncate(path, size << 25)
        time.sleep(0.05)
    append(path, b"\n4\n")
    assert read_exactly(child.stdout, b"4\n")
    status = Path(f"/proc/{child.pid}/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    assert int(peak) < 100_000
    assert f"{(8 << 25) - 6} bytes long" in stop(child)


def test_strict_ends_at_the_first_bad_row(tail, path):
    child = tail("-f", path, "--strict")
    assert child.stdout.read(100) == b"1\n2\n3\n"
    append(path, b"4\n{bad\n5\n")
    assert child.wait(timeout=5) == 1
    assert str(path) in child.stderr.read().decode()


def test_a_closed_pipe_ends_tail(tail, path):
    child = tail("-f", path)
    assert child.stdout.read(100) == b"1\n2\n3\n"
    child.stdout.close()
    append(path, b"4\n")
    assert child.wait(timeout=5) == 0
    assert child.stderr.read() == b""
    child.stdout = None


def test_an_interrupt_while_waiting(tail, tmp_path):
    child = tail("-F", tmp_path / "never.jsonl")
    assert b"waiting" in child.stderr.readline()
    assert stop(child) == ""


def read_exactly(pipe, expected):
    got = b""
    while len(got) < len(expected):
        more = pipe.read(100)
        assert more, f"ended after {got!r}"
        got += more
    assert got == expected
    return True
