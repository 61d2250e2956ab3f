"""Results of builtins and operators for values of every kind."""

import json

import pytest

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError, QueryFailedError, RowFailedError


def answer(query, document=None):
    return evaluate(query, json.dumps(document).encode()).decode()


@pytest.mark.parametrize(
    ("query", "document", "expected"),
    [
        # as int
        ("$ as int", "123456789012345678901234567890", "123456789012345678901234567890"),
        ("$ as int", 123456789012345678901234567890, "123456789012345678901234567890"),
        ("$ as int", "-000123456789012345678901", "-123456789012345678901"),
        ("$ as int", "+00", "0"),
        ("1e30 as int", None, "1000000000000000019884624838656"),
        ("9223372036854775807.5 as int", None, "9223372036854775808"),
        # min, max
        ("$.max()", ["b", "a"], '"b"'),
        ("$.min(t)", [{"t": "2026-01-02"}, {}, {"t": "2025-12-31"}], '"2025-12-31"'),
        ("[$.min(), $.max()]", [True, False, None], "[false,true]"),
        ("[$.min(), $.max()]", [[2], [1, 9]], "[[1,9],[2]]"),
        ("[$.min(), $.max()]", [None], "[null,null]"),
        ("$.max()", [1, 1.0], "1"),
        # windows
        ("$.lag()", [9007199254740993, 1], "[null,9007199254740993]"),
        ("$.lag()", ["2026-01-01", "2026-01-02"], '[null,"2026-01-01"]'),
        ("$.lead(2)", [[1], None, {"a": 1}], '[{"a":1},null,null]'),
        ("$.cummax()", ["a", None, "c", "b"], '["a","a","c","c"]'),
        ("$.cummin()", [9007199254740993, 9007199254740992], "[9007199254740993,9007199254740992]"),
        ("$.rolling_max(2)", ["b", "a", None, None], '[null,"b","a",null]'),
        ("$.rolling_min(3)", [2, 1, 1.0, 3, 4], "[null,null,1,1,1.0]"),
        ("$.rolling_sum(1)", [9007199254740993, 0.5], "[9007199254740993,0.5]"),
        ("$.rolling_sum(2)", [0.1, 9007199254740993, 1], "[null,9007199254740994.0,9007199254740994]"),
        ("$.diff_window()", [9007199254740993, 9007199254740995], "[null,2]"),
        # positions
        ("$[$.len() / 2]", [3, 1, 2, 7], "2"),
        ("$[1.0]", [3, 1], "1"),
        ("$[nope]", [3, 1], "null"),
        ("[$[0], $[-1], $[9], $[-9]]", "aé😀", '["a","😀",null,null]'),
        ("$[1e300]", [1], "null"),
        ("$.nth(4 / 2)", [3, 1, 2], "2"),
        ("$.take(4 / 2)", [3, 1, 2], "[3,1]"),
        ("$.slice(2 / 2)", "abc", '"bc"'),
        # positions of values
        ('[$.index_of("b"), $.index("b"), $.index_of("x"), $.index("x")]', ["a", "b"], "[1,1,-1,null]"),
        ('[$.index_of("b"), $.index("b"), $.index_of("x"), $.index("x")]', "ab", "[1,1,-1,null]"),
        ("[$.last_index_of(1), $.last_index_of(5)]", [1, 2, 1.0], "[2,-1]"),
        # ~=
        ('["" ~= "error", "r" ~= "error", "An ERROR" ~= "error", "a" ~= ""]', None, "[false,false,true,true]"),
        # range
        ("range(6 / 2)", None, "[0,1,2]"),
        ("range(3, 0.0, -1.0)", None, "[3,2,1]"),
        # tables
        ("[{a: 1, b: 2}, {b: 3}, {c: 4, a: 5}].to_csv()", None, r'"1,2,\n,3,\n5,,4"'),
        ("[{b: 3}, {a: 1, b: 2}].to_tsv()", None, r'"3\t\n2\t1"'),
        # null, truth and numbers
        ("null.len()", None, "0"),
        ("$.map(@.to_number())", [True, False, None, [1], {"a": 1}, 5, "5", "x"], "[1,0,null,null,null,5,5,null]"),
        # has
        ('[$ has ["a"], $.has(["a"]), $.has(["a", "z"]), $ has ["a", "z"]]', ["a", "b"], "[true,true,false,false]"),
        ('let t = ["a"] in [$ has t, $.includes(t), t in $]', ["a", "b"], "[true,false,false]"),
        ("[[1] in $, $.includes([1]), $ has [[1]].first()]", [[1], 2], "[true,true,false]"),
        # texts
        ('$.match_all("")', "ab", "[]"),
        ("$.snake_case()", "user2Name", '"user2_name"'),
        # elements
        ("$.rows().map(a)", {"a": 1}, "[1]"),
        ("$.find(a).first()", [{"a": 1}], '{"a":1}'),
        ("$.group_by(k).values().map(@.len())", [{"k": 1}, {"k": 1}], "[2]"),
        ("[$.collect(), 5.collect()]", {"a": 1}, '[[{"a":1}],[5]]'),
        ("$.flat_map({a})", [{"a": 1}], '[{"a":1}]'),
        # keys of groups
        ("$.count_by(@ as string)", [1, "1", 1.0], '{"1":3}'),
        ("$.group_by(@)", [1, 1.0, None], '{"1":[1,1.0],"null":[null]}'),
    ],
)  # fmt: skip
def test_an_answer(query, document, expected):
    assert answer(query, document) == expected


