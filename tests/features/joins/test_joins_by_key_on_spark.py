"""Joins by tasks with an index give the answers of one run that reads all rows."""

import os
import shutil
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.engines.spark.query.task import TaskRun
from tests.examples import often
from tests.features.joins.test_joins_by_key import KEYS, KINDS, ON, ROWS, written
from tests.reference.engines import BY_TASKS, outcome
from tests.reference.shard_sets import write

SMALL = st.sampled_from([key for key in KEYS if key[0] in '1-"0'])
FEW = st.lists(
    st.tuples(SMALL, SMALL).map(lambda row: f'{{"k":{row[0]},"j":{row[1]}}}'),
    max_size=12,
)
BEFORE = st.sampled_from(["", ".filter(j != 1)", ".flat_map([$, $])", ".map({k, j})"])
BEHIND = st.sampled_from(
    [
        "",
        ".map(k)",
        ".filter(@.j == 1)",
        ".count()",
        ".map(1 / k)",
        ".count_by(k)",
        ".sort(k)",
        ".group_by(j)",
        ".unique_by(k)",
        ".skip(1)",
        ".take(2)",
        ".join(@other, on: k)",
        ".last(2)",
    ]
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("joins")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr("headrace.engines.spark.query.task.ROWS_LOOKED_UP", 3)


def indexed(directory, left, parts, fields):
    """Write a left side, and several files of a right side with an index each."""
    left_file = written(directory / "left.jsonl", left)
    rights = [
        written(directory / f"right-{number}.jsonl", part)
        for number, part in enumerate(parts)
    ]
    for right in rights:
        index = right.with_name(f"{right.name}.jnx")
        headrace.KeyIndex.build(right, fields, index=index, force=True)
        # So that it is trusted without reading the file again.
        later = index.stat().st_mtime_ns + 10**9
        os.utime(index, ns=(later, later))
    return left_file, rights


def in_a_set(directory, left, right, fields):
    """Write a left side, and a right side as a set of small parts with a set index."""
    left_file = written(directory / "left.jsonl", left)
    # A set has no blank rows.
    records = [line for line in right if line.strip()]
    shards = write(directory / "set", records, most=4, overwrite=True)
    shutil.rmtree(directory / "set" / f"rows.jnx.{','.join(fields)}", True)
    headrace.KeyIndex.build(shards, fields)
    return left_file, shards


def both(left, rights, query, size, **more):
    """Return the outcomes of a query in this process without an index, and by tasks with one."""
    options = {"names": {"other": rights}, "size_hints": {"other": 10**9}, **more}
    with headrace.open(left) as dataset, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = outcome(dataset, query, index=False, **options)
        tasks = outcome(dataset, query, **BY_TASKS, partition_bytes=size, **options)
    return here, tasks


@often(3)
@given(
    left=ROWS | FEW,
    right=ROWS | FEW,
    kind=KINDS,
    on=ON,
    before=BEFORE,
    behind=BEHIND,
    on_error=st.sampled_from(["abort", "skip", "collect"]),
    limit=st.none() | st.integers(0, 3),
    size=st.integers(1, 200),
    cut=st.integers(0, 12),
)
def test_an_index_changes_nothing(
    directory, left, right, kind, on, before, behind, on_error, limit, size, cut
):
    text, fields = on
    left_file, rights = indexed(directory, left, [right[:cut], right[cut:]], fields)
    query = f"$.rows(){before}.{kind}(@other, {text}){behind}"
    here, tasks = both(left_file, rights, query, size, on_error=on_error, limit=limit)
    assert tasks == here


@given(
    left=ROWS | FEW,
    right=ROWS | FEW,
    kind=KINDS,
    on=ON,
    behind=BEHIND,
    on_error=st.sampled_from(["abort", "skip", "collect"]),
    size=st.integers(1, 200),
)
def test_the_index_of_a_set_changes_nothing(
    directory, left, right, kind, on, behind, on_error, size
):
    text, fields = on
    left_file, shards = in_a_set(directory, left, right, fields)
    query = f"$.rows().{kind}(@other, {text}){behind}"
    here, tasks = both(left_file, shards.path, query, size, on_error=on_error)
    assert tasks == here


@pytest.mark.parametrize("of", ["file", "set", "set that looks different"])
def test_tasks_read_only_the_right_rows_that_are_needed(directory, monkeypatch, of):
    left = [f'{{"k":{row}}}' for row in range(10)]
    right = [f'{{"k":{row},"v":{row * row}}}' for row in range(1000)]
    if of == "file":
        left_file, rights = indexed(directory, left, [right], ["k"])
    else:
        left_file, shards = in_a_set(directory, left, right, ["k"])
        rights = shards.path
        for part in shards.sources() if "different" in of else ():
            os.utime(part.location, ns=(1, 1))
    held = []
    made = TaskRun.queries

    def queries(self):
        found = made(self)
        held.extend(table.held for table in self._run._tables.values())
        return found

    monkeypatch.setattr(TaskRun, "queries", queries)
    here, tasks = both(left_file, rights, "$.rows().join(@other, on: k)", 1 << 20)
    assert tasks == here
    # Ten left rows, three at a time.
    assert len(held) == 4
    assert max(held) < 1000
