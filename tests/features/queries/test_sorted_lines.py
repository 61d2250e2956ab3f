"""A sort of lines in limited memory gives what a sort of the array in memory gives."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.errors import HeadraceError, QueryFailedError
from headrace.physical.explain import explain
from tests.examples import often
from tests.features.queries.test_divided_queries import BAD, FEW_ROWS
from tests.features.queries.test_query_modes import ROWS
from tests.reference.engines import outcome

SORTS = st.builds(
    "$.rows(){}.{}{}".format,
    st.sampled_from(
        ["", ".filter(id > 1)", ".flat_map([$, id])", ".map(4 / id)", ".map(id)", ".id"]
    ),
    st.sampled_from(
        [
            "sort()",
            "sort(id)",
            "sort(-id)",
            "sort(id, -k)",
            "sort(-k, id)",
            "sort_by(k)",
            "sort(4 / id)",
            "sort($)",
            "sort(len(k as string))",
        ]
    ),
    st.sampled_from(
        ["", ".map(k)", ".filter(id > 1)", ".map({id, k})", ".map(4 / id)", ".map([$])"]
    ),
)
JOINED = st.builds(
    "$.{}(@others, on: id).{}".format,
    st.sampled_from(["join", "left_join", "lookup", "diff"]),
    st.sampled_from(["sort(-id, k)", "sort(k).map(id)"]),
)
OPTIONS = st.fixed_dictionaries(
    {"on_error": st.sampled_from(["abort", "skip", "collect"])},
    optional={
        "limit": st.integers(0, 9),
        "nulls": st.sampled_from(["drop", "emit"]),
        "reverse": st.booleans(),
        "shape": st.sampled_from(["lines", "array"]),
    },
)
MEMORY = st.sampled_from([0, 100, 1000, 1 << 30])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sorted")


def agree(dataset, query, memory, threads, options):
    """Compare with the array in memory, which whole rows are the switch for."""
    expected = outcome(dataset, query, lanes=False, threads=1, **options)
    shared = {"threads": threads, "_share_bytes": 100}
    assert outcome(dataset, query, **shared, **options) == expected
    if len(expected) == 6 and expected[1] is None and options.get("shape") != "array":
        if options.get("reverse"):
            return
        small = outcome(dataset, query, memory=memory, **shared, **options)
        assert small == expected


@often(2.5)
@given(
    query=SORTS,
    rows=ROWS,
    bad=st.lists(st.tuples(st.integers(0, 30), BAD), max_size=3),
    options=OPTIONS,
    memory=MEMORY,
    threads=st.integers(1, 3),
)
def test_any_sort(folder, query, rows, bad, options, memory, threads):
    lines = [json.dumps(row).encode() for row in rows]
    for at, line in bad:
        lines.insert(at, line)
    path = folder / "rows.jsonl"
    path.write_bytes(b"\n".join(lines))
    with headrace.open(path, index=False, max_line=250) as dataset:
        agree(dataset, query, memory, threads, options)


@often(1)
@given(query=JOINED, rows=FEW_ROWS, others=FEW_ROWS, options=OPTIONS)
def test_any_sort_of_a_join(folder, query, rows, others, options):
    left, right = folder / "left.jsonl", folder / "right.jsonl"
    for path, side in ((left, rows), (right, others)):
        path.write_text("".join(json.dumps(row) + "\n" for row in side))
    with headrace.open(left, index=False) as dataset:
        agree(dataset, query, 1 << 20, 2, {**options, "names": {"others": right}})


def test_more_rows_than_fit_are_sorted(tmp_path):
    path = tmp_path / "many.jsonl"
    numbers = [n * 7919 % 100_003 for n in range(100_000)]
    path.write_text("".join(f'{{"id": {n}}}\n' for n in numbers))
    with headrace.open(path, index=False) as dataset:
        result = dataset.query("$.rows().sort(-id).map(id)", memory="1MiB", threads=2)
        assert result.to_list() == sorted(numbers, reverse=True)
        assert result.stats.rows == 100_000
        # A batch is added before the limit is compared.
        assert result.stats.work.memory < 3 << 20
        with pytest.raises(HeadraceError, match="--memory"):
            dataset.query("$.rows().sort(-id).len()", memory="1MiB").to_list()


def test_a_stage_behind_the_sort_that_fails_is_an_error_of_any_file(tmp_path):
    """The error of the sort in memory needs this memory; without, it is that of the first row."""
    path = tmp_path / "fails.jsonl"
    path.write_text('{"id": 1}\n' * 50_000 + '{"id": 0}\n')
    with headrace.open(path, index=False) as dataset:
        with pytest.raises(QueryFailedError, match="zero"):
            dataset.query("$.rows().sort(id).map(4 / id)").to_list()
        with pytest.raises(
            QueryFailedError, match=r"zero \(.*fails.jsonl: byte 500000\)"
        ):
            dataset.query("$.rows().sort(id).map(4 / id)", memory="100KiB").to_list()


@pytest.mark.parametrize(
    ("query", "way"),
    [
        ("$.rows().sort(k)", "temporary file"),
        ("$.rows().sort(k).map(input_line())", "held in memory"),
        ("{a: $.rows().sort(k), b: $.rows().count()}", "held in memory"),
    ],
)
def test_the_plan_names_a_temporary_file_only_where_one_may_be_used(query, way):
    plan = explain(query)
    assert way in plan
    assert ("temporary file" in plan) == (way == "temporary file")