@pytest.mark.parametrize(
    ("query", "document", "reason"),
    [
        ("$ as int", "1e400", "string 1e400 cannot be cast to int"),
        ("$.sum(price)", [{"price": "12.50"}], "sum takes numbers and null, not string 12.50; make numbers of texts first, as in sum(to_number(price))"),
        ("$.avg()", [1, True], "avg takes numbers and null, not bool true; count(...) counts what is true"),
        ("$.sum()", [[1]], "sum takes numbers and null, not array value"),
        ("[1e400].sum()", None, "is too large for sum"),
        ("$.rolling_sum(2)", [1, "2"], "rolling_sum takes numbers and null, not string 2"),
        ("$.diff_window()", [1, "2"], "diff_window takes numbers and null, not string 2"),
        ("$.pct_change()", ["2"], "pct_change takes numbers and null, not string 2"),
        ("$.zscore()", ["2"], "zscore takes numbers and null, not string 2"),
        ("$.max()", [1, "2"], "max compares values of one kind, not a number and a string"),
        ("$.min()", ["2", 1], "min compares values of one kind, not a number and a string"),
        ("$.cummax()", [1, "2"], "cummax compares values of one kind, not a number and a string"),
        ("$.rolling_max(1)", [1, None, "2"], "rolling_max compares values of one kind"),
        ("$[1.5]", [1, 2], "a position must be a whole number, not number 1.5"),
        ("$[true]", [1, 2], "a position must be a whole number, not bool true"),
        ("$.nth(0.5)", [1, 2], "a position must be a whole number, not number 0.5"),
        ("$.take(1.9)", [1, 2], "a count must be a whole number, not number 1.9"),
        ("$.skip('1')", [1, 2], "a count must be a whole number, not string 1"),
        ("$.take(0 - 1)", [1, 2], "a count must be 0 or more, not number -1"),
        ("$.first($.len() - 5)", [1, 2], "a count must be 0 or more, not number -3"),
        ("$.last(0 - 2)", [1, 2], "a count must be 0 or more, not number -2"),
        ("$.skip(0 - 2)", [1, 2], "a count must be 0 or more, not number -2"),
        ("$.flatten(0 - 2)", [[1]], "a count must be 0 or more"),
        ("$.lag(0 - 1)", [1, 2], "a count must be 0 or more"),
        ("$.lead(0 - 1)", [1, 2], "a count must be 0 or more"),
        ("$.chunk(0)", [1, 2], "a chunk must have at least 1 element"),
        ("$.chunk(0 - 1)", [1, 2], "a count must be 0 or more"),
        ("$.window(0)", [1, 2], "a window must have at least 1 element"),
        ("$.rolling_sum(0)", [1, 2], "a window must have at least 1 element"),
        ("$.repeat(0 - 1)", "ab", "a count must be 0 or more"),
        ("$.pad_left(0 - 1)", "ab", "a count must be 0 or more"),
        ("$.indent(0 - 1)", "ab", "a count must be 0 or more"),
        ("$.slice(0.5)", "abc", "a position must be a whole number, not number 0.5"),
        ("range(0, 1, 0.25)", None, "range takes whole numbers, not number 0.25; for fractions write range(4).map(@ * 0.25)"),
        ("range(1.5)", None, "range takes whole numbers, not number 1.5"),
        ("'ff'.parse_int(1.5)", None, "a radix must be a whole number, not number 1.5"),
        ("$.zip_longest([1], 0)", [1], "it zips arrays, not number 0; what zip_longest fills with is fill: 0"),
        ("count()", {"a": 1}, "or $.rows() for all rows, as in $.rows().count()"),
        ("$.sum()", {"a": 1}, "an object has no elements; write .entries(), .values() or .transform_values(...)"),
        ("$.group_by(k).map(@.len())", [{"k": 1}], "an object has no elements"),
        ("$.filter(@ > 1)", {"a": 1}, "an object has no elements"),
        ("$[*]", {"a": 1}, "an object has no elements"),
        ("$.a{b}", {"a": {"b": 1}}, "an object has no elements"),
        ("$.count()", "abc", "string abc has no elements; write .len(), .chars() or .split(...)"),
        ("$.map(@)", 5, "number 5 has no elements"),
        ("$.reverse()", {"a": 1}, "an object has no elements"),
        ("$.count_by(@)", [1, "1"], "which cannot tell number 1 from string 1"),
        ("$.group_by(@)", [None, "null"], "which cannot tell null null from string null"),
        ("$.index_by(@)", ["[1]", [1]], "which cannot tell string [1] from array [1]"),
        ("$.group_shape(@, @.len())", [True, "true"], "which cannot tell bool true from string true"),
    ],
)  # fmt: skip
def test_an_error_names_the_value_and_the_cure(query, document, reason):
    if query == "$[*]":
        query += ".a"
    with pytest.raises(QueryFailedError) as caught:
        answer(query, document)
    assert reason in str(caught.value)


