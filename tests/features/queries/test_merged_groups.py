"""Groups that do not fit into the memory of the driver are merged by a shuffle of aggregates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.errors import MemoryExceededError
from headrace.kernel.programs import StreamQuery
from tests.examples import often
from tests.features.queries.test_aggregates import (
    AGGREGATES,
    GROUP_KEYS,
    MADE,
    OF_PAIR,
    ROWS,
    TEXT_KEYS,
)
from tests.features.queries.test_divided_queries import BAD
from tests.reference.engines import BY_TASKS, outcome

ROWS_BEHIND = st.sampled_from([
    "", ".count()", ".sort(-a0).take(2)", ".filter(a0 != 1)", ".map(a0)", ".map(4 / a0)", ".map(a0).max()",
    ".map(a0).sum()", ".take(1).map(4 / a0)", ".skip(1)", ".map(4 / a0).take(1)", ".sort(a0)", ".first()",
    ".flat_map([a0, 1])", ".unique_by(a0)", ".filter(4 / a0 > 1).count()", ".map(a0).unique()", "[*].a0",
    ".find(a0 == 2)", ".count_by(a0)", ".group(a0, {n: count()})", ".max_by(a0)", ".sort(4 / a0).take(1)",
    ".last()", ".last(2)", "[1]", "[-1].a0", ".any(a0 > 1)", ".all(4 / a0 > 0)", ".reverse()", ".take_while(a0 > 0)",
    ".median(a0)", ".aggregate({n: count(), t: sum(a0)})",
])  # fmt: skip
VALUES_BEHIND = st.sampled_from([
    "", ".map(@ ?? 0)", ".count()", ".sort().take(2)", ".take(1)", ".sum()", ".map(4 / @)", ".flat_map([@, @])",
    ".max()", "[0]", ".unique().len()", ".filter(4 / @ > 1)",
])  # fmt: skip
OBJECT_BEHIND = st.sampled_from([
    "", ".transform_values(4 / @)", ".len()", ".keys()", ".keys().take(2)", ".values()", ".to_pairs()",
    ".entries().map(@[1])", ".entries().sort(-@[1]).take(2)", ".transform_values([@]).values().map(@[0]).sum()",
])  # fmt: skip
GROUPED = st.one_of(
    st.builds(
        lambda keys, shape, behind: (
            f"group({keys}, {{{', '.join(f'a{at}: {each}' for at, each in enumerate(shape))}}})"
            + behind
        ),
        GROUP_KEYS
        | st.sampled_from(["4 / v, k", "k: 4 / v"]).filter(lambda key: ":" in key),
        st.lists(AGGREGATES, min_size=1, max_size=3),
        ROWS_BEHIND,
    ),
    st.builds(
        "group_by({}).transform_values({}){}".format, TEXT_KEYS, MADE, OBJECT_BEHIND
    ),
    st.builds("group_by({}).values().map({}){}".format, TEXT_KEYS, MADE, VALUES_BEHIND),
    st.builds(
        "group_by({}).entries().map({}){}".format, TEXT_KEYS, OF_PAIR, VALUES_BEHIND
    ),
    st.builds("count_by({}){}".format, TEXT_KEYS, OBJECT_BEHIND),
    st.builds("index_by({}){}".format, TEXT_KEYS, OBJECT_BEHIND),
    st.builds("pivot({}, j){}".format, st.sampled_from("kjv"), OBJECT_BEHIND),
    st.builds("group_by({}).{}()".format, TEXT_KEYS, st.sampled_from(["keys", "len"])),
)


WARNS = pytest.mark.filterwarnings("ignore::headrace.errors.MemoryWarning")

MERGE = StreamQuery.merge


def merge_no_groups(query, part):
    """Merge the part of a task, as if there were no memory for groups."""
    if query.has_groups:
        raise MemoryExceededError(query.max_memory)
    MERGE(query, part)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("groups")


@often(3)
@given(
    query=GROUPED,
    before=st.sampled_from(
        ["", "", "", "filter(v != 7).", "flat_map([@, @]).", "map(4 / v)."]
    ),
    rows=st.lists(ROWS, max_size=12),
    bad=st.lists(st.tuples(st.integers(0, 12), BAD), max_size=2),
    options=st.fixed_dictionaries(
        {"on_error": st.sampled_from(["abort", "skip", "collect"])},
        optional={
            "limit": st.integers(0, 3),
            "nulls": st.sampled_from(["drop", "emit"]),
            "shape": st.sampled_from(["lines", "value"]),
        },
    ),
    size=st.integers(1, 200),
    cut=st.integers(0, 12),
)
def test_merged_groups_are_those_of_one_run(
    folder, monkeypatch, query, before, rows, bad, options, size, cut
):
    monkeypatch.setattr(StreamQuery, "merge", merge_no_groups)
    lines = [row.encode() for row in rows]
    for at, line in bad:
        lines.insert(at, line)
    paths = [folder / "1.jsonl", folder / "2.jsonl"]
    for path, part in zip(paths, [lines[:cut], lines[cut:]], strict=True):
        path.write_bytes(b"\n".join(part))
    query = f"$.rows().{before}{query}"
    with headrace.open(paths, index=False, max_line=250) as dataset:
        expected = outcome(dataset, query, **options)
        divided = outcome(dataset, query, **BY_TASKS, partition_bytes=size, **options)
    assert divided == expected


@WARNS
@pytest.mark.parametrize(
    ("query", "counted"),
    [
        ("$.rows().group(k, {n: count(), first: @.first().id})", 3000),
        ("$.rows().group(k, {n: count()}).sort(-n, k).take(2)", 2),
        ("$.rows().group_by(k).transform_values(@.sum(id))", 1),
        ("$.rows().count_by(k).values().max()", 1),
        ("$.rows().index_by(k)", 1),
    ],
)
def test_a_little_memory_is_enough_for_many_groups(folder, query, counted):
    path = folder / "many.jsonl"
    path.write_text(
        "".join(f'{{"id": {n}, "k": {n * 7 % 3000}}}\n' for n in range(6000))
    )
    with headrace.open(path, index=False) as dataset:
        expected = outcome(dataset, query)
        where = {**BY_TASKS, "partition_bytes": 20_000, "memory": 10_000}
        assert outcome(dataset, query, **where) == expected
        with pytest.raises(MemoryExceededError):
            dataset.query(query, memory=10_000).to_list()
    assert expected[0].count(b"\n") == counted


@WARNS
def test_groups_whose_rest_needs_all_of_them_are_an_error_of_memory(folder):
    path = folder / "many.jsonl"
    path.write_text("".join(f'{{"id": {n}}}\n' for n in range(6000)))
    where = {**BY_TASKS, "partition_bytes": 20_000, "memory": 10_000}
    with headrace.open(path, index=False) as dataset:
        for query in (
            "$.rows().group_by(id).transform_values(@.count()).to_json()",
            "$.rows().group(id, {n: count()}).sort(-n)",
        ):
            with pytest.raises(MemoryExceededError, match="must hold"):
                dataset.query(query, **where).to_list()
