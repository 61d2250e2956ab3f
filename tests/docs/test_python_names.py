"""Every public name of the package is in an example that runs."""

import ast
import doctest

import pytest

import headrace
from headrace.api.results import QueryResult, Result
from tests.docs.markdown import ROOT, blocks

# Public for the other layers, not for users.
BETWEEN_LAYERS = {"batches", "tail_batches", "bytes_read", "plan", "index", "refusal"}
KINDS = [headrace.Dataset, headrace.RowIndexer, Result, QueryResult]


def used():
    """Return every attribute that the examples of docs/python.md use, and of what name."""
    found = set()
    for block in blocks(ROOT / "docs/python.md"):
        for example in doctest.DocTestParser().get_examples(block.text):
            for node in ast.walk(ast.parse(example.source)):
                if isinstance(node, ast.Attribute):
                    owner = node.value.id if isinstance(node.value, ast.Name) else ""
                    found.add((owner, node.attr))
    return found


def public(kind):
    return {name for name in vars(kind) if not name.startswith("_")} - BETWEEN_LAYERS


def test_every_exported_name_has_an_example():
    shown = {name for owner, name in used() if owner == "headrace"}
    assert len(headrace.__all__) >= 20
    assert set(headrace.__all__) - shown == set()


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_has_an_example(kind):
    assert len(public(kind)) >= 3
    assert public(kind) - {name for _owner, name in used()} == set()
