"""Parser on the queries of the shared conformance cases, if their folder exists."""

import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import QuerySyntaxError
from headrace.language.parser import parse
from headrace.language.unparse import unparse
from tests.query.test_any_text import PIECES, read

ROOT = pathlib.Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "conformance" / "jetro.jsonl"

pytestmark = pytest.mark.skipif(not CASES.exists(), reason="no conformance cases here")


def read_cases():
    if not CASES.exists():
        return [{"query": ""}]
    return [json.loads(line) for line in CASES.read_bytes().splitlines()]


def may_fail(case):
    return case.get("error", False) and "recommended" not in case


ALL = read_cases()
QUERIES = sorted({case["query"] for case in ALL})


def test_queries_with_a_result_can_be_parsed_and_unparsed():
    good = [case["query"] for case in ALL if not may_fail(case)]
    assert len(good) > 1000
    for query in good:
        tree = parse(query)
        assert parse(unparse(tree)) == tree, query


def test_queries_outside_the_language_are_refused():
    refused = set()
    for query in (case["query"] for case in ALL if may_fail(case)):
        try:
            parse(query)
        except QuerySyntaxError:
            refused.add(query)
    assert refused == {
        "$.tags has [needle]",
        "match $.x with { {a: x} | {b: y} -> x }",
        "1 +",
        '"abc',
        "{a",
        "[1",
        "1<2<3",
        "+3",
    }


@given(st.data())
def test_changed_queries(data):
    text = data.draw(st.sampled_from(QUERIES))
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
        other = data.draw(st.sampled_from(QUERIES))
        middle = data.draw(st.sampled_from(["", text[start:end] * 2, other, *PIECES]))
        text = text[:start] + middle + text[end:]
    read(text)
