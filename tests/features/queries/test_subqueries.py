"""Sub-queries over all rows, inside every construct, give the answers of the reference.

``HYPOTHESIS_PROFILE=thorough``, as in ``make sweep``, generates 102,000 queries; with
``--hypothesis-show-statistics`` pytest prints how many were compared.
"""

import json

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import headrace
from headrace.errors import HeadraceError, QueryMeaningError
from tests.examples import often
from tests.reference.comparison import alike
from tests.reference.engines import BY_TASKS
from tests.reference.generated.queries import SAME_SIDES
from tests.reference.generated.subqueries import ROW, subqueries
from tests.reference.language.lines import ask_whole
from tests.reference.language.values import NotInSubset, QueryError, read, write

pytestmark = pytest.mark.timeout(7200)

FAILED = object()
ROWS = st.lists(ROW, max_size=5)
many = often(16)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("subqueries") / "rows.jsonl"


def reference(query, rows, *, of_rows, manner):
    try:
        return ask_whole(query, rows, of_rows=of_rows, manner=manner)
    except QueryError:
        return FAILED


def engine(dataset, query, **options):
    try:
        return b"".join(dataset.query(query, nulls="emit", **options).lines())
    except QueryMeaningError:
        raise
    except HeadraceError:
        return FAILED


def fits(lines, wanted):
    """Whether lines are a value or its elements."""
    if FAILED in (lines, wanted):
        return lines is wanted
    found = list(map(read, lines.splitlines()))
    return alike(found, [wanted]) or (isinstance(wanted, list) and alike(found, wanted))


def check(path, made, rows, *, of_rows, reverse=False, **options):
    query, may_be_refused = made
    texts = [json.dumps(row).encode() for row in rows]
    path.write_bytes(b"".join(text + b"\n" for text in texts))
    ordered = [read(text) for text in (texts[::-1] if reverse else texts)]
    with headrace.open(path, index=False) as dataset:
        try:
            lines = engine(dataset, query, reverse=reverse, **options)
        except QueryMeaningError as refused:
            if not may_be_refused and SAME_SIDES not in str(refused):
                raise
            event("refused")
            return
    try:
        wanted = reference(query, ordered, of_rows=of_rows, manner="plain")
        if fits(lines, wanted):
            event("compared")
            return
        # The engine may compute unneeded values, and named values where they are used.
        manner = "eager" if lines is FAILED else "lazy"
        other = reference(query, ordered, of_rows=of_rows, manner=manner)
    except NotInSubset:
        event("beyond the reference")
        return
    event("compared")
    shown = "error" if lines is FAILED else lines
    assert fits(lines, other), (
        f"{query} of {rows} gave {shown}, not "
        f"{'error' if wanted is FAILED else write(wanted)}"
    )


@many
@given(made=subqueries(of_rows=True), rows=ROWS, reverse=st.booleans())
def test_sub_queries_after_rows(path, made, rows, reverse):
    check(path, made, rows, of_rows=True, reverse=reverse)


@many
@given(made=subqueries(of_rows=False), rows=ROWS, reverse=st.booleans())
def test_of_the_array_of_all_rows(path, made, rows, reverse):
    check(path, made, rows, of_rows=False, reverse=reverse, stream=True)


@often(2)
@given(data=st.data(), of_rows=st.booleans(), rows=ROWS, size=st.integers(1, 60))
def test_divided_into_tasks(path, data, of_rows, rows, size):
    made = data.draw(subqueries(of_rows=of_rows))
    divided = {**BY_TASKS, "partition_bytes": size, "stream": not of_rows}
    check(path, made, rows, of_rows=of_rows, **divided)


def test_generated_queries_mean_something():
    answered = []

    @settings(derandomize=True, max_examples=200)
    @given(made=subqueries(of_rows=True))
    def ask(made):
        rows = [read(b'{"id": 1, "v": 2, "s": "a"}'), read(b'{"id": 2, "n": 3}')]
        try:
            answered.append(
                reference(made[0], rows, of_rows=True, manner="plain") is not FAILED
            )
        except NotInSubset:
            answered.append(False)

    ask()
    assert sum(answered) > len(answered) / 2
