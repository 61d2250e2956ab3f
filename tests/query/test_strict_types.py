"""Strict types: a value of a kind that an operation does not take is an error."""

import json
import re

import pytest

import headrace
from headrace.api.results import evaluate
from headrace.cli.app import main
from headrace.errors import HeadraceError, RowFailedError
from headrace.kernel.values import builtins

BUILTINS = {id(each): each for each in builtins().values()}.values()


def answer(query, document, **options):
    try:
        return json.loads(evaluate(query, document.encode(), **options))
    except HeadraceError as error:
        return error


@pytest.mark.parametrize("builtin", BUILTINS, ids=lambda builtin: builtin.name)
def test_an_example_holds_or_fails_for_its_kind(builtin):
    failing = 0
    for example in builtin.examples:
        if example.answer == "error" or "now()" in example.query:
            continue
        found = answer(example.query, example.document, strict_types=True)
        if isinstance(found, HeadraceError):
            reason = r"takes .*, not|has no (field|positions|keys)|neither before nor"
            assert re.search(reason, str(found)), example.query
            failing += 1
        else:
            assert found == answer(example.query, example.document)
    assert failing < len(builtin.examples)


@pytest.mark.parametrize(
    ("query", "document", "reason"),
    [
        ("a.b", {"a": 5}, "number 5 has no field b"),
        ("a.b", {"a": [{"b": 1}]}, "array value has no field b; [*] goes to its elements"),
        ("$.a", [1], "array value has no field a"),
        ("$['a']", 5, "number 5 has no field a"),
        ("$[k]", [1, "k"], "has no field k"),
        ("$[0]", {"a": 1}, "object value has no positions"),
        ("$[1:]", 5, "number 5 has no positions"),
        ("$.map(name)", [1], "number 1 has no field name"),
        ("$ -> {a} | a", 5, "number 5 has no field a"),
        ("upper(5)", None, "upper takes a string, not number 5"),
        ("$.slice(1)", 5, "slice takes a string or an array, not number 5"),
        ("$.keys()", [1], "array value has no keys and values"),
        ("$.append(1)", "a", "append takes an array, not string a"),
        ("$.to_number()", [1], "to_number takes a bool or a number or a string, not array value"),
        ("$.omit(a)", "x", "omit takes an array or an object, not string x"),
        ("a < b", {"a": "10", "b": 9}, "string 10 is neither before nor behind number 9"),
        ("a <= b", {"a": [1], "b": [1]}, "array value is neither before nor behind array value"),
    ],
)  # fmt: skip
def test_a_kind_that_an_operation_is_not_for(query, document, reason):
    if query == "$[k]":
        query = "$[$[1]]"
    text = json.dumps(document)
    assert not isinstance(answer(query, text), HeadraceError)
    assert reason in str(answer(query, text, strict_types=True))


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("[a.b.c, upper(a), a[0], a[1:], a < 1, a.keys()]", {}),
        ("[a == 1, a != 'x', a ~= 1]", {"a": [1]}),
        ("us.map(name)", {"us": [{}, {"name": 1}, None]}),
        ("match $ with {{a: 1} -> 1, [x] -> x, _ -> 2}", 5),
    ],
)
def test_answers_that_strict_types_do_not_change(query, document):
    text = json.dumps(document)
    found = answer(query, text, strict_types=True)
    assert found == answer(query, text)
    assert not isinstance(found, HeadraceError)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": {"b": 1}}\n{"a": 5}\n{"a": null}\n{"a": {"b": 2}}\n')
    return path


@pytest.mark.parametrize("query", ["a.b", "$.rows().map(a.b)", "$.rows().sum(a.b)"])
def test_rows_of_another_kind_obey_on_error(path, query):
    ds = headrace.open(path)
    with pytest.raises(RowFailedError) as caught:
        ds.query(query, strict_types=True).to_list()
    assert caught.value.line == 2
    result = ds.query(query, strict_types=True, on_error="collect")
    assert result.to_list() == ([3] if "sum" in query else [1, 2])
    assert [error.line for error in result.report.errors] == [2]


def test_an_index_skips_no_row_that_fails(path):
    headrace.KeyIndex.build(path, "a.b")
    ds = headrace.open(path)
    assert ds.query("$.rows().filter(a.b == 2).count()").to_list() == [1]
    with pytest.raises(RowFailedError):
        ds.query("$.rows().filter(a.b == 2).count()", strict_types=True).to_list()


def test_strict_types_on_the_command_line(path, capsys):
    assert main(["query", "a.b", str(path)]) == 0
    assert capsys.readouterr().out == "1\n2\n"
    assert main(["query", "--strict-types", "a.b", str(path)]) == 1
    output = capsys.readouterr()
    assert output.out == "1\n"
    assert "number 5 has no field b" in output.err
