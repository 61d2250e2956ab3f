"""The entry point: versions, help, exit codes, and output that cannot be written."""

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from headrace.cli.registry import COMMANDS, examples, load

NAMES = [entry.name for entry in COMMANDS]


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(process, flag):
    outcome = process(flag)
    assert outcome.code == 0
    assert re.fullmatch(rb"headrace \d+\.\d+\.\d+\S*\n", outcome.out)


def test_the_version_needs_nothing_heavy():
    script = "import sys; from headrace.cli.app import main; main(['--version'])"
    script += "; sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True
    )
    loaded = set(done.stderr.decode().split())
    assert "headrace.cli.app" in loaded
    assert {name for name in loaded if name.startswith("headrace")} <= {
        "headrace",
        "headrace._native",
        "headrace.cli",
        "headrace.cli.app",
        "headrace.kernel",
        "headrace.kernel.version",
    }
    assert not loaded & {"argparse", "json", "dataclasses", "threading", "pyspark"}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["help"]], ids=lambda words: words[0]
)
def test_the_overview_lists_every_command(headrace, arguments):
    outcome = headrace(*arguments)
    assert outcome.code == 0
    text = outcome.out.decode()
    listed = re.findall(r"^  (\w+(?: [\w-]+)?)  +\S", text, re.MULTILINE)
    assert listed[-len(NAMES) :] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_examples_and_every_argument(headrace, name):
    outcome = headrace(*name.split(), "--help")
    assert outcome.code == 0
    assert headrace("help", *name.split()) == outcome
    text = outcome.out.decode()
    command = load(next(entry for entry in COMMANDS if entry.name == name))
    for example in examples(command):
        assert f"  {example.line}\n      {example.does}\n" in text
    for argument in command.ARGUMENTS:
        for flag in argument.flags:
            assert flag in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([], "give a command; see `headrace --help`", id="nothing"),
        pytest.param(["cuont"], "did you mean `headrace count`?", id="nearly"),
        pytest.param(["xyzzy"], "there is no command 'xyzzy'", id="unknown command"),
        pytest.param(["head", "--nope"], "--nope", id="unknown option"),
        pytest.param(["head", "-n"], "-n", id="no value"),
        pytest.param(["head", "-n", "-1", "x"], "'-1' is not", id="fewer than none"),
        pytest.param(["head", "-n", "many", "x"], "'many'", id="no number"),
        pytest.param(["head", "--max-line", "big", "x"], "big", id="no size"),
        pytest.param(["head", "--events", "xml", "x"], "xml", id="no such form"),
        pytest.param(["head", "--stat", "x"], "--stat", id="no short forms"),
        pytest.param(["tail", "--poll", "0", "x"], "'0' is not", id="no wait"),
        pytest.param(["tail", "--poll", "nan", "x"], "'nan' is not", id="no time"),
        pytest.param(["row", "x"], "N[:M]", id="no row"),
        pytest.param(["row", "x", "1", "2"], "2", id="one too many"),
        pytest.param(["completions", "tcsh"], "tcsh", id="unknown shell"),
        pytest.param(["help", "cuont"], "cuont", id="help with nothing"),
    ],
)
def test_usage(headrace, arguments, said):
    outcome = headrace(*arguments)
    assert outcome.code == 2
    assert outcome.out == b""
    assert outcome.err.startswith("headrace: ")
    assert outcome.err.count("\n") == 1
    assert said in outcome.err


def test_a_usage_error_is_an_event_too(headrace):
    outcome = headrace("head", "--events", "json", "--nope")
    assert outcome.code == 2
    (event,) = outcome.events
    assert (event["event"], event["error"]) == ("error", "UsageError")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["graph", "expand", "--hops", "x"], id="an option's value"),
        pytest.param(["count", "--nope"], id="no such option"),
        pytest.param(["index", "check", "a", "b"], id="too much"),
        pytest.param(["cuont"], id="no such command"),
        pytest.param(["shard"], id="half a command"),
    ],
)
def test_off_a_terminal_events_are_json_in_every_command(process, arguments):
    (event,) = process(*arguments).events
    assert (event["event"], event["error"]) == ("error", "UsageError")
    text = process(*arguments, "--events", "text")
    assert text.err.startswith("headrace: ")


def test_on_a_terminal_events_are_text_in_every_command(tmp_path):
    controller, terminal = pty.openpty()
    for arguments in (["count", "none"], ["index", "check", "none"]):
        subprocess.run(
            [sys.executable, "-m", "headrace", *arguments],
            stderr=terminal,
            cwd=tmp_path,
            timeout=30,
            check=False,
        )
        assert os.read(controller, 4096).startswith(b"headrace: none: ")
    os.close(terminal)
    os.close(controller)


def test_a_command_without_file_is_refused_on_a_terminal_and_reads_a_pipe(
    process, tmp_path
):
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "count"],
        stdin=terminal,
        capture_output=True,
        timeout=30,
        check=False,
    )
    os.close(controller)
    os.close(terminal)
    assert done.returncode == 2
    assert b"give a FILE" in done.stderr
    assert process("count", stdin=b"1\n2\n").out == b"2\n"


def test_a_command_line_without_arguments_prints_help():
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "headrace"], stdout=terminal, timeout=30, check=False
    )
    os.close(terminal)
    assert done.returncode == 0
    assert b"usage: headrace COMMAND" in os.read(controller, 4096)
    os.close(controller)


@pytest.mark.parametrize(
    "line",
    [
        "head -n 1000000 {file} | head -1",
        "row {file} : | head -1",
        "tail -n 1000000 {file} | head -1",
        "head -n 1000000 --strict {file} | head -1",
        "--help | true",
        "--version | true",
        "count {file} | true",
        "head {file} 2>&1 --stats | true",
    ],
)
def test_a_closed_pipe_is_not_a_failure(numbers, tmp_path, line):
    file = numbers(300_000)
    errors = tmp_path / "errors"
    script = f"{sys.executable} -m headrace {line.format(file=file)}"
    script += "; echo ${PIPESTATUS[0]} >&2"
    with errors.open("wb") as err:
        subprocess.run(
            ["bash", "-c", script], stdout=subprocess.PIPE, stderr=err, check=True
        )
    assert errors.read_text() == "0\n"


def test_a_full_disk_is_a_failure(numbers, process):
    file = numbers(10)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "headrace", "head", "--events", "text", file],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"headrace: standard output: No space left on device\n"


def test_closed_output_is_a_failure(numbers):
    file = numbers(10)
    script = f"{sys.executable} -m headrace head --events text {file} >&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr == b"headrace: standard output is closed\n"


def test_an_interrupt_ends_with_130(start, wait_for):
    child = start("count", "-")
    child.stdin.write(b"1\n")
    wait_for(lambda: unread(child.stdin) == 0)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=5) == 130
    assert child.stderr.read() == b""


def unread(pipe):
    """Return the number of unread bytes in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
