"""The tables of commands and events, and what is made from them."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest

import headrace
from headrace.cli.events import EVENTS, EventName
from headrace.cli.help.reference import reference
from headrace.cli.options.flags import COMMON
from headrace.cli.parser import build
from headrace.cli.registry import COMMANDS, load

ROOT = Path(__file__).parents[2]
NAMES = [entry.name for entry in COMMANDS]


def test_every_command_has_one_entry_and_one_module():
    folder = ROOT / "python/headrace/cli/commands"
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert len(modules) > 5
    expected = [name.replace(" ", "_").replace("-", "_") for name in NAMES]
    assert sorted(expected) == sorted(modules)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("entry", COMMANDS, ids=NAMES)
def test_a_command_is_complete(entry):
    command = load(entry)
    assert command.EXAMPLES
    assert callable(command.run)
    assert entry.summary[0].islower()
    assert not entry.summary.endswith(".")
    flags = [flag for each in (*command.ARGUMENTS, *COMMON) for flag in each.flags]
    assert len(set(flags)) == len(flags)
    assert all(re.fullmatch(r"-[a-zA-Z]|--[a-z]+(-[a-z]+)*", flag) for flag in flags)
    assert all(each.help for each in command.ARGUMENTS)
    assert build(entry, command).format_help()


def test_every_event_is_in_the_table():
    assert [event.name for event in EVENTS] == list(get_args(EventName))


def test_the_reference_is_up_to_date():
    path = ROOT / "docs/cli.md"
    assert path.read_text() == reference(), (
        "run: python -m headrace.cli.help.reference > docs/cli.md"
    )


EXAMPLES = [
    pytest.param(example.line, id=example.line)
    for entry in COMMANDS
    for example in load(entry).EXAMPLES
    if entry.name not in ("demo", "pipeline run")  # they need Spark
]


@pytest.fixture
def playground(numbers, tmp_path):
    """The files the examples speak of."""
    levels = ("info", "error")
    app = [
        b'{"id":%d,"level":"%s","ms":%d}\n' % (n, levels[n % 2].encode(), n * 40)
        for n in range(30)
    ]
    (tmp_path / "app.jsonl").write_bytes(b"".join(app))
    (tmp_path / "app.json").write_bytes(b'[\n  {"id": 1},\n  {"id": 2}\n]\n')
    (tmp_path / "events.toml").write_text(
        'name = "p"\ndirectory = "out"\n[source]\npaths = "app.jsonl"\n'
    )
    (tmp_path / "edges.jsonl").write_bytes(
        b'{"from":"C123","pred":"subClassOf","to":"C456"}\n'
        b'{"from":"C456","pred":"subClassOf","to":"C789"}\n'
    )
    (tmp_path / "users.jsonl").write_bytes(b'{"id":1,"name":"Ada"}\n')
    numbers(30, "logs/a.jsonl")
    numbers(30, "logs/b.jsonl")
    headrace.KeyIndex.build(tmp_path / "app.jsonl", "id")
    subprocess.run(["gzip", "-k", "app.jsonl"], cwd=tmp_path, check=True)
    with headrace.LogWriter(tmp_path / "trades") as log:
        log.append_lines(b"".join(app))
    headrace.Log(tmp_path / "trades").backup(tmp_path / "trades.backup")
    with headrace.ShardWriter(tmp_path / "shards") as writer:
        writer.write_lines(b"".join(app))
    return tmp_path


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are for bash")
@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_works(playground, on_path, line):
    endless = re.search(r" -[fF]\b", line)
    script = f"timeout --foreground -s INT 2 {line}" if endless else line
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=playground,
        env=on_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    # What `timeout` had to end is reported as 124.
    assert done.returncode == (124 if endless else 0), done.stderr.decode()
    silent = (
        "source",
        *(f"headrace index {word}" for word in ("build", "update", "compact")),
        "headrace shard vacuum",
    )
    assert done.stdout or "later" in line or line.startswith(silent)
