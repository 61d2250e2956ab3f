"""Completion scripts, run by the shells they are for."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest

from headrace.cli.flags import COMMON
from headrace.cli.help.completions import SHELLS
from headrace.cli.registry import COMMANDS, first_words, load

BASH = shutil.which("bash")
NAMES = [entry.name for entry in COMMANDS]


def complete(words):
    """Return the completions that bash offers for the last of `words`."""
    script = f"""
        {SHELLS["bash"]()}
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)})
        COMP_CWORD={len(words) - 1}
        _headrace
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run([BASH, "-c", script], capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().split()


def flags(name):
    command = load(next(entry for entry in COMMANDS if entry.name == name))
    arguments = (*command.ARGUMENTS, *COMMON)
    return [flag for argument in arguments for flag in argument.flags]


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param([""], [*first_words(), "--help", "--version"], id="commands"),
        pytest.param(
            ["shard", ""],
            ["write", "cat", "check", "stats", "publish", "vacuum"],
            id="second words",
        ),
        pytest.param(["shard", "w"], ["write"], id="some second words"),
        pytest.param(
            ["shard", "cat", "--on-error", ""],
            ["abort", "skip"],
            id="choices of two words",
        ),
        pytest.param(["co"], ["count", "convert", "completions"], id="some commands"),
        pytest.param(["--v"], ["--version"], id="global option"),
        pytest.param(["tail", "-"], flags("tail"), id="options"),
        pytest.param(["tail", "x", "--fo"], ["--follow"], id="an option after a file"),
        pytest.param(["count", "--events", ""], ["text", "json"], id="choices"),
        pytest.param(["count", "--events", "j"], ["json"], id="some choices"),
        pytest.param(["count", "--events", "="], ["text", "json"], id="behind ="),
        pytest.param(["count", "--events", "=", "t"], ["text"], id="some behind ="),
        pytest.param(["completions", ""], ["bash", "zsh", "fish"], id="shells"),
        pytest.param(["help", "ta"], ["tail"], id="commands of help"),
        pytest.param(["count", ""], [], id="files are left to bash"),
        pytest.param(["head", "-n", ""], [], id="nothing for a number"),
        pytest.param(["nothing", "--"], [], id="an unknown command"),
    ],
)
def test_bash(words, offered):
    assert complete(["headrace", *words]) == offered


@pytest.fixture
def typed(tmp_path, on_path):
    """Type into an interactive bash; return its command line."""
    (tmp_path / "sample file.jsonl").touch()
    (tmp_path / "sample-dir").mkdir()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execve(
            BASH,
            ["bash", "--norc", "--noprofile", "-i"],
            on_path | {"TERM": "dumb", "PS1": "$ "},
        )

    def type_in(text, expected):
        os.write(terminal, text.encode())
        seen, deadline = "", time.monotonic() + 20
        while expected not in seen and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                seen += os.read(terminal, 4096).decode()
        return seen

    yield type_in
    os.close(terminal)
    os.waitpid(child, 0)


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_interactively(typed):
    typed("source <(headrace completions bash); echo rea''dy\n", "ready\r\n")
    assert "count " in typed("headrace cou\t", "count ")
    assert "sample\\ file.jsonl " in typed("sample\\ \t", "sample\\ file.jsonl ")
    assert "--index-dir " in typed("--ind\t", "--index-dir ")
    assert "sample-dir/" in typed("sam\t", "sample-dir/")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_syntax_is_right(tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(SHELLS[shell]())
    subprocess.run([shell, "-n", script], check=True)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_known(headrace, shell):
    script = headrace("completions", shell).out.decode()
    for name in NAMES:
        assert all(word in script for word in name.split())
        for flag in flags(name):
            assert (
                f"-l {flag[2:]} "
                if shell == "fish" and flag.startswith("--")
                else flag[1:]
            ) in script
