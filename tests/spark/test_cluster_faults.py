"""Reads and queries on a real cluster in which things die: each row once, or an error.

One session asks everything, since starting one takes longer than all the rest.
"""

import json
import sys

import pytest

import headrace
from tests.spark.cluster import SETTINGS, cluster, run_driver

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
    # This is an error of Spark, trace and all.
    ("no headrace", 0, "ModuleNotFoundError: ", ["read"]),
]
"""What goes wrong, how often, what is said at last, and what is asked meanwhile."""

OURS = {*QUERIES, "pipeline"}
"""What is asked by us, who say in one line what Spark says in many."""

DRIVER = f"""
import json, sys
import headrace, headrace.spark
from headrace.errors import HeadraceError
from headrace.pipeline import Dedupe, Source
from tests.spark.sabotage import VARIABLE, Sabotage

master, path, directory, faults = sys.argv[1:]
sabotage = Sabotage(directory)
sabotage.give("nothing")
spark = headrace.spark.session(master, **{SETTINGS}, **{{
    "spark.python.daemon.module": "tests.spark.sabotage",
    "spark.executorEnv." + VARIABLE: directory,
    # A worker is what was ordered when it was made.
    "spark.python.worker.reuse": False,
    "spark.sql.shuffle.partitions": 2,
}})

def read():
    reader = spark.read.format("headrace").option("maxPartitionBytes", "64KiB")
    reader = reader.option("maxBatchBytes", "2KiB")
    frame = reader.schema("id long, x double, word string, _line long, _offset long").load(path)
    return [list(row) for row in frame.collect()]

def ask(query):
    dataset = headrace.open(path, persist=False)
    result = dataset.query(query, engine="spark", master=master, partition_bytes="64KiB")
    return b"".join(result.lines()).decode()

def write():
    spark.range(10).write.format("headrace").mode("append").save(f"{{directory}}/written")

def pipeline():
    source = Source(path, partition_bytes="64KiB")
    made = headrace.Pipeline("skew", f"{{directory}}/pipeline", source, [Dedupe("id")])
    made.run(spark=spark)

asked = {{"read": read, "write": write, "pipeline": pipeline}}
for name, query in {QUERIES}.items():
    asked[name] = lambda query=query: ask(query)
for order, names in json.loads(faults):
    for name in names:
        sabotage.give(order)
        answer = error = None
        try:
            answer = asked[name]()
        except HeadraceError as raised:
            error = f"{{type(raised).__name__}}: {{raised}}"
        except Exception as raised:
            error = str(raised)
        print(json.dumps([sabotage.done(), answer, error]), flush=True)
spark.stop()
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    with path.open("w") as file:
        for row in range(ROWS):
            word = "né" * (row % 7)
            line = {"id": row, "x": row * 0.1 - 1e16 * (row % 2), "word": word}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


def outcomes(directory, path):
    """Have one driver ask all that is asked while something goes wrong."""
    faults = json.dumps([(order, names) for order, _often, _said, names in FAULTS])
    with cluster(directory) as master:
        printed = run_driver(DRIVER, master, str(path), str(directory), faults)
    return iter([json.loads(line) for line in printed.splitlines()])


def expected_rows(path):
    offset, rows = 0, []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        row = json.loads(line)
        rows.append([row["id"], row["x"], row["word"], number, offset])
        offset += len(line)
    return rows


def test_each_row_is_read_once_whatever_dies(path, tmp_path):
    dataset = headrace.open(path, persist=False)
    expected = {
        name: b"".join(dataset.query(query).lines()).decode()
        for name, query in QUERIES.items()
    }
    expected["read"] = expected_rows(path)
    found = outcomes(tmp_path, path)
    for order, often, said, names in FAULTS:
        for name in names:
            done, answer, error = next(found)
            # A query may be several jobs, each with a task that it happens to.
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
