"""The division of stages into passes."""

import pytest

from headrace.pipeline import Dedupe, Join, Output, Pipeline, Sort, Source, Transform
from headrace.pipeline.plan.passes import passes

LOOKUP = Join("users", "user == id", "lookup")
SHUFFLE = Join("users", "user == id", "lookup", shuffle=True)


@pytest.mark.parametrize(
    ("stages", "titles"),
    [
        pytest.param([], ["validate"], id="rows are always validated"),
        pytest.param(
            [Transform("{a}"), LOOKUP],
            ["validate, transform, join"],
            id="what needs only the row is one pass",
        ),
        pytest.param(
            [Dedupe("a"), Sort("a"), Transform("{a}")],
            ["validate", "dedupe", "sort", "transform"],
            id="a stage that moves rows is a separate pass",
        ),
        pytest.param(
            [Dedupe("1 / a"), Sort("1 / b")],
            ["validate, dedupe key, sort key", "dedupe", "sort"],
            id="keys are checked before any row is moved",
        ),
        pytest.param(
            [SHUFFLE, Sort("1 / name"), Dedupe("1 / a")],
            ["validate", "join", "sort key, dedupe key", "sort", "dedupe"],
            id="keys of joined rows are checked after the join",
        ),
        pytest.param(
            [SHUFFLE, Sort("name")],
            ["validate", "join", "sort"],
            id="a key that cannot fail needs no check",
        ),
    ],
)
def test_stages_are_cut_into_passes(stages, titles):
    names = {"users": "users.jsonl"}
    made = Pipeline("events", "out", Source("raw"), stages, names)
    assert [each.title for each in passes(made)] == titles


@pytest.mark.parametrize(
    ("stages", "titles"),
    [
        pytest.param(
            [Transform("{a}")], ["validate, transform, partition"], id="the row itself"
        ),
        pytest.param(
            [Dedupe("a"), Sort("a")],
            ["validate, partition", "dedupe", "sort"],
            id="before rows are moved that stay as they are",
        ),
        pytest.param(
            [SHUFFLE],
            ["validate", "join", "partition"],
            id="after a join that shuffles",
        ),
        pytest.param(
            [Sort("a"), SHUFFLE, Dedupe("a")],
            ["validate", "sort", "join", "dedupe", "partition"],
            id="after all stages that move rows, if one is a join",
        ),
    ],
)
def test_partitions_are_checked_when_rows_are_as_they_will_be(stages, titles):
    names, output = {"users": "users.jsonl"}, Output(partition_by="day")
    made = Pipeline("events", "out", Source("raw"), stages, names, output)
    assert [each.title for each in passes(made)] == titles
