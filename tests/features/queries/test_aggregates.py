"""Groups, places and statistics are those of the reference, in whatever way rows are gone through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from tests.examples import often
from tests.reference.comparison import alike
from tests.reference.language.evaluate import answer
from tests.reference.language.values import QueryError, read

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
])  # fmt: skip
GROUP_KEYS = st.sampled_from(["k", "k, j", "big: v > 1", "j, n: v", "at: @.k", ".j"])
OTHERS = st.sampled_from([
    "median(v)", "quantile(v, 0)", "quantile(v, 0.95)", "percentile(v, 1)", "stddev(v)", "variance(v)",
    "map(v).median()", "map(v).quantile(0.25)", "map(v).stdev()", "mode(k)", "map(k).mode()",
    "count_distinct(k)", "histogram(v, 3)", "histogram(v, 0.7)", "map(v).histogram([1])", "median(t)",
    "row_number()", "row_number(v)", "rank(-v, j)", "dense_rank(v)", "rank(k, by: j)",
    'row_number(-v, by: [k, j], as: "n").map(n)', "dense_rank(-v, by: k, as: v)",
])  # fmt: skip

STREAMS = ("group", "row_number", "rank", "dense_rank")


@st.composite
def queries(draw):
    """Make the steps of a query over all rows; also tell if each element is a line."""
    shape = ", ".join(
        f"a{number}: {aggregate}"
        for number, aggregate in enumerate(draw(st.lists(AGGREGATES, max_size=3)))
    )
    last = draw(
        st.one_of(
            GROUP_KEYS.map(lambda keys: f"group({keys}, {{{shape}}})"),
            st.just(f"aggregate({{{shape}}})"),
            OTHERS,
        )
    )
    before = draw(st.sampled_from(["", "filter(v != 7).", "flat_map([@, @])."]))
    if last.startswith("group") and draw(st.booleans()):
        last += ".count()"
    lines = not last.endswith("count()") and last.startswith(STREAMS)
    return before + last, lines


def wanted(query, document):
    try:
        return answer(query, document)
    except QueryError:
        return FAILED


def check(found, value, query):
    assert alike(found, value), f"{query} gave {found}, not {value}"


@often(3)
@given(rows=st.lists(ROWS, max_size=8), query=queries())
def test_of_a_document_and_of_all_rows(rows, query, tmp_path_factory):
    steps, are_lines = query
    document = f"[{','.join(rows)}]"
    value = wanted(f"$.{steps}", read(document))
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
