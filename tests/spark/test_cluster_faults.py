"""Reads and queries on a real cluster with faults: each row once, or an error."""

import json
import sys

import pytest

import headrace
from headrace.errors import HeadraceError
from headrace.pipeline import Dedupe, Source

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script"),
]

ROWS = 3000
QUERIES = {
    "rows": "$.rows().filter(id % 3 == 0).map({id, word})",
    "sum": "$.rows().sum(x)",
    "groups": "$.rows().group_by(word)",
    "order": "$.rows().sort(-x).map(id)",
}
OTHER = (
    f"this node has headrace 0.0.1, but the driver {headrace.__version__}; "
    "install the same version"
)
FAULTS = [
    ("executor", 1, None, ["read", "groups"]),
    ("worker", 1, None, ["read", "rows"]),
    ("once", 1, None, ["read", "sum"]),
    ("three times", 3, None, ["read", "order"]),
    ("always", 4, "RuntimeError: attempt 3 fails", ["read", "rows"]),
    ("another version", 0, OTHER, ["read", "rows", "write", "pipeline"]),
    ("no headrace", 0, "has no headrace; install it", ["rows", "pipeline"]),
    # This is an error of Spark with its stack trace.
    ("no headrace", 0, "ModuleNotFoundError: ", ["read"]),
]
"""The fault, how often it happens, the final error, and the operations that run."""

OURS = {*QUERIES, "pipeline"}
"""Operations of headrace itself, whose errors have one line."""


def read(context, path):
    reader = context.spark.read.format("headrace").option("maxPartitionBytes", "64KiB")
    reader = reader.option("maxBatchBytes", "2KiB")
    columns = "id long, x double, word string, _line long, _offset long"
    return [list(row) for row in reader.schema(columns).load(path).collect()]


def query(context, path, name):
    result = headrace.open(path, index=False).query(
        QUERIES[name], engine="spark", master=context.master, partition_bytes="64KiB"
    )
    return b"".join(result.lines()).decode()


def write(context, directory):
    rows = context.spark.range(10).write.format("headrace").mode("append")
    rows.save(f"{directory}/written")


def run_pipeline(context, path, directory):
    source = Source(path, partition_bytes="64KiB")
    made = headrace.Pipeline("skew", f"{directory}/pipeline", source, [Dedupe("id")])
    made.run(spark=context.spark)


def ask(context, path, directory, name):
    if name in QUERIES:
        return query(context, path, name)
    if name == "read":
        return read(context, path)
    if name == "write":
        return write(context, directory)
    return run_pipeline(context, path, directory)


def outcomes(context, path, directory):
    """Run the operations of each fault while the fault happens."""
    found = []
    for order, _often, _said, names in FAULTS:
        for name in names:
            context.sabotage.give(order)
            answer = error = None
            try:
                answer = ask(context, path, directory, name)
            except HeadraceError as raised:
                error = f"{type(raised).__name__}: {raised}"
            except Exception as raised:  # noqa: BLE001, Spark has many
                error = str(raised)
            found.append([context.sabotage.done(), answer, error])
    return found


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    with path.open("w") as file:
        for row in range(ROWS):
            word = "né" * (row % 7)
            line = {"id": row, "x": row * 0.1 - 1e16 * (row % 2), "word": word}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


def expected_rows(path):
    offset, rows = 0, []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        row = json.loads(line)
        rows.append([row["id"], row["x"], row["word"], number, offset])
        offset += len(line)
    return rows


def test_each_row_is_read_once_in_spite_of_faults(driver, path, tmp_path):
    dataset = headrace.open(path, index=False)
    expected = {
        name: b"".join(dataset.query(query).lines()).decode()
        for name, query in QUERIES.items()
    }
    expected["read"] = expected_rows(path)
    found = iter(driver(outcomes, path, tmp_path))
    for order, often, said, names in FAULTS:
        for name in names:
            done, answer, error = next(found)
            # A query may have several jobs, and the fault happens in each.
            assert done in (often, 2 * often), (order, name)
            if said is None:
                assert (answer, error) == (expected[name], None), (order, name)
                continue
            # All or nothing.
            assert answer is None, (order, name)
            assert said in error
            if name in OURS:
                assert error.startswith("SparkFailedError: Spark could not run")
                assert "every node has headrace" in error
                assert "\n" not in error
    assert next(found, None) is None
    assert not (tmp_path / "written").exists()
    assert not (tmp_path / "pipeline").exists()
