"""Public names: each has an example that runs, and docs/python.md has its signature."""

import ast
import doctest
import inspect
import re

import pytest

import headrace
from headrace import compat
from headrace.api import option_tables
from headrace.api.graph.graph import Graph
from headrace.api.join import JoinResult
from headrace.api.log.replay import Replay
from headrace.api.options import QueryOptions, refuse_unknown
from headrace.api.results import Result
from tests.docs.markdown import DOCUMENTS, ROOT, blocks

MANUAL = ROOT / "docs/python.md"
PUBLIC = [getattr(headrace, name) for name in headrace.__all__]
CLASSES = [
    each
    for each in PUBLIC
    if isinstance(each, type) and not issubclass(each, Exception)
]
CLASSES += [Graph, JoinResult, Replay, Result]

BETWEEN_LAYERS = {
    headrace.Dataset: {
        *("batches", "tail_batches", "bytes_read", "files", "name", "other", "refusal"),
    },
    headrace.KeyIndex: {"answers", "request_of_json", "together"},
    headrace.QueryResult: {"plan"},
    Graph: {"check_source", "give_up", "location", "on_edges", "reach"},
    JoinResult: {"report_keyless"},
    headrace.LineWriter: {"write_rows"},
    headrace.ShardWriter: {"metadata_path", "write_rows"},
    headrace.LogWriter: {"remove"},
}
"""Public for the other layers, not for users."""


def used():
    """Return every attribute in the examples of documents, and the name before its dot."""
    found = set()
    for block in (each for path in DOCUMENTS for each in blocks(path)):
        if block.kind == "python" and block.text.startswith(">>> "):
            for example in doctest.DocTestParser().get_examples(block.text):
                for node in ast.walk(ast.parse(example.source)):
                    if isinstance(node, ast.Attribute):
                        owner = (
                            node.value.id if isinstance(node.value, ast.Name) else ""
                        )
                        found.add((owner, node.attr))
                    if isinstance(node, ast.FunctionDef):
                        found.add(("", node.name))
    return found


def public(kind):
    """Return the public methods and properties of a class, without those for other layers."""
    names = {
        name
        for base in kind.__mro__
        if base.__module__.startswith("headrace.")
        for name, value in vars(base).items()
        if not name.startswith("_") and not isinstance(value, type)
    }
    if issubclass(kind, tuple) or "__dataclass_fields__" in vars(kind):
        return set()
    return names - BETWEEN_LAYERS.get(kind, set())


def test_there_are_about_twenty_names():
    assert 20 <= len(headrace.__all__) <= 24
    assert headrace.__all__ == sorted(headrace.__all__)


def test_every_exported_name_has_an_example():
    shown = {name for owner, name in used() if owner == "headrace"}
    assert set(headrace.__all__) - shown == set()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_method_has_an_example(kind):
    assert public(kind) - {name for _owner, name in used()} == set()


def test_the_names_of_the_first_designs_are_in_the_manual_and_tested():
    names = {
        name
        for name, value in vars(compat).items()
        if inspect.isfunction(value)
        and value.__module__ == "headrace.compat"
        and not name.startswith("_")
    }
    assert len(names) >= 20
    tested = (ROOT / "tests/api/test_compat.py").read_text()
    assert {name for name in names if f"compat.{name}(" not in tested} == set()


def test_the_lists_of_options_are_those_of_the_families():
    text = MANUAL.read_text()
    assert text.count("<!-- options: ") >= 10
    assert option_tables.with_lists(text) == text


def test_every_option_has_a_meaning():
    for family, meanings in option_tables.families().items():
        named = getattr(option_tables.options, family).__annotations__
        assert {name for name in named if not name.startswith("_")} == set(meanings)


SIGNATURES = {
    "headrace.open": headrace.open,
    "headrace.follow": headrace.follow,
    "ds.query": headrace.Dataset.query,
    "ds.join": headrace.Dataset.join,
    "ds.graph": headrace.Dataset.graph,
    "expand": Graph.expand,
    "shortest_path": Graph.shortest_path,
    "on_spark": Graph.on_spark,
    "out": Graph.out,
    **{
        f"KeyIndex.{name}": getattr(headrace.KeyIndex, name)
        for name in (
            "build",
            "build_each",
            "open",
            "update",
            "compact",
            "check",
            "stats",
        )
    },
}


def in_short(function):
    """Return the parameters of a function without types."""
    parameters = inspect.signature(function).parameters.values()
    bare = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in parameters
        if each.name != "self" and not each.name.startswith("_")
    ]
    return str(inspect.Signature(bare)).replace("'", '"')


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_in_the_manual_are_those_of_the_functions(name):
    shown = re.findall(rf"`{re.escape(name)}(\([^`()]*\))`", MANUAL.read_text())
    assert shown
    expected = in_short(SIGNATURES[name])
    assert {each.replace("'", '"') for each in shown} == {expected}


def test_a_misspelt_option_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"1\n")
    rows = headrace.open(path)
    for call in (
        lambda: headrace.open(path, indx=False),
        lambda: rows.query("$", lmit=1),
        lambda: rows.join(path, "id", hw="left"),
        lambda: rows.index(on="id", memry=1),
        lambda: rows.graph(from_="id"),
        lambda: rows.count(engin="spark"),
        lambda: rows.write_shards(tmp_path / "set", nme="rows"),
        lambda: headrace.KeyIndex.open(path, "id", strict=True),
        lambda: headrace.Log(tmp_path).replay(start=1),
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call()


def test_a_misspelt_option_of_a_family_has_a_suggestion():
    with pytest.raises(TypeError, match=r"argument 'lmit'; did you mean 'limit'\?"):
        refuse_unknown({"lmit": 1}, QueryOptions)
    with pytest.raises(TypeError, match=r"argument 'colour'$"):
        refuse_unknown({"colour": 1}, QueryOptions)


def test_options_of_a_family_are_known_by_name():
    refuse_unknown({"engine": "spark", "limit": 1}, QueryOptions)
