"""The choice of a join strategy with Spark."""

import dataclasses

import pytest

from headrace.physical import joins

LARGE = joins.SparkSides(
    left_rows=10**6,
    right_rows=10**9,
    indexed=True,
    tasks_hold=False,
    held_here=False,
    shuffled=True,
)


@pytest.mark.parametrize(
    ("facts", "strategy"),
    [
        pytest.param({}, "index", id="much smaller, indexed"),
        pytest.param({"indexed": False}, "shuffle", id="no index"),
        pytest.param({"left_rows": 10**9 // 3}, "index", id="a third"),
        pytest.param({"left_rows": 10**9 // 3 + 1}, "shuffle", id="more than that"),
        pytest.param({"left_rows": None}, "shuffle", id="of unknown size"),
        pytest.param({"rows_per_key": 333}, "index", id="some rows of a key"),
        pytest.param({"rows_per_key": 334}, "shuffle", id="many rows of a key"),
        pytest.param(
            {"left_rows": 10**9, "tasks_hold": True}, "broadcast", id="small right"
        ),
        pytest.param(
            {"left_rows": 10, "right_rows": 1000, "held_here": True},
            "driver",
            id="an index of so little saves nothing",
        ),
        pytest.param(
            {"indexed": False, "held_here": True, "tasks_hold": True},
            "driver",
            id="left keys first",
        ),
        pytest.param({"indexed": False, "shuffled": False}, "driver", id="no shuffle"),
    ],
)
def test_choosing_with_spark(facts, strategy):
    sides = dataclasses.replace(LARGE, **facts)
    assert joins.choose_on_spark(sides).strategy == strategy
