"""A log as a Spark source: its committed lines, like the rows of one file."""

import pytest

import headrace
from headrace.errors import SourceChangedError

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:.*are not committed"),
]

ROWS = [{"id": n, "k": f"k{n % 9}"} for n in range(2000)]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    with headrace.LogWriter(path, rotate_rows=600) as writer:
        writer.append_many(ROWS)
    with max(path.glob("*.jsonl")).open("ab") as file:
        file.write(b'{"id":"not committed"}\n')
    return path


@pytest.mark.parametrize("partition_bytes", [1000, 1 << 20])
def test_rows_are_the_committed_lines(load, log, partition_bytes):
    frame = load(log, maxPartitionBytes=partition_bytes)
    found = [(row._file, row._row, bytes(row._raw)) for row in frame.collect()]
    assert found == [
        (str(log / f"{n // 600 * 600:020d}.jsonl"), n % 600, line)
        for n, line in enumerate(headrace.Log(log, raw=True))
    ]


def test_typed_records(load, log):
    frame = load(log, schema="id long, k string, _line long")
    assert [tuple(row) for row in frame.collect()] == [
        (row["id"], row["k"], row["id"] % 600 + 1) for row in ROWS
    ]


def test_lines_appended_between_plan_and_task_are_not_read(load, log):
    frame = load(log)
    assert frame.count() == 2000
    with headrace.LogWriter(log, rotate_rows=600) as writer:
        writer.append_many([{"id": n, "k": "later"} for n in range(900)])
    assert frame.count() == 2000
    assert load(log).count() == 2901


def test_a_query_by_tasks(log):
    query = "$.group_by(k).transform_values(count())"
    options = {"stream": True, "master": "local[2,4]", "partition_bytes": "10KiB"}
    rows = headrace.open(log)
    by_tasks = rows.query(query, engine="spark", **options).to_list()
    assert by_tasks == rows.query(query, stream=True).to_list()


def test_a_segment_that_is_gone_is_an_error(log):
    rows = headrace.open(log)
    min(log.glob("*.jsonl")).unlink()
    with pytest.raises(SourceChangedError, match="lines 1 to 600 of the log"):
        rows.query("id", engine="spark", master="local[2,4]").to_list()
