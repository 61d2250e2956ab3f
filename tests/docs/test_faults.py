"""docs/faults.md: each fault is shown by a test, and that test is there."""

import ast
import re

import pytest

from tests.docs.markdown import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
ROWS = [
    line
    for line in (ROOT / "docs/faults.md").read_text().splitlines()
    if line.startswith("| ") and not line.endswith(" test |")
]


def names_of(path):
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_there_are_faults():
    assert len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS)
def test_a_fault_is_shown(row):
    named = NAMED.findall(row)
    assert named
    for file, test in named:
        assert test in names_of(ROOT / file)
