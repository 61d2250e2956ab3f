"""Every query gives the answer of the reference in every mode.

``HYPOTHESIS_PROFILE=thorough`` looks at fifty times as many.
"""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from headrace.errors import BadRowError, HeadraceError
from headrace.physical.access import needs_tail
from headrace.physical.query_plan import StreamPlan
from tests.examples import often
from tests.reference.comparison import alike
from tests.reference.generated.queries import conditions, queries
from tests.reference.generated.rich import RICH
from tests.reference.generated.rows import BAD_LINES, ROWS, files, large_files
from tests.reference.generated.streams import stream_queries
from tests.reference.language.evaluate import answer
from tests.reference.language.lines import LineFailed, ask_all, ask_each
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    kind_of,
    read,
    write,
)

# A thorough run takes longer than any single test should.
pytestmark = pytest.mark.timeout(7200)

FAILED = object()
LARGE = 300 << 10
"""More than two reads of a file, and than four windows from its end."""

LINES = st.one_of(
    ROWS, ROWS, ROWS, st.sampled_from(RICH), st.sampled_from(RICH), BAD_LINES
)
SEVERAL_FILES = st.lists(files(LINES), min_size=1, max_size=3)
KEYS = st.sampled_from(["id", "s", "o", "x ?? y", "us[*].g", "x + 1", "$"])