# Over rows


@pytest.fixture
def rows(tmp_path):
    def write(*values):
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(value) + "\n" for value in values))
        return headrace.open(path)

    return write


@pytest.mark.parametrize("query", ["$.rows().sum(p)", "$.rows().map(p).avg()"])
def test_a_row_that_cannot_be_added_is_named_and_obeys_on_error(rows, query):
    ds = rows({"p": 1}, {"p": None}, {"p": "12.50"}, {"p": 4})
    with pytest.raises(RowFailedError) as caught:
        ds.query(query).to_list()
    assert (caught.value.line, caught.value.offset) == (3, 21)
    assert "string 12.50" in str(caught.value)
    (total,) = ds.query(query, on_error="skip").to_list()
    assert total == (5 if "sum" in query else 2.5)


def test_a_row_with_an_element_that_cannot_be_added_adds_nothing(rows):
    ds = rows({"p": [1, 2]}, {"p": [4, "x"]}, {"p": [8]})
    result = ds.query("$.rows().flat_map(p).sum()", on_error="skip")
    assert result.to_list() == [11]
    assert result.report.counts.skipped == 1


@pytest.mark.parametrize(
    ("query", "values", "expected"),
    [
        ("$.rows().max(t)", ["a", None, "c", "b"], ["c"]),
        ("$.rows().min(t)", ["b", "a\n", "c"], ["a\n"]),
        ("$.rows().max(t)", [None], [None]),
        ("$.rows().min(t)", [2, 1.50, 3], [1.5]),
        ("$.rows().max(t)", [[1], [1, 0]], [[1, 0]]),
    ],
)
def test_extremes_over_rows(rows, query, values, expected):
    ds = rows(*({"t": value} for value in values))
    assert ds.query(query, nulls="emit").to_list() == expected


@pytest.mark.parametrize(
    "query",
    [
        "$.rows().max(t)",
        "$.rows().count_by(t)",
        "$.rows().group_by(t)",
        "$.rows().index_by(t)",
    ],
)
@pytest.mark.parametrize("on_error", ["abort", "skip"])
def test_kinds_that_do_not_go_together_are_an_error_of_the_query(rows, query, on_error):
    ds = rows({"t": 1}, {"t": 2}, {"t": "1"})
    with pytest.raises(HeadraceError, match=r"number.* string"):
        ds.query(query, on_error=on_error).to_list()


