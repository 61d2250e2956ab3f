"""The reference evaluator passes the manual, the examples of builtins and the shared cases."""

import json

import pytest

from headrace.errors import HeadraceError, QuerySyntaxError
from headrace.kernel.values import builtins
from headrace.physical.query_plan import plan_query
from tests.conformance.cases import load, same
from tests.conformance.test_cases import ANSWERED_OTHERWISE, CASES
from tests.docs.markdown import ROOT, examples
from tests.reference.language.evaluate import answer
from tests.reference.language.lines import LineFailed, ask_all, ask_each
from tests.reference.language.values import NotInSubset, QueryError, read

FAILED = "error"


def outcome(ask):
    """Return the answer of the reference; None if it does not know a construct."""
    try:
        return [ask()]
    except NotInSubset:
        return None
    except (QueryError, LineFailed, QuerySyntaxError):
        return FAILED


def compare(cases):
    """Return the number of cases that the reference knows, and the wrong answers."""
    known, wrong = 0, {}
    for name, ask, wanted in cases:
        found = outcome(ask)
        if found is None or (wanted == FAILED and is_refused(name)):
            continue
        known += 1
        fits = found == wanted if FAILED in (found, wanted) else same(found, wanted)
        if not fits:
            wrong[name] = f"gave {found!r}, not {wanted!r}"
    return known, wrong


def is_refused(query):
    """Whether a query is refused before any row is read; the reference plans nothing."""
    try:
        plan_query(query, stream=False, distinct_by=None)
    except HeadraceError:
        return True
    return False


def about_document(query, document):
    return lambda: answer(query, read(document))


def test_the_manual():
    known, wrong = compare(
        (
            example.query,
            about_document(example.query, example.document),
            FAILED if example.error is not None else [json.loads(example.answer)],
        )
        for example in examples(ROOT / "docs/language.md")
    )
    assert wrong == {}
    assert known > 50


def test_the_table_of_builtins():
    known, wrong = compare(
        (
            example.query,
            about_document(example.query, example.document),
            FAILED if example.answer == FAILED else [json.loads(example.answer)],
        )
        for name, builtin in builtins().items()
        if name == builtin.name
        for example in builtin.examples
    )
    assert wrong == {}
    assert known > 150


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_the_shared_cases():
    cases = [
        case
        for case in load(CASES)
        if case["id"] not in ANSWERED_OTHERWISE and "jetro-limit" not in case["tags"]
    ]
    documents = [case for case in cases if not case.get("mode")]
    known, wrong = compare(
        (
            f"{case['id']}: {case['query']}",
            about_document(case["query"], json.dumps(case.get("input"))),
            wanted_of(case),
        )
        for case in documents
    )
    assert wrong == {}
    assert known > 900


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_the_shared_cases_about_lines():
    cases = [
        case
        for case in load(CASES)
        if case.get("mode") and case["id"] not in ANSWERED_OTHERWISE
    ]
    known, wrong = compare(
        (f"{case['id']}: {case['query']}", about_lines(case), wanted_of(case))
        for case in cases
    )
    assert wrong == {}
    assert known > 50


def wanted_of(case):
    if "recommended" in case:
        return [case["recommended"]]
    if case.get("error") or case.get("recommended_error"):
        return FAILED
    if case.get("mode"):
        return [[json.loads(line) for line in case["expected"].splitlines()]]
    return [case["expected"]]


def about_lines(case):
    options = case.get("options", {})
    mode = case["mode"].removeprefix("ndjson-")
    data = case["input"].encode()
    nulls = options.get("null_output") == "emit"

    def ask():
        if options.keys() - {"key", "limit", "null_output", "reverse_chunk_size"}:
            raise NotInSubset("an option")
        if mode.startswith("rows"):
            if not case["query"].startswith("$.rows()") or "limit" in options:
                raise NotInSubset("rows inside of something else, or a limit")
            answers, _failed = ask_all(case["query"], [data], skip=False)
            return [value for value in answers if nulls or value is not None]
        result = ask_each(
            case["query"],
            [data],
            nulls=nulls,
            reverse=mode.startswith("rev"),
            match=mode.endswith("matches"),
            distinct_by=options.get("key"),
            limit=options.get("limit"),
        )
        if result.failed:
            raise LineFailed(result.failed[0])
        return [
            json.loads(value) if isinstance(value, bytes) else value
            for value in result.answers
        ]

    return ask
