"""Shuffles of keyed frames, compared with Python's own sort, dictionaries and loops."""

import json
import pickle

import pyarrow as pa
import pytest

from headrace.engines.spark.shuffle.frames import (
    SCHEMA,
    first_of_each_key,
    joined_lines,
    sorted_lines,
)
from headrace.engines.spark.shuffle.key_sample import bounds
from headrace.engines.spark.shuffle.stage_task import JoinElements
from headrace.errors import JoinKeyTooLargeError
from headrace.kernel.sort_keys import KeyedRows
from tests.reference.keyed_rows import batch_of, code, elements, rows_with_keys
from tests.reference.slow_joins import join

pytestmark = pytest.mark.spark

TASKS = 5

INPUTS = [
    pytest.param([], id="no row"),
    pytest.param(rows_with_keys(1, 1), id="one row"),
    pytest.param(rows_with_keys(1500, 2), id="many ties"),
    pytest.param(rows_with_keys(900, 3, hot=0.8), id="a hot key"),
]

KINDS = ["join", "left_join", "lookup", "diff", "intersect"]


@pytest.fixture(params=[True, False], ids=["adaptive", "not adaptive"])
def adaptive(request, spark):
    name = "spark.sql.adaptive.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, request.param)
    yield
    spark.conf.set(name, before)


