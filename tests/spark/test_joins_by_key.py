"""Joins by Spark tasks, with every strategy: the answers of one process.

All queries are tested without Spark, in tests/features/joins/test_joins_by_key_on_spark.py.
"""

import json

import pytest

import headrace
from tests.reference.engines import outcome

pytestmark = pytest.mark.spark

HERE = "local[2,4]"
QUERIES = [
    "$.rows().left_join(@users, on: user == id)",
    "$.rows().filter(n % 3 == 0).lookup(@users, on: user == id, as: 'who').map(who.name)",
    "$.rows().diff(@users, on: user == id).count()",
    "$.rows().join(@users, on: user == id).sort(-n).map([n, name])",
]


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """Make rows and users, of which some have two rows, in two files with an index each."""
    directory = tmp_path_factory.mktemp("sides")
    rows = directory / "rows.jsonl"
    rows.write_text(
        "".join(
            json.dumps({"n": n, "user": f"né{n * 7 % 900}"}) + "\n" for n in range(300)
        )
    )
    users = [directory / f"users-{part}.jsonl" for part in range(2)]
    for part, path in enumerate(users):
        lines = [
            json.dumps({"id": f"né{number}", "name": f"{part}/{number}"}) + "\n"
            for number in range(part * 300, part * 300 + 400)
        ]
        path.write_text("".join(lines))
        headrace.KeyIndex.build(path, "id")
    return rows, users


@pytest.mark.parametrize("strategy", ["index", "broadcast", "shuffle"])
def test_every_strategy_gives_the_answer_of_one_process(
    spark, sides, monkeypatch, strategy
):
    rows, users = sides
    # Sizes decide the strategy.
    hints = {"users": 100 if strategy == "broadcast" else 10**9}
    monkeypatch.setattr(
        "headrace.engines.spark.query.run.FEW_TASKS", 16 * (strategy == "broadcast")
    )
    with headrace.open(rows) as dataset:
        for query in QUERIES:
            shared = {"names": {"users": users}, "size_hints": hints}
            expected = outcome(dataset, query, index=False, **shared)
            spark_only = {
                "engine": "spark",
                "master": HERE,
                "partition_bytes": "4KiB",
                "index": strategy == "index",
            }
            result = dataset.query(query, **shared, **spark_only)
            assert f"@users by {strategy}, since" in result.explain()
            assert outcome(dataset, query, **shared, **spark_only) == expected
