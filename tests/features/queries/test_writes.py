"""Writes give the result of the reference, for one document and for many rows.

``HYPOTHESIS_PROFILE=thorough``, as in ``make sweep``, generates 111,000 of them.
"""

import json
from collections import Counter

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from tests.examples import often
from tests.reference.comparison import alike
from tests.reference.generated.writes import (
    DOCUMENTS,
    ROWS,
    stream_writes,
    write_queries,
)
from tests.reference.language.evaluate import answer
from tests.reference.language.lines import LineFailed, ask_all, ask_each
from tests.reference.language.values import NotInSubset, QueryError, read, write

pytestmark = pytest.mark.timeout(7200)

FAILED = "failed"
BEYOND = "beyond"


def wanted_of(ask, *args, **options):
    """Return the result of the reference."""
    try:
        return ask(*args, **options)
    except (QueryError, LineFailed):
        return FAILED
    except NotInSubset:
        event("beyond the reference")
        return BEYOND


def found_of(ask):
    try:
        return ask()
    except HeadraceError:
        return FAILED


def check(found, wanted, query, document):
    event("compared")
    shown = f"{query} of {document} gave {found}, not {wanted}"
    if FAILED in (found, wanted):
        assert found == wanted, shown
    else:
        assert alike(found, wanted), shown


@often(20)
@given(query=write_queries(), document=ROWS)
def test_one_document(query, document):
    text = json.dumps(document)
    wanted = wanted_of(answer, query, read(text))
    if wanted == BEYOND:
        return
    found = found_of(lambda: read(evaluate(query, text.encode())))
    check(found, wanted, query, text)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("writes") / "rows.jsonl"


def opened(path, rows):
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    path.write_bytes(content)
    return headrace.open(path, index=False), content


def lines_of(result):
    return [read(line) for line in b"".join(result.lines()).splitlines()]


@often(5)
@given(query=write_queries(), rows=st.lists(ROWS, max_size=4))
def test_each_row(path, query, rows):
    ds, content = opened(path, rows)
    wanted = wanted_of(ask_each, query, [content], nulls=True)
    if wanted == BEYOND:
        return
    result = found_of(lambda: ds.query(query, nulls="emit", on_error="collect"))
    if result == FAILED:
        # A query that cannot be planned fails on every row.
        assert len(wanted.failed) == len(rows), query
        return
    check(lines_of(result), wanted.answers, query, content)
    assert len(result.report.errors) == len(wanted.failed), query


@often(10)
@given(query=stream_writes(), rows=st.lists(ROWS, max_size=4))
def test_all_rows_as_one_document(path, query, rows):
    ds, content = opened(path, rows)
    wanted = wanted_of(ask_all, query, [content], skip=False)
    if wanted == BEYOND:
        return
    wanted = wanted if wanted == FAILED else wanted[0]
    found = found_of(lambda: lines_of(ds.query(query, stream=True, nulls="emit")))
    check(found, wanted, query, content)
    # The same rows as an array in a document.
    whole = wanted_of(answer, query, read(json.dumps(rows)))
    if whole != BEYOND:
        check(found, [] if whole is None else whole, query, content)


@often(2)
@given(query=write_queries(), rows=st.lists(DOCUMENTS, max_size=4))
def test_each_row_of_a_stream(path, query, rows):
    ds, _ = opened(path, rows)
    each = found_of(lambda: lines_of(ds.query(query, nulls="emit")))
    mapped = f"$.rows().map({query})"
    found = found_of(lambda: lines_of(ds.query(mapped, nulls="emit")))
    check(found, each, mapped, rows)
    sorted_first = f"$.rows().sort(nope).map({query})"
    found = found_of(lambda: lines_of(ds.query(sorted_first, nulls="emit")))
    check(found, each, sorted_first, rows)


def test_generated_writes_mean_something():
    found = Counter()

    @settings(derandomize=True, max_examples=400)
    @given(query=write_queries(), document=DOCUMENTS)
    def ask(query, document):
        wanted = wanted_of(answer, query, read(json.dumps(document)))
        kind = wanted if wanted in (FAILED, BEYOND) else "answer"
        if kind == "answer":
            kind = "same" if write(wanted) == write(document) else "changed"
        found[kind] += 1

    ask()
    assert found["changed"] > found.total() / 5, found
    assert found["failed"] > found.total() / 10, found
    assert found["beyond"] < found.total() / 10, found
