"""Progress: nothing for short work, then a bar that is erased at the end, or events."""

import json
import os
import pty
import re
import threading
import time
from contextlib import suppress

import pytest

from headrace.cli.console import Console, bar


class Clock:
    """A clock that the test sets."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_short_work_reports_no_progress(clock, capsys):
    console = Console(clock)
    console.json = console.shows_progress = True
    with console.progress() as report:
        for step in range(49):
            clock.now = 100 + step / 100
            report(step, 50)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("form", ["json", "text"])
def test_progress_can_be_requested_without_a_terminal(clock, capsys, form):
    console = Console(clock)
    console.json = form == "json"
    console.shows_progress = True
    with console.progress() as report:
        clock.now += 10
        report(1, 2)
    (line,) = capsys.readouterr().err.splitlines()
    if form == "json":
        expected = {"event": "progress", "message": "1 bytes", "done": 1, "total": 2}
        assert json.loads(line) == expected
    else:
        assert line == "headrace: 1 bytes"


def test_events_come_every_half_second(clock, capsys):
    console = Console(clock)
    console.json = console.shows_progress = True
    with console.progress() as report:
        for step in range(201):
            clock.now = 100 + step / 100
            report(step, 200)
    events = capsys.readouterr().err.splitlines()
    assert [
        re.search(r'"done": (\d+), "total": 200', event)[1] for event in events
    ] == [
        "50",
        "100",
        "150",
        "200",
    ]


@pytest.mark.parametrize("silence", ["quiet", "text", "json", "no progress"])
def test_no_progress(clock, capsys, silence):
    """Without a terminal, progress is not shown by default."""
    console = Console(clock)
    console.quiet = silence == "quiet"
    console.json = silence in ("quiet", "json")
    console.shows_progress = {"quiet": True, "no progress": False}.get(silence)
    with console.progress() as report:
        clock.now += 10
        report(1, 2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("columns", [10, 20, 40, 60, 79, 200])
@pytest.mark.parametrize("total", [None, 0, 100, 10**13])
def test_a_bar_fits_its_line(columns, total):
    for done in (0, 50, 100, 10**12):
        assert len(bar(done, total, 3.0, columns)) <= columns


@pytest.fixture
def terminal():
    """Yield a terminal: its file descriptor, and the bytes written to it."""
    controller, end = pty.openpty()
    seen = bytearray()

    def watch():
        # When the last end is closed, reading fails instead of returning no bytes.
        with suppress(OSError):
            while data := os.read(controller, 4096):
                seen.extend(data)

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield end, seen
    os.close(end)
    watcher.join()
    os.close(controller)


def test_a_bar_is_shown_on_a_terminal_and_erased(start, terminal, wait_for):
    end, seen = terminal
    child = start(
        "count", "-", stderr=end, env=os.environ | {"TERM": "xterm"}, text=False
    )
    rows = 0
    while b"/s" not in seen and rows < 100_000_000:
        child.stdin.write(b'{"a":1}\n' * 100_000)
        rows += 100_000
        time.sleep(0.01)
    child.stdin.close()
    assert child.stdout.read() == b"%d\n" % rows
    assert child.wait(timeout=20) == 0
    wait_for(lambda: seen.endswith(b"\r\x1b[K"))
    assert re.search(rb"\r\x1b\[K[\d.]+ MiB  [\d.]+ MiB/s", seen)


@pytest.mark.spark
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "command", ["query", pytest.param("count", marks=pytest.mark.sweep)]
)
def test_spark_draws_no_second_bar(start, terminal, tmp_path, command):
    end, seen = terminal
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}\n' * 1000)
    words = ["--engine", "spark", "--master", "local[1,4]", "--partition-bytes", "400"]
    if command == "query":
        words += ["--out", "b.jsonl", "a"]
    child = start(
        command, *words, "a.jsonl", stderr=end, env=os.environ | {"TERM": "xterm"}
    )
    out = child.stdout.read()
    assert child.wait(timeout=100) == 0
    if command == "query":
        assert (tmp_path / "b.jsonl").read_bytes() == b"1\n" * 1000
    else:
        assert out == b"1000\n"
    assert b"Stage" not in seen