@pytest.mark.parametrize("on_error", ["abort", "skip"])
@pytest.mark.parametrize(
    "query", ["$.rows().max(t)", "$.rows().reverse().map(t).min()", "{m: $.rows().max(t)}"]
)  # fmt: skip
def test_kinds_that_do_not_compare_are_named_with_a_row_of_each(rows, query, on_error):
    ds = rows({"t": None}, {"t": 10}, {"t": 2}, {"t": "1"}, {"t": "2"})
    first = {"number": 2, "string": 4}
    if "reverse" in query:
        first = {"number": 3, "string": 5}
    with pytest.raises(HeadraceError) as caught:
        ds.query(query, on_error=on_error).to_list()
    for kind, line in first.items():
        byte = [0, 12, 22, 31, 42][line - 1]
        assert f"line {line}, byte {byte} has a {kind}" in str(caught.value)


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("$.rows().max(t)", ".max(t)"),
        ("$.rows().map(t).min() | @ + 1", ".min() | @ + 1"),
        ("{m: $.rows().filter(t).max(t)}", ".max(t)}"),
        ("$.rows().group(k, {top: max(t)})", ".group(k, {top: max(t)})"),
    ],
)
def test_kinds_that_do_not_compare_have_a_place_in_the_query(rows, query, near):
    ds = rows({"t": 10}, {"t": "1"})
    with pytest.raises(QueryFailedError) as caught:
        ds.query(query).to_list()
    assert caught.value.query[caught.value.offset :] == near
    column = query.index(near) + 1
    assert str(caught.value).endswith(f", at column {column} of the query: {near}")


@pytest.mark.parametrize(
    ("query", "function"),
    [
        ("$.rows().median(p)", "median"),
        ("$.rows().map(p).median()", "median"),
        ("$.rows().percentile(p, 0.9)", "percentile"),
        ("$.rows().map(p).quantile(0.9)", "quantile"),
        ("$.rows().stddev(p)", "stddev"),
        ("$.rows().aggregate({n: count(), v: variance(p)})", "variance"),
        ("$.rows().group(k, {m: median(p), q: quantile(p, 0.9)})", "median"),
    ],
)
def test_a_row_that_a_statistic_cannot_take_names_the_function(rows, query, function):
    ds = rows({"p": 1}, {"p": "12.50"}, {"p": 3})
    with pytest.raises(RowFailedError) as caught:
        ds.query(query).to_list()
    assert caught.value.line == 2
    assert caught.value.reason.startswith(
        f"{function} takes numbers and null, not string 12.50"
    )


@pytest.mark.parametrize("on_error", ["abort", "skip"])
def test_an_error_behind_a_sort_names_its_row(rows, on_error):
    ds = rows({"a": 2, "n": 1}, {"a": 1, "n": 0}, {"a": 3, "n": 0})
    with pytest.raises(QueryFailedError) as caught:
        ds.query("$.rows().sort(a).map(12 / n)", on_error=on_error).to_list()
    assert "line 2, byte 17 is the first such row" in caught.value.reason
    assert ("skips no row here" in str(caught.value)) == (on_error == "skip")


@pytest.mark.parametrize(
    "query",
    ["$.rows().unique().map(12 / n)", "$.rows().group(n, {q: 12 / sum(n)})"],
)
def test_an_error_behind_all_rows_says_why_it_skips_none(rows, query):
    ds = rows({"n": 1}, {"n": 0})
    if "unique" in query:
        assert ds.query(query, on_error="skip").to_list() == [12]
        return
    with pytest.raises(QueryFailedError, match="skips no row here") as caught:
        ds.query(query, on_error="skip").to_list()
    assert caught.value.reason == "division by zero"


@pytest.mark.parametrize("count", ["true", "'2'", "1.5", "0 - 1"])
@pytest.mark.parametrize(
    "step", ["take({})", "skip({})", "first({})", "last({})", "nth({})"]
)
def test_a_count_over_rows_is_what_it_is_in_a_row(rows, step, count):
    ds = rows(1, 2, 3)
    if step.startswith("nth") and count == "0 - 1":
        assert ds.query(f"$.rows().{step.format(count)}").to_list() == [3]
        return
    with pytest.raises(QueryFailedError, match="must be"):
        ds.query(f"$.rows().{step.format(count)}").to_list()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("range(10000).fold([], (a, x) => a + [x]).sum()", "49995000"),
        ("range(10000).fold({n: 0, xs: []}, (a, x) => {n: a.n + 1, xs: a.xs + [x]}).n", "10000"),
        ("range(16000).fold('', (a, x) => a + 'abcdefgh').len()", "128000"),
        ("[1.5, 2].fold([], (a, x) => a + [x])", "[1.5,2]"),
    ],
)  # fmt: skip
def test_a_fold_gives_the_memory_of_its_steps_back(query, expected):
    assert answer(query) == expected
