"""Groups, ranks and statistics equal the reference in every mode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from tests.examples import often
from tests.reference.comparison import alike
from tests.reference.language.evaluate import answer
from tests.reference.language.values import NotInSubset, QueryError, read

FAILED = object()

NUMBERS = st.sampled_from(
    [
        "0",
        "1",
        "-3",
        "2.50",
        "1e2",
        "1.0",
        "9007199254740993",
        "-0.1",
        "7",
        "null",
        "1e308",
    ]
)
KEYS = st.sampled_from(['"x"', '"y"', "1", "1.0", '"1"', "null", "true", '["x"]'])
ROWS = st.builds(
    lambda k, j, v: f'{{"k":{k},"j":{j},"v":{v}}}', KEYS, KEYS, NUMBERS
) | st.sampled_from(['{"k":"x"}', '{"v":4,"k":"z","t":"text"}'])

AGGREGATES = st.sampled_from([
    "count()", "count(v > 1)", "count(v > 1, k)", "sum(v)", "avg(v)", "min(v)", "max(v)", "median(v)",
    "quantile(v, 0.3)", "stddev(v)", "variance(x => x.v)", "var_pop(v)", "stddev_pop(v)", "mode(j)",
    "count_distinct(j)", "histogram(v, 2)", "histogram(v, [0, 2.5])", "@", "@.map(v)", "@.first().j",
    "@.max_by(v)", "sum(v) / count()", "avg(v) ?? count()", "avg(v) ?? sum(j)", "f\"{count()} of {max(v)}\"",
    "sum(v) if count() > 1 else null", "median(v) if count() > 1 else 0", "[count(), {a: max(v)}]",
    "min_by(v)", "count() > 1 and max(v) > 2", "@.filter(v > 0).count()", "@[0]", "-count()",
    "@.take(2).map(v)", "@.first(0)", "@[1:3].map(j)", "@[-1].v", "@[-2:].map(v)", "@.last().j", "@.last(2)",
    "@.map(v).first()", "@.map([v, j])[1]", "@.sort(-v, j).take(2).map(v)", "@.sort(v)[1].j", "@.sort_by(j).first()",
    "@.map(v).unique()", "@.unique().len()", "any(v > 1)", "all(v > 0)", "exists(j, v)", "any(4 / v > 1)",
    "approx_count_distinct(j)", "@.map(j).approx_distinct()", "@.map(v).sum()", "@.filter(v > 1).max(v)",
    "@.filter(v < 0, j).map(j).count()", "@.filter(4 / v > 1).sum(v)", "max_by(x => x.v).j", "@.len()", "@.map(j)",
    "max_by(4 / v)", "@.skip(1).first()", "@.min_by(-v).v", "@.sort(x => -x.v).take(1)", "nunique(j)",
])  # fmt: skip
MADE = st.sampled_from([
    "@.count()", "{n: @.count(), s: @.sum(v)}", "@.sum(v) / @.count()", "[@.min(v), @.max(v), @.avg(v)]",
    "@.first().j", "@[0]", "@[-1].v", "@.take(2)", "@.last(2).map(j)", "@.max_by(v)", "@.min_by(v).j",
    "@.sort(-v).take(2)", "@.any(v > 1)", "@.all(v > 0)", "@.any(4 / v > 1)", "@.count_distinct(j)",
    "@.approx_count_distinct(j)", "@.map(v).sum()", "@.filter(v > 1).count()", "@.filter(v > 1).sum(v)",
    "@.median(v)", "@.map(j).unique()", "@", "@.map(v)", "@.len() if @.len() > 1 else null", "len", "null",
    "x => x.sum(v)", "x => {n: x.len(), top: x.max(v)}", "x => x.filter(v > 0).map(j)", "count()", "j", "@.fold((a, b) => b)",
    "@.sum(4 / v)", "f\"{@.count()} {@.max(v)}\"", "@.reverse()", "@.count() as string",
])  # fmt: skip
OF_PAIR = st.sampled_from([
    "([k, e]) => {k, n: e.count()}", "([k, e]) => [k, e.max(v), e[0].j]", "([k, e]) => e.sum(v)", "([k, e]) => k",
    "([k, e]) => {k: e.first().k, key: k.upper()}", "([e, k]) => {k: e, s: k.count(v > 1)}", "@[0]",
    "([k, e]) => e.count(k == 1)", "([k, e]) => @[1].len()", "([k, e]) => f\"{k}: {e.len()}\"", "p => p[1].len()",
    "([k, e]) => e.filter(x => x.v > 1).len()", "([k, e]) => {e}",
])  # fmt: skip
TEXT_KEYS = st.sampled_from(
    ["k", "@.k", "x => x.j", "[k, j]", "k as string", "4 / v", "j.z", "v"]
)
BY_TEXT = st.one_of(
    st.builds("group_by({}).transform_values({})".format, TEXT_KEYS, MADE),
    st.builds("group_by({}).values().map({})".format, TEXT_KEYS, MADE),
    st.builds("group_by({}).entries().map({})".format, TEXT_KEYS, OF_PAIR),
    st.builds(
        "{}_by({}).{}()".format,
        st.sampled_from(["group", "index"]),
        TEXT_KEYS,
        st.sampled_from(["keys", "len"]),
    ),
    TEXT_KEYS.map("index_by({})".format),
    st.builds(
        "pivot({}, {})".format, TEXT_KEYS, st.sampled_from(["v", "@.j", "v + 1"])
    ),
    st.builds("pivot({}, {}, v)".format, TEXT_KEYS, TEXT_KEYS),
    st.sampled_from(
        ['pivot("k", "j", "v")', 'pivot("k", v).len()', "pivot(j, k, @.v).keys()"]
    ),
    st.builds("index_by({}).transform_values(v)".format, TEXT_KEYS),
    st.builds(
        "group_by({}).transform_values({}).values().count()".format, TEXT_KEYS, MADE
    ),
)
GROUP_KEYS = st.sampled_from(["k", "k, j", "big: v > 1", "j, n: v", "at: @.k", ".j"])
OTHERS = st.sampled_from([
    "median(v)", "quantile(v, 0)", "quantile(v, 0.95)", "percentile(v, 1)", "stddev(v)", "variance(v)",
    "map(v).median()", "map(v).quantile(0.25)", "map(v).stdev()", "mode(k)", "map(k).mode()",
    "count_distinct(k)", "histogram(v, 3)", "histogram(v, 0.7)", "map(v).histogram([1])", "median(t)",
    "row_number()", "row_number(v)", "rank(-v, j)", "dense_rank(v)", "rank(k, by: j)",
    'row_number(-v, by: [k, j], as: "n").map(n)', "dense_rank(-v, by: k, as: v)",
])  # fmt: skip

STREAMS = ("group(", "row_number", "rank", "dense_rank")
ELEMENTS = (".values().map(", ".entries().map(")


@st.composite
def queries(draw):
    """Make the steps of a query over all rows; also return whether each element is a line."""
    shape = ", ".join(
        f"a{number}: {aggregate}"
        for number, aggregate in enumerate(draw(st.lists(AGGREGATES, max_size=3)))
    )
    last = draw(
        st.one_of(
            GROUP_KEYS.map(lambda keys: f"group({keys}, {{{shape}}})"),
            st.just(f"aggregate({{{shape}}})"),
            OTHERS,
            BY_TEXT,
        )
    )
    before = draw(st.sampled_from(["", "filter(v != 7).", "flat_map([@, @])."]))
    if last.startswith("group") and draw(st.booleans()):
        last += ".count()"
    lines = not last.endswith("count()") and (
        last.startswith(STREAMS) or last.partition(")")[2].startswith(ELEMENTS)
    )
    return before + last, lines


def check(found, value, query):
    assert alike(found, value), f"{query} gave {found}, not {value}"


def wanted(query, document):
    try:
        return answer(query, read(document))
    except QueryError:
        return FAILED
    except NotInSubset:
        # Then the core's own answer over one document, which is not cut into slots.
        try:
            return read(evaluate(query, document.encode()))
        except HeadraceError:
            return FAILED


@often(3)
@given(rows=st.lists(ROWS, max_size=8), query=queries())
def test_aggregates_of_a_document_and_of_all_rows(rows, query, tmp_path_factory):
    steps, are_lines = query
    document = f"[{','.join(rows)}]"
    value = wanted(f"$.{steps}", document)
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(f"{row}\n" for row in rows))
    data = headrace.open(path, index=False)
    ways = {
        "document": lambda: read(evaluate(f"$.{steps}", document.encode())),
        "stream": lambda: gathered(data.query(f"$.{steps}", stream=True, nulls="emit")),
        "rows": lambda: gathered(data.query(f"$.rows().{steps}", nulls="emit")),
        "held": lambda: read(
            next(iter(data.query(f"[$.rows().{steps}]", nulls="emit").lines()))
        )[0],
    }

    def gathered(result):
        lines = b"".join(result.lines()).splitlines()
        return [read(line) for line in lines] if are_lines else read(lines[0])

    for name, way in ways.items():
        if value is FAILED:
            with pytest.raises(HeadraceError):
                way()
        else:
            check(way(), value, f"{name}: {steps}")


@often(1)
@given(
    key=TEXT_KEYS,
    made=MADE.filter(lambda made: made != "null"),
    rows=st.lists(ROWS, max_size=8),
    form=st.sampled_from(["group_shape({}, {})", "group_shape(shape: {1}, by: {0})"]),
)
def test_the_shape_of_a_group(key, made, rows, form, tmp_path_factory):
    value = wanted(f"$.group_by({key}).transform_values({made})", f"[{','.join(rows)}]")
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(f"{row}\n" for row in rows))
    query = f"$.rows().{form.format(key, made)}"
    found = headrace.open(path, index=False).query(query, nulls="emit")
    if value is FAILED:
        with pytest.raises(HeadraceError):
            list(found.lines())
    else:
        (line,) = found.lines()
        check(read(line), value, query)
