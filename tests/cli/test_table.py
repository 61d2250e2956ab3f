"""The tables of commands and events, and the reference generated from them."""

import ast
import gzip
import json
import re
import selectors
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.cli.argument import build
from headrace.cli.events import EVENTS
from headrace.cli.flags import COMMON
from headrace.cli.help.reference import reference
from headrace.cli.registry import COMMANDS, EXAMPLE, examples, load
from tests.docs.markdown import words_of

ROOT = Path(__file__).parents[2]
NAMES = [entry.name for entry in COMMANDS]


def test_every_command_has_one_entry_and_one_module():
    folder = ROOT / "python/headrace/cli/commands"
    files = [path.relative_to(folder) for path in folder.rglob("*.py")]
    modules = [" ".join(f.with_suffix("").parts) for f in files if f.stem != "__init__"]
    assert len(modules) > 5
    expected = [name.replace("-", "_") for name in NAMES]
    assert sorted(expected) == sorted(modules)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("entry", COMMANDS, ids=NAMES)
def test_a_command_is_complete(entry):
    command = load(entry)
    assert examples(command)
    assert not EXAMPLE.sub("", command.EXAMPLES).strip()
    assert callable(command.run)
    assert entry.summary[0].islower()
    assert not entry.summary.endswith(".")
    flags = [flag for each in (*command.ARGUMENTS, *COMMON) for flag in each.flags]
    assert len(set(flags)) == len(flags)
    assert all(re.fullmatch(r"-[a-zA-Z]|--[a-z]+(-[a-z]+)*", flag) for flag in flags)
    assert all(each.help for each in command.ARGUMENTS)
    assert build(entry, command).format_help()


def texts_of(*nodes):
    """Return the texts that stand in nodes of a program."""
    found = (part for node in nodes for part in ast.walk(node))
    return {part.value for part in found if isinstance(part, ast.Constant)}


def test_the_table_has_the_events_that_are_emitted():
    names = [event.name for event in EVENTS]
    assert len(names) == len(set(names))
    emitted, written = set(), set()
    for path in (ROOT / "python/headrace/cli").rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="emit" | "_say"), args=[name, *_]
                ):
                    emitted |= texts_of(name)
        if path.name != "events.py":
            written |= texts_of(tree)
    assert len(emitted) > 40
    assert emitted <= set(names) <= written


def test_the_reference_is_up_to_date():
    path = ROOT / "docs/cli.md"
    assert path.read_text() == reference(), (
        "run: python -m headrace.cli.help.reference > docs/cli.md"
    )


EXAMPLES = [
    example.line
    for entry in COMMANDS
    for example in examples(load(entry))
    if entry.name not in ("demo", "pipeline run")  # they need Spark
]
ON_SPARK = [line for line in EXAMPLES if "--engine spark" in line]
SILENT = (
    "source",
    *(f"headrace index {word}" for word in ("build", "update", "compact")),
    "headrace shard vacuum",
)


@pytest.fixture(scope="module")
def files_of_examples(tmp_path_factory):
    """The files that the examples name."""
    folder = tmp_path_factory.mktemp("examples") / "files"
    (folder / "logs").mkdir(parents=True)
    levels = ("info", "error")
    app = b"".join(
        b'{"id":%d,"level":"%s","ms":%d}\n' % (n, levels[n % 2].encode(), n * 40)
        for n in range(30)
    )
    (folder / "app.jsonl").write_bytes(app)
    (folder / "app.jsonl.gz").write_bytes(gzip.compress(app))
    (folder / "app.json").write_bytes(b'[\n  {"id": 1},\n  {"id": 2}\n]\n')
    (folder / "events.toml").write_text(
        'name = "p"\ndirectory = "out"\n[source]\npaths = "app.jsonl"\n'
    )
    (folder / "edges.jsonl").write_bytes(
        b'{"from":"C123","pred":"subClassOf","to":"C456"}\n'
        b'{"from":"C456","pred":"subClassOf","to":"C789"}\n'
    )
    (folder / "users.jsonl").write_bytes(b'{"id":1,"name":"Ada"}\n')
    for name in "ab":
        numbers = b"".join(b'{"n":%d}\n' % n for n in range(30))
        (folder / f"logs/{name}.jsonl").write_bytes(numbers)
    headrace.KeyIndex.build(folder / "app.jsonl", "id")
    with headrace.LogWriter(folder / "trades") as log:
        log.append_lines(app)
    headrace.Log(folder / "trades").backup(folder / "trades.backup")
    with headrace.ShardWriter(folder / "shards") as writer:
        writer.write_lines(app)
    return folder


@pytest.fixture
def run_example(files_of_examples, piped, start, on_path, tmp_path):
    """Run a line in the directory of the files; in this process if it only calls headrace."""
    shutil.copytree(files_of_examples, tmp_path, dirs_exist_ok=True)

    def run(line):
        words = words_of(line)
        if words is None:
            done = subprocess.run(
                ["bash", "-c", line],
                cwd=tmp_path,
                env=on_path,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            return done.returncode, done.stdout, done.stderr
        if re.search(r" -[fF]\b", line):
            return interrupted(start(*words[1:]))
        outcome = piped(*words[1:])
        return outcome.code, outcome.out, outcome.err

    return run


def interrupted(child):
    """Interrupt a command that follows a file after its first output."""
    with selectors.DefaultSelector() as output:
        for pipe in (child.stdout, child.stderr):
            output.register(pipe, selectors.EVENT_READ)
        output.select()
    child.send_signal(signal.SIGINT)
    printed, said = child.communicate()
    return 0 if child.returncode == 130 else child.returncode, printed, said


@pytest.mark.skipif(shutil.which("bash") is None, reason="the examples are for bash")
@pytest.mark.parametrize("line", [line for line in EXAMPLES if line not in ON_SPARK])
def test_an_example_works(run_example, line):
    code, printed, said = run_example(line)
    assert code == 0, said
    assert printed or "later" in line or line.startswith(SILENT)


IN_ONE_SESSION = """
import json, sys
from headrace.cli.app import main

for words in json.loads(sys.argv[1]):
    print("code", main(words), flush=True)
"""


@pytest.mark.spark
def test_the_examples_on_spark_work(files_of_examples, tmp_path):
    shutil.copytree(files_of_examples, tmp_path, dirs_exist_ok=True)
    lines = [words_of(line)[1:] for line in ON_SPARK]
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE_SESSION, json.dumps(lines)],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    *printed, end = done.stdout.split("code 0\n")
    assert (len(printed), end) == (len(ON_SPARK), ""), done.stderr
    for line, shown in zip(ON_SPARK, printed, strict=True):
        assert shown or line.startswith(SILENT), line
