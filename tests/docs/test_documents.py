"""What the documents show is what happens."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.api.sample import write_sample

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language):
    return [
        pytest.param(text, id=f"{path.name}-{number}")
        for path in DOCUMENTS
        for number, (kind, text) in enumerate(BLOCK.findall(path.read_text()))
        if kind == language
    ]


# Blocks without an answer are examples of how to call, not sessions.
CONSOLE = [
    block
    for block in blocks("console")
    if re.search(r"^[^$]", block.values[0], re.MULTILINE)
]
PYTHON = [block for block in blocks("python") if ">>>" in block.values[0]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    directory = tmp_path_factory.mktemp("documents") / "sample"
    write_sample(directory, rows=20_000)
    return directory


def test_there_is_something_to_test():
    assert len(CONSOLE) >= 2
    assert len(PYTHON) >= 4


@pytest.mark.parametrize("text", CONSOLE)
def test_console_blocks(sample, monkeypatch, text):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    for shown in text.split("$ ")[1:]:
        command, _newline, expected = shown.partition("\n")
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=sample,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout + done.stderr == expected, command
        assert done.returncode == 0


@pytest.mark.parametrize("text", PYTHON)
def test_python_blocks(sample, monkeypatch, text):
    monkeypatch.chdir(sample)
    names = {"headrace": __import__("headrace")}
    test = doctest.DocTestParser().get_doctest(text, names, "document", None, 0)
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
