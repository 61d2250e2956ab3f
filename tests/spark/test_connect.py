"""Reads, writes and queries through a server of Spark Connect."""

import importlib.util
import json
import sys
from contextlib import contextmanager

import pytest

import headrace
from tests.spark.cluster import (
    LOOPBACK,
    environment,
    free_port,
    run_driver,
    spark_class,
    wait_for,
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script"),
    pytest.mark.skipif(
        importlib.util.find_spec("grpc") is None, reason="needs pyspark[connect]"
    ),
]

QUERIES = [
    "{id, word}",
    "$.rows().sum(x)",
    "$.rows().sort(-x).map(id)",
    "$.rows().take(3)",
]

DRIVER = """
import json, sys
import headrace, headrace.spark
from headrace.pipeline import Sort, Source

url, path, out, queries = sys.argv[1:]
spark = headrace.spark.session(url)
reader = spark.read.format("headrace").option("maxPartitionBytes", "10KiB")
frame = reader.schema("id long, word string, _line long").load(path)
frame.write.format("headrace").mode("append").save(out)
dataset = headrace.open(path, index=False)
for query in json.loads(queries):
    result = dataset.query(query, engine="spark", master=url, partition_bytes="10KiB")
    print(json.dumps(b"".join(result.lines()).decode()))
rows = dataset.query("$.id", engine="spark", master=url, partition_bytes="10KiB").lines()
print(json.dumps(next(rows).decode()[:2]))
rows.close()
assert headrace.spark.session(url) is spark
events = []
source = Source(path, partition_bytes="10KiB")
made = headrace.Pipeline("events", f"{out}-made", source, [Sort("-id")])
report = made.run(spark=spark, tell=events.append)
print(json.dumps([
    report.adds_up,
    [each.spark for each in report.passes],
    max(each.tasks for each in events) > 1,
]))
"""


@contextmanager
def server(directory):
    """Give the URL of a server of Spark Connect."""
    port, log = free_port(), directory / "server.log"
    settings = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": port,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.ui.enabled": "false",
    }
    called = "org.apache.spark.sql.connect.service.SparkConnectServer"
    arguments = ["--class", called, "--master", "local[2,4]"]
    for name, value in settings.items():
        arguments += ["--conf", f"{name}={value}"]
    submit = "org.apache.spark.deploy.SparkSubmit"
    at = environment() | {"SPARK_DAEMON_MEMORY": "1g"}
    with spark_class(log, at, submit, *arguments, "spark-internal"):
        wait_for("Spark Connect server started", log)
        yield f"sc://{LOOPBACK}:{port}"


def test_a_read_a_write_and_queries(tmp_path):
    path, out = tmp_path / "rows.jsonl", tmp_path / "out"
    rows = [{"id": n, "word": "é" * (n % 5), "x": n * 0.1} for n in range(1000)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with server(tmp_path) as url:
        printed = run_driver(DRIVER, url, str(path), str(out), json.dumps(QUERIES))
    *answers, first, pipeline = map(json.loads, printed.splitlines())
    dataset = headrace.open(path, index=False)
    assert answers == [
        b"".join(dataset.query(query).lines()).decode() for query in QUERIES
    ]
    assert first == "0\n"
    # Progress is reported, but Spark's counters are not available.
    assert pipeline == [True, [[], []], True]
    made = headrace.open(tmp_path / "out-made/result").query("$.id").to_list()
    assert made == list(reversed(range(1000)))
    assert list(headrace.open(out)) == [
        {"id": row["id"], "word": row["word"], "_line": line}
        for line, row in enumerate(rows, 1)
    ]