def keyed(lines, tasks=TASKS, **options):
    """Return rows of a keyed frame, as if `tasks` tasks had read the lines."""
    made = elements(KeyedRows(code("k"), **options).of(batch_of(*lines)))
    share = -(-len(lines) // tasks) or 1
    return [
        (at // share, at % share, key, line)
        for at, (_, line, key, _) in enumerate(made)
    ]


def frame_of(spark, rows):
    """Return a frame whose partitions do not follow the order of the rows."""
    shuffled = rows[1::2] + rows[::2]
    return spark.createDataFrame(shuffled, SCHEMA).repartition(3)


def place(row):
    return row[:2]


def in_order(frame):
    """Return the rows of a frame, partition after partition."""
    return [
        tuple(bytes(part) if isinstance(part, bytearray) else part for part in row)
        for row in frame.toLocalIterator()
    ]


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("lines", INPUTS)
def test_sorted_lines(spark, lines):
    rows = keyed(lines)
    frame = frame_of(spark, rows)
    found = [key for _, at, key, _ in rows if at % 7 == 0]
    for parts in (1, 4):
        made = sorted_lines(frame, bounds(found, parts))
        expected = sorted(rows, key=lambda row: row[2])
        assert in_order(made) == expected


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("lines", INPUTS)
def test_first_of_each_key(spark, lines):
    rows = keyed(lines)
    frame = frame_of(spark, rows)
    firsts = {key: row for row in reversed(rows) for key in [row[2]]}
    lasts = {row[2]: row for row in rows}
    for buckets in (1, 4):
        for keep, chosen in (("first", firsts), ("last", lasts)):
            made = first_of_each_key(frame, buckets, tasks=TASKS, keep=keep)
            assert in_order(made) == sorted(chosen.values(), key=place)


def joining(kind, name=None, memory=1 << 20):
    return JoinElements(kind, code("k"), code("k"), name, memory, 9)


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("kind", KINDS)
def test_joined_lines(spark, kind):
    left, right = rows_with_keys(400, 5, hot=0.1), rows_with_keys(60, 6, hot=0.3)
    expected = join(
        kind, [*map(json.loads, left)], [*map(json.loads, right)], ["k"], ["k"]
    )
    rows = keyed(left, joins=True)
    frames = [frame_of(spark, rows), frame_of(spark, keyed(right, 2, joins=True))]
    for buckets in (1, 3):
        made = joined_lines(*frames, joining(kind), buckets, tasks=TASKS)
        assert [json.loads(row.line) for row in made.toLocalIterator()] == expected


def failing_once(folder):
    """Return a function that passes rows on, and fails at the first attempt of a task."""

    def fail(batches):
        from pathlib import Path

        from pyspark import TaskContext

        attempted = Path(folder) / f"{TaskContext.get().partitionId()}"
        if not attempted.exists():
            attempted.touch()
            raise RuntimeError("not at the first attempt")
        yield from batches

    return fail


def test_repeated_tasks_move_no_row(spark, tmp_path):
    rows = keyed(rows_with_keys(600, 11, hot=0.3))
    frame = frame_of(spark, rows)
    expected = sorted(rows, key=lambda row: row[2])
    cuts = bounds([row[2] for row in rows], 3)
    (tmp_path / "before").mkdir()
    (tmp_path / "behind").mkdir()
    before = frame.mapInArrow(failing_once(str(tmp_path / "before")), SCHEMA)
    behind = sorted_lines(before, cuts).mapInArrow(
        failing_once(str(tmp_path / "behind")), SCHEMA
    )
    assert in_order(behind) == expected
    assert len(list((tmp_path / "before").iterdir())) == 3
    assert len(list((tmp_path / "behind").iterdir())) == len(cuts) + 1


def test_partitions_are_runs_of_tasks(spark):
    rows = keyed(rows_with_keys(300, 7))
    made = first_of_each_key(frame_of(spark, rows), 2, tasks=TASKS)
    assert made.rdd.getNumPartitions() == 2
    assert [{row.task for row in part} for part in made.rdd.glom().collect()] == [
        {row[0] for row in made.collect() if row[0] < 3},
        {row[0] for row in made.collect() if row[0] >= 3},
    ]


def joined_in_process(joining, left, right, batch_rows):
    """Join as one task does, with all batches of `batch_rows` rows."""
    sides = [(0, *row) for row in keyed(right, 2, joins=True) if row[2]]
    sides += [(1, *row) for row in keyed(left, joins=True)]
    sides.sort(key=lambda row: (row[3], row[0], row[1:3]))
    columns = ["side", "task", "number", "key", "line"]
    table = pa.table([list(column) for column in zip(*sides, strict=True)], columns)
    joining = pickle.loads(pickle.dumps(joining))
    batches = joining(iter(table.to_batches(max_chunksize=batch_rows)))
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: (row["task"], row["number"], row["place"]))


@pytest.mark.parametrize(
    ("kind", "name"),
    [*((kind, None) for kind in KINDS), *((kind, "other") for kind in KINDS[:3])],
)
def test_joins_in_batches_of_any_size(kind, name):
    left, right = rows_with_keys(150, 8, hot=0.4), rows_with_keys(80, 9, hot=0.4)
    expected = join(
        kind, [*map(json.loads, left)], [*map(json.loads, right)], ["k"], ["k"], name
    )
    for batch_rows in (1, 7, 1000):
        rows = joined_in_process(joining(kind, name), left, right, batch_rows)
        assert [json.loads(row["line"]) for row in rows] == expected


def test_a_row_that_cannot_be_joined_has_a_reason():
    left = [b'{"k": 1}', b'{"k": 2}']
    joining = JoinElements("join", code("k"), code("$[0]"), None, 1 << 20, 9)
    right = elements(KeyedRows(code("$[0]")).of(batch_of(b"[2, 5]")))
    sides = [(0, 0, 0, right[0].key, right[0].line)]
    sides += [(1, *row) for row in keyed(left)]
    sides.sort(key=lambda row: (row[3], row[0]))
    columns = ["side", "task", "number", "key", "line"]
    table = pa.table([list(column) for column in zip(*sides, strict=True)], columns)
    (joined,) = (batch.to_pylist() for batch in joining(iter(table.to_batches())))
    (row,) = joined
    assert (row["task"], row["number"], row["line"]) == (1, 0, None)
    assert row["reason"] == "a join needs objects, array value is none"


def test_a_key_with_more_rows_than_fit_is_named():
    right = [b'{"k": "hot", "n": %d}' % number for number in range(200)]
    hot = joining("join", memory=2000)
    with pytest.raises(
        JoinKeyTooLargeError, match='key "hot" take more than 2000 bytes'
    ):
        joined_in_process(hot, right[:1], right, 50)
    # Of these, one right row is enough.
    assert (
        len(joined_in_process(joining("lookup", memory=2000), right[:1], right, 50))
        == 1
    )
