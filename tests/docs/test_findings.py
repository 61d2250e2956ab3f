"""Every test that docs/internal/findings.md names is there."""

import ast
import re
from functools import cache

import pytest

from tests.docs.markdown import ROOT

FINDINGS = ROOT / "docs/internal/findings.md"

NAME = re.compile(r"`((?:tests/[\w/]+\.py)?(?:(?:::|(?<=`))[A-Za-z_][\w:]*)?)`")
"""`tests/x.py::test_y`, `tests/x.py`; `::test_y` and `test_y` are in the file named before."""


def named_tests():
    """Yield the tests of each finding: its id, the file, and the path within the file."""
    for line in FINDINGS.read_text().splitlines():
        cells = line.split(" | ")
        if not line.startswith("| ") or len(cells) < 3:
            continue
        finding, file = cells[0].removeprefix("| "), None
        for found in NAME.findall(cells[-1]):
            path, _, within = found.partition("::") if "/" in found else ("", "", found)
            within = within.removeprefix("::")
            file = path or file
            if path or within.startswith(("test_", "Test")):
                yield finding, file, within


@cache
def defined_in(path):
    """Return the classes and functions of a file, as pytest names them."""
    found = set()

    def visit(body, before):
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.add(f"{before}{node.name}")
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{before}{node.name}::")

    visit(ast.parse(path.read_text()).body, "")
    return found


@pytest.mark.parametrize(("finding", "file", "within"), list(named_tests()))
def test_the_test_of_a_finding_exists(finding, file, within):
    assert file is not None, f"{finding}: {within} follows no file"
    path = ROOT / file
    assert path.exists(), f"{finding}: there is no {file}"
    assert not within or within in defined_in(path), (
        f"{finding}: {file} has no {within}"
    )


def test_there_are_many_findings():
    assert len({finding for finding, _file, _within in named_tests()}) > 100