# Large files have fewer examples.
few = often(0.1)
many = often(5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reference")


def opened(folder, contents):
    """Write files, and return them as one data set with their paths."""
    paths = []
    for number, content in enumerate(contents):
        paths.append(folder / f"{number}.jsonl")
        paths[-1].write_bytes(content)
    return headrace.open(paths, index=False), list(map(str, paths))


def unless_unknown(ask, *args, **options):
    """Return the answer of the reference; reject the example if the query is beyond it."""
    try:
        return ask(*args, **options)
    except NotInSubset:
        reject()


def check_answers(found, wanted, query):
    """Compare lines of output with values of the reference."""
    lines = b"".join(found).splitlines()
    shown = f"{query} gave {lines[:20]}, not {list(map(written, wanted[:20]))}"
    assert len(lines) == len(wanted), shown
    for line, value in zip(lines, wanted, strict=True):
        if isinstance(value, bytes):
            assert line == value, shown
        else:
            assert alike(read(line), value), shown


def written(value):
    return value if isinstance(value, bytes) else write(value).encode()


def read_until_error(result):
    """Return the output up to an error, and the error or None."""
    found = []
    try:
        found.extend(result.lines())
    except HeadraceError as error:
        return found, error
    return found, None


def check_place(error, line, paths, query):
    assert error is not None, f"{query} must fail on line {line.number}"
    assert (error.path, error.line) == (paths[line.file], line.number), query
    if isinstance(error, BadRowError):
        # The byte where JSON ends to be JSON.
        assert 0 <= error.offset - line.offset <= len(line.content), query
    else:
        assert error.offset == line.offset, query


# One document


def test_generated_queries_mean_something():
    found = Counter()

    @settings(derandomize=True, max_examples=100)  # statistics of many examples
    @given(query=queries())
    def ask(query):
        for row in RICH:
            try:
                wanted = wanted_of(query, row)
            except NotInSubset:
                found["beyond"] += 1
            else:
                found["error" if wanted is FAILED else kind_of(wanted)] += 1

    ask()
    assert found["beyond"] * 20 < found.total()
    assert found["null"] + found["error"] < found.total() / 2
    assert set(found) >= {"error", "bool", "number", "string", "array", "object"}


@many
@given(query=queries(), rows=st.lists(ROWS, max_size=3))
def test_one_document(query, rows):
    for row in rows + RICH:
        try:
            wanted = wanted_of(query, row)
        except NotInSubset:
            continue
        found = given_of(query, row)
        fits = found is wanted if FAILED in (found, wanted) else alike(found, wanted)
        assert fits, (
            f"{query} of {row.decode()} gave {shown(found)}, not {shown(wanted)}"
        )


def wanted_of(query, row):
    try:
        return answer(query, read(row))
    except QueryError:
        return FAILED


@given(query=queries(), rows=st.lists(ROWS, max_size=3))
def test_strict_types_change_no_answer(query, rows):
    if "try" in query:
        # A `try` catches the errors of strict types.
        reject()
    for row in rows + RICH:
        found = given_of(query, row, strict_types=True)
        lenient = given_of(query, row)
        assert found is FAILED or alike(found, lenient), query


def given_of(query, row, **options):
    try:
        return read(evaluate(query, row, **options))
    except HeadraceError:
        return FAILED


def shown(value):
    return "error" if value is FAILED else write(value)


# Each row by itself


def check_rows(folder, query, contents, **options):
    wanted = unless_unknown(
        ask_each,
        query,
        contents,
        nulls=options.get("nulls") == "emit",
        reverse=options.get("reverse", False),
        match=options.get("matches", False),
        distinct_by=options.get("distinct_by"),
    )
    ds, paths = opened(folder, contents)

    result = ds.query(query, on_error="collect", **options)
    check_answers(result.lines(), wanted.answers, query)
    counts = result.report.counts
    assert (counts.emitted, counts.filtered, counts.skipped, counts.blank) == (
        wanted.emitted,
        wanted.filtered,
        len(wanted.failed),
        wanted.blank,
    ), query
    assert counts.rows == (
        counts.emitted + counts.filtered + counts.skipped + counts.blank
    )
    for error, line in zip(result.report.errors, wanted.failed, strict=True):
        check_place(error, line, paths, query)

    found, error = read_until_error(ds.query(query, **options))
    if wanted.failed:
        check_place(error, wanted.failed[0], paths, query)
        check_answers(found, wanted.before_failure, query)
    else:
        assert error is None, f"{query}: {error}"
        check_answers(found, wanted.answers, query)


@given(
    query=queries(),
    contents=SEVERAL_FILES,
    nulls=st.sampled_from(["drop", "emit"]),
    reverse=st.booleans(),
)
def test_rows(folder, query, contents, nulls, reverse):
    check_rows(folder, query, contents, nulls=nulls, reverse=reverse)


@few
@given(query=queries(depth=2), contents=large_files(LARGE), reverse=st.booleans())
def test_rows_of_a_large_file(folder, query, contents, reverse):
    check_rows(folder, query, [contents], reverse=reverse)


@given(query=conditions(), contents=SEVERAL_FILES, reverse=st.booleans())
def test_matches_equal_the_reference(folder, query, contents, reverse):
    check_rows(folder, query, contents, matches=True, reverse=reverse)


@given(query=queries(depth=1), key=KEYS, contents=SEVERAL_FILES, reverse=st.booleans())
def test_first_row_of_each_key(folder, query, key, contents, reverse):
    check_rows(folder, query, contents, distinct_by=key, reverse=reverse)


# All rows


def check_stream(folder, query, contents, **options):
    reverse = options.get("reverse", False)
    ds, paths = opened(folder, contents)
    result = ds.query(query, nulls="emit", on_error="collect", **options)
    try:
        wanted, failed = unless_unknown(
            ask_all, query, contents, skip=True, reverse=reverse
        )
    except QueryError:
        with pytest.raises(HeadraceError):
            result.to_list()
    else:
        check_answers(result.lines(), wanted, query)
        if reads_the_end(result.query.plan, reverse=reverse):
            check_end(ds.query(query, nulls="emit", **options), wanted, failed, paths)
            failed = failed[::-1]
        check_failed(result, failed, contents, paths, query)

    result = ds.query(query, nulls="emit", **options)
    found, error = read_until_error(result)
    if reads_the_end(result.query.plan, reverse=reverse):
        return
    try:
        wanted, _ = unless_unknown(
            ask_all, query, contents, skip=False, reverse=reverse
        )
    except LineFailed as failure:
        if error is not None or not stopped_early(result, contents):
            check_place(error, failure.line, paths, query)
    except QueryError:
        assert error is not None, query
    else:
        assert error is None, f"{query}: {error}"
        check_answers(found, wanted, query)


def check_failed(result, failed, contents, paths, query):
    """Check that the failed lines are those of the reference, up to the last line read."""
    if stopped_early(result, contents):
        failed = failed[: len(result.report.errors)]
    for error, line in zip(result.report.errors, failed, strict=True):
        check_place(error, line, paths, query)


def stopped_early(result, contents):
    """Whether the engine did not need the rest of the rows; the reference reads all."""
    lines = sum(len(content.splitlines()) for content in contents)
    return result.stats.rows < lines


def reads_the_end(plan, *, reverse):
    """Whether a query reads the last elements only."""
    main = plan.main
    if not isinstance(main, StreamPlan) or main.limit == 0:
        return False
    # Reversed by the query and by the option, rows are in their order.
    return needs_tail(replace(main, reverse=main.reverse != reverse))


def check_end(result, wanted, failed, paths):
    """Check the last rows in their order, or the last row that fails."""
    found, error = read_until_error(result)
    if error is None:
        check_answers(found, wanted, "from the end")
    else:
        check_place(error, failed[-1], paths, "from the end")


@given(
    query=stream_queries(of_rows=True), contents=SEVERAL_FILES, reverse=st.booleans()
)
def test_rows_as_a_stream(folder, query, contents, reverse):
    check_stream(folder, query, contents, reverse=reverse)


@given(
    query=stream_queries(of_rows=False), contents=SEVERAL_FILES, reverse=st.booleans()
)
def test_rows_as_an_array(folder, query, contents, reverse):
    check_stream(folder, query, contents, stream=True, reverse=reverse)


@few
@given(
    query=stream_queries(of_rows=True),
    contents=large_files(LARGE),
    reverse=st.booleans(),
)
def test_a_large_file_as_a_stream(folder, query, contents, reverse):
    check_stream(folder, query, [contents], reverse=reverse)
