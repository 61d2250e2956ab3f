"""Running the command line: as a process, and inside the test."""

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest
import zstandard

from headrace.cli.app import main

COMMAND = (sys.executable, "-m", "headrace")


@dataclass(frozen=True)
class Outcome:
    code: int
    out: bytes
    err: str

    @property
    def rows(self):
        """The rows on standard output."""
        assert not self.out or self.out.endswith(b"\n"), "a row without line end"
        return self.out.split(b"\n")[:-1]

    @property
    def events(self):
        """The objects on standard error."""
        return [json.loads(line) for line in self.err.splitlines()]


@pytest.fixture
def headrace(capfdbinary, monkeypatch, tmp_path, request):
    """Return a function that runs a command line in this process, in an empty directory.

    Events are text, as on a terminal; a module with ``EVENTS = "json"`` gets them as JSON.
    """
    monkeypatch.chdir(tmp_path)
    events = getattr(request.module, "EVENTS", "text")
    monkeypatch.setattr("headrace.cli.app.default_events", lambda: events)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        sys.stdout.flush()
        captured = capfdbinary.readouterr()
        return Outcome(code, captured.out, captured.err.decode())

    return run


@pytest.fixture
def piped(capfdbinary, monkeypatch, tmp_path):
    """Run a command line in this process as in a script: pipes, and events as JSON."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=b""):
        with standard_input(stdin):
            code = main([str(argument) for argument in arguments])
            sys.stdout.flush()
        captured = capfdbinary.readouterr()
        return Outcome(code, captured.out, captured.err.decode())

    return run


@contextmanager
def standard_input(content):
    """Replace the standard input of this process by a pipe with some bytes."""
    reading, writing = os.pipe()
    before, replaced = os.dup(0), sys.stdin
    os.dup2(reading, 0)
    os.close(reading)

    def write():
        # A command may end before it has read everything.
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as pipe:
            pipe.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with os.fdopen(0, closefd=False) as sys.stdin:
            yield
    finally:
        sys.stdin = replaced
        os.dup2(before, 0)
        os.close(before)
        writer.join()


@pytest.fixture
def process(tmp_path):
    """Run a command line in another process; its events are JSON [default of a pipe]."""

    def run(*arguments, stdin=b"", **options):
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
            **options,
        )
        return Outcome(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def start(tmp_path):
    """Start a process, and end it when the test ends."""
    started = []

    def run(*arguments, **options):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        child = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=tmp_path,
            bufsize=0,
            **(pipes | options),
        )
        started.append(child)
        return child

    yield run
    for child in started:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def on_path(tmp_path_factory):
    """An environment in which ``headrace`` can be called by name."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "headrace"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m headrace "$@"\n')
    script.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture
def wait_for():
    """Wait until something is true."""

    def wait(condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it never came"
            time.sleep(0.01)

    return wait


@pytest.fixture
def numbers(tmp_path):
    """A file whose row n is ``{"n":n}``."""

    def write(count, name="numbers.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(b'{"n":%d}\n' % n for n in range(count)))
        return path

    return write


@pytest.fixture
def compressed(tmp_path):
    """A file with compressed content."""

    def write(codec, content, name="rows.jsonl"):
        path = tmp_path / name
        compress = {"gzip": gzip.compress, "zstd": zstandard.compress}[codec]
        path.write_bytes(compress(content))
        return path

    return write


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch, tmp_path_factory):
    """Hide the settings and caches of the user who runs the tests."""
    for name in [name for name in os.environ if name.startswith("HEADRACE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("COLUMNS", "80")
