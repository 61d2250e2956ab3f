"""The start of a command: the number of its own modules that it imports."""

import subprocess
import sys

import pytest

COUNTED = """
import sys
from headrace.cli.app import main

main(sys.argv[1:])
print(*(name for name in sys.modules if name.startswith("headrace")), file=sys.stderr)
"""


def modules_of(*arguments):
    line = [sys.executable, "-c", COUNTED, *arguments]
    done = subprocess.run(line, capture_output=True, timeout=60, check=True)
    return set(done.stderr.decode().splitlines()[-1].split())


@pytest.fixture
def one_row(tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_bytes(b'{"n":1}\n')
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        pytest.param(["count"], 60, id="count"),
        pytest.param(["head"], 60, id="head"),
        pytest.param(["query", "n"], 60, id="query"),
    ],
)
def test_a_command_over_one_row_imports_few_modules(one_row, arguments, most):
    loaded = modules_of(*arguments, one_row)
    assert "headrace.cli.app" in loaded
    assert len(loaded) <= most


@pytest.mark.parametrize(
    "arguments", [["count"], ["query", "n"], ["count", "--stats"], ["head"]]
)
def test_a_command_without_spark_imports_nothing_of_it(one_row, arguments):
    loaded = modules_of(*arguments, one_row)
    assert not {name for name in loaded if "spark" in name}


def test_the_help_of_a_command_imports_neither_the_api_nor_engines():
    loaded = modules_of("query", "--help")
    parts = {name.split(".")[1] for name in loaded if name.count(".")}
    assert parts <= {"api", "cli", "errors", "kernel", "record", "store", "_native"}
    assert not {name for name in loaded if name.startswith("headrace.engines")}
