"""Edge cases of evaluation."""

import json

import pytest

import headrace
from headrace.api.results import evaluate

BEYOND = 12345678901234567890
"""An integer beyond 64 bits."""

ROWS = [{"id": 0, "us": [7]}, {"id": 1, "us": []}]


@pytest.mark.parametrize(
    ("query", "document", "answer"),
    [
        pytest.param("-$", BEYOND, "-1.2345678901234567e19", id="minus beyond i64"),
        pytest.param("-9223372036854775808.abs()", None, "-9.223372036854776e18", id="minus of a call"),
        pytest.param("1e30 as int", None, "1000000000000000019884624838656", id="as int keeps digits"),
        pytest.param("-1e30 as int", None, "-1000000000000000019884624838656", id="also below zero"),
        pytest.param("$ as int", "9007199254740993", "9007199254740993", id="digits as int"),
        pytest.param('f"{$:d}"', 2**63 - 1, '"9223372036854775807"', id="digits in an f-string"),
        pytest.param('f"{$:.1f}"', BEYOND, '"12345678901234567168.0"', id="decimals beyond i64"),
        pytest.param("match $ with {0..1e30 -> 1, _ -> 2}", BEYOND, "1", id="range beyond i64"),
        pytest.param("match $ with {0..9007199254740992 -> 1, _ -> 2}", 2**53 + 1, "2", id="range of doubles"),
        pytest.param("$ == 12345678901234567891", BEYOND, "false", id="equal beyond i64"),
        pytest.param("$ == 12345678901234567891.0", BEYOND, "false", id="a double is another number"),
        pytest.param("$ == 18446744073709551616.0", 2**64, "true", id="or the same"),
        pytest.param("$.unique()", [2**64, 2.0**64, 2**64 + 1], "[18446744073709551616,18446744073709551617]", id="unique beyond i64"),
        pytest.param("[1e400, 12345678901234567890, 10e399].unique().sort().len()", None, "2", id="beyond every double"),
        pytest.param("1e400 > 12345678901234567890", None, "true", id="the exponent counts"),
        pytest.param("price as array", {"price": 1e21}, "[1e+21]", id="what passes through keeps its text"),
        pytest.param("match a with {1 -> b, _ -> @.c}", {"a": 1, "b": 2, "c": 3}, "2", id="a match leaves @ alone"),
        pytest.param("match a with {n when b > n -> @.c}", {"a": 1, "b": 2, "c": 3}, "3", id="also in a guard"),
        pytest.param("$..match {{a: 1} -> @.b}", [{"a": 1, "b": 2}], "[2]", id="a deep match does not"),
        pytest.param("$.map(1 / @).first()?", [1, 0], "1.0", id="? evaluates nothing more"),
        pytest.param("$.rows().map([id]).map(@.map($))", ROWS, "[[[0]],[[1]]]", id="$ is the element of a stage"),
        pytest.param("$.rows()[*].nope.or($.id)", ROWS, "[0,1]", id="$ behind [*]"),
        pytest.param("$.intersect($, on: k)", [{"k": [None]}, {"k": [[None]]}, {"k": [1]}], '[{"k":[1]}]', id="an array with a null equals nothing"),
        pytest.param("$.intersect($, on: [k, j])", [{"k": [None], "j": 1}, {"k": 1, "j": 1}], '[{"k":1,"j":1}]', id="nor one of several keys"),
        pytest.param("[{a: 1, b: 2}].join([{c: 1, d: 2, y: 5}, {c: 1, d: 3}], on: a == c and b == d)", None, '[{"a":1,"b":2,"c":1,"d":2,"y":5}]', id="two keys with and"),
    ],
)  # fmt: skip
def test_an_answer(query, document, answer):
    assert evaluate(query, json.dumps(document).encode()).decode() == answer


@pytest.mark.parametrize(
    "query",
    [
        "$.rows().map(id).map($)",
        "$.rows().map(id).filter($ == 1)",
        "$.rows().map(id).take(5).map($)",
        "$.rows().flat_map(us).map($)",
        "$.rows().map(us)[*].or($)",
        "$.rows().map(id)[* if $ > 0]",
        "$.rows().map([id]).map(@.map($))",
        "$.rows().map(id).sort().map($)",
        "$.rows().map(id).unique_by($)",
    ],
)
def test_after_rows_the_root_is_the_element_in_every_mode(tmp_path, query):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    whole = json.loads(evaluate(query, json.dumps(ROWS).encode()))
    assert headrace.open(path).query(query).to_list() == whole


def test_an_answer_of_null_is_not_emitted(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": 1, "x": null}\n{"id": 1, "x": 5}\n{"id": 2, "x": 6}\n')
    result = headrace.open(path).query("x", distinct_by="id")
    assert result.to_list() == [6]
    counts = result.report.counts
    assert (counts.emitted, counts.filtered) == (1, 2)


@pytest.mark.parametrize("method", ["count_by([s, n])", "count_by({s, n})"])
def test_equal_keys_are_one_group_however_they_are_written(method):
    rows = rb'[{"s": "\u00fcx", "n": 1}, {"n": 1.0, "s": "\u00fcx"}, {"s": "\u00fcx", "n": 1.00}]'
    rows = rows.replace(rb"\u00fcx", "üx".encode(), 1)
    (count,) = json.loads(evaluate(f"$.{method}", rows)).values()
    assert count == 3
