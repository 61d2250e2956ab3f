"""What the documents show is what happens.

Every fenced block of every document is of a kind that is listed here. A ``console``
block is a session, ``console same`` one whose commands print the same; with
``jq-1.6`` behind it, jq runs only in that version. A ``json`` or ``text`` block
that names a file is that file. ``python`` is a session of Python's. A ``mermaid`` block
is what a command of the document writes to the file that the block names.
"""

import contextlib
import doctest
import functools
import os
import pty
import re
import shutil
import subprocess
import sys
import threading
import tty
from pathlib import Path

import pytest

from headrace.cli.app import main
from headrace.demo.sample import write_sample
from tests.docs.markdown import DOCUMENTS, blocks, session, words_of

# Kinds that are not run, and the only documents that may have them.
NOT_RUN = {
    ("sh", "README.md"): "sets up a machine",
    ("sh", "spark.md"): "sets up a machine",
    ("sh", "deployment.md"): "sets up machines",
    ("python", "deployment.md"): "needs clusters; tests/spark has those that can be",
    ("dockerfile", "deployment.md"): "sets up a machine",
    ("sh", "graphs.md"): "needs Java; tests/spark/test_graph.py does the same",
    ("sh", "pipeline.md"): "needs Java; tests/spark does the same",
    ("toml", "pipeline.md"): "tests/pipeline/test_toml.py reads such a table",
    ("python", "pipeline.md"): "needs Java; tests/spark does the same",
    ("text", "pipeline.md"): "needs Java; tests/spark/test_demo.py holds it to a run",
    ("console", "cli.md"): "how commands are called; tests/cli holds it to the table",
    ("python", "tour.md"): "needs Java; tests/spark does the same",
    ("sh", "tour.md"): "needs Java; tests/pipeline does the same",
    ("python", "spark.md"): "needs Java; tests/spark does the same",
    ("sql", "spark.md"): "needs Java",
    ("python", "streaming.md"): "needs Java; tests/spark does the same",
    ("json", "shards.md"): "tests/store/shards/test_shard_metadata.py writes it",
    ("json", "set-index.md"): "tests/formats/test_set_index.py writes it",
}
ALL = [block for path in DOCUMENTS for block in blocks(path)]


def is_session(block):
    return block.text.startswith({"console": "$ ", "python": ">>> "}[block.kind])


def is_file(block):
    return block.kind in ("json", "text") and len(block.words) == 2


def parameter(block):
    """Return a block for a test; one process runs all blocks of a document, in order."""
    return pytest.param(
        block, id=block.name, marks=pytest.mark.xdist_group(block.path.name)
    )


def sessions(kind):
    return [
        parameter(block) for block in ALL if block.kind == kind and is_session(block)
    ]


CONSOLE = sessions("console")
PYTHON = sessions("python")


PICTURES = [parameter(block) for block in ALL if block.kind == "mermaid"]


def is_run(block):
    if block.kind == "mermaid":
        return len(block.words) == 2
    return is_file(block) or (block.kind in ("console", "python") and is_session(block))


def test_every_block_is_run_or_known_not_to_be():
    unrun = {(block.kind, block.path.name) for block in ALL if not is_run(block)}
    assert unrun == set(NOT_RUN)


def test_there_is_something_to_test():
    assert len(CONSOLE) >= 120
    assert len(PYTHON) >= 25
    assert PICTURES


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """Give each document a folder with the sample, and the files it shows itself."""
    sample = tmp_path_factory.mktemp("documents") / "sample"
    write_sample(sample, rows=20_000)

    @functools.cache
    def folder(path):
        made = sample.parent / path.stem
        shutil.copytree(sample, made)
        for shown in filter(is_file, blocks(path)):
            with (made / shown.words[1]).open("x") as file:
                file.write(shown.text)
        return made

    return folder


@functools.cache
def jq_version():
    """Return the version of jq on this machine, as a document would name it."""
    if shutil.which("jq") is None:
        return None
    printed = subprocess.check_output(["jq", "--version"], text=True)
    return re.match(r"jq-\d+\.\d+", printed)[0]


def is_asked(command, block):
    """Whether a command can be run here: jq may be missing, or of another version."""
    if not re.search(r"\bjq\b", command.line):
        return True
    wanted = [word for word in block.words if word.startswith("jq-")]
    return jq_version() is not None and jq_version() in (wanted or [jq_version()])


def on_terminal(line):
    """Run a line in bash with a terminal as standard error; return its exit code and text."""
    controller, terminal = pty.openpty()
    tty.setraw(terminal)
    written = bytearray()

    def read():
        # At the end, reading from a terminal that nothing has open fails.
        with contextlib.suppress(OSError):
            while some := os.read(controller, 1 << 16):
                written.extend(some)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = subprocess.run(["bash", "-c", line], stderr=terminal, check=False)
    finally:
        os.close(terminal)
        reader.join()
        os.close(controller)
    return done.returncode, written.decode()


@pytest.fixture
def run(capfd, monkeypatch):
    """Run a line as on a terminal; a line that calls only headrace, in this process."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.setenv("TERM", "dumb")  # no progress bars
    monkeypatch.setattr("headrace.cli.app.default_events", lambda: "text")

    def ran(line):
        words = words_of(line)
        if words is None:
            return on_terminal(line)
        code = main(words[1:])
        sys.stdout.flush()
        return code, ""

    def printed(line):
        code, shown = ran(line)
        captured = capfd.readouterr()
        return code, captured.out + captured.err + shown

    return printed


@pytest.mark.parametrize("block", CONSOLE)
def test_console_blocks(folder_of, monkeypatch, run, block):
    monkeypatch.chdir(folder_of(block.path))
    commands = [command for command in session(block) if is_asked(command, block)]
    assert commands, "a block that only jq can run shows nothing of headrace"
    for command in commands:
        assert run(command.line) == (0, command.printed), command.line


@pytest.mark.parametrize("block", PICTURES)
def test_pictures(folder_of, monkeypatch, run, block):
    monkeypatch.chdir(folder_of(block.path))
    picture = Path(block.words[1])
    (line,) = [
        command.line
        for shown in blocks(block.path)
        if shown.kind == "console" and is_session(shown)
        for command in session(shown)
        if command.line.endswith(f"> {picture}")
    ]
    picture.unlink(missing_ok=True)
    code, _ = run(line)
    assert (code, picture.read_text()) == (0, block.text)


@pytest.mark.parametrize("block", PYTHON)
def test_python_blocks(folder_of, monkeypatch, block):
    monkeypatch.chdir(folder_of(block.path))
    names = {"headrace": __import__("headrace")}
    test = doctest.DocTestParser().get_doctest(block.text, names, block.name, None, 0)
    report = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        test, out=report.append
    )
    assert result.failed == 0, "".join(report)
    assert result.attempted > 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target
