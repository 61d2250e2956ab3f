"""A read on a real cluster."""

import subprocess
import sys

import pytest

from tests.spark.cluster import SETTINGS, cluster, environment, run_driver
from tests.spark.processes import kill, until

pytestmark = pytest.mark.spark

DRIVER = f"""
import os, sys
import headrace.spark
from pyspark.sql.functions import udf

master, path = sys.argv[1:]
spark = headrace.spark.session(master, **{SETTINGS})
frame = spark.read.format("headrace").option("maxPartitionBytes", "1KiB").load(path)
splits = frame.rdd.getNumPartitions()
# Each executor has a working directory of its own.
executor = udf(os.getcwd, "string").asNondeterministic()
rows = frame.withColumn("executor", executor()).collect()
print(splits, len({{row.executor for row in rows}}))
for row in rows:
    print(row._file, row._offset, row._row, bytes(row._raw).decode())
spark.stop()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script")
def test_every_line_comes_exactly_once_from_a_cluster(tmp_path):
    path = tmp_path / "lines.jsonl"
    wanted, data = [], b""
    for row in range(600):
        line = f'{{"n": {row}, "text": "{"é" * (row % 50)}"}}'
        wanted.append(f"{path} {len(data)} {row} {line}")
        data += f"{line}\n".encode()
    path.write_bytes(data)

    with cluster(tmp_path) as master:
        printed = run_driver(DRIVER, master, str(path))
    counts, *rows = printed.splitlines()
    splits, executors = map(int, counts.split())
    assert splits == -(-len(data) // 1024)
    assert executors == 2
    assert rows == wanted


WAITING = f"""
import sys
import headrace.spark
# With a ratio of workers that must be there, it is the start that waits.
settings = {SETTINGS} | {{
    "spark.scheduler.minRegisteredResourcesRatio": 0.0,
    "spark.starvation.timeout": "1s",
}}
spark = headrace.spark.session(sys.argv[1], **settings)
spark.range(10).collect()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_master_without_workers_is_said(tmp_path):
    said = tmp_path / "said"
    with cluster(tmp_path, hosts=()) as master, said.open("wb") as errors:
        driver = subprocess.Popen(
            [sys.executable, "-c", WAITING, master],
            stderr=errors,
            env=environment(),
            start_new_session=True,
        )
        try:
            assert until(
                lambda: b"ensure that workers are registered" in said.read_bytes()
            )
        finally:
            kill(driver.pid)
            driver.wait()
    lines = [line for line in said.read_text().splitlines() if "incubator" not in line]
    assert {line.split(": ")[0].split(" ", 2)[2] for line in lines} == {
        "WARN TaskSchedulerImpl"
    }
