"""A read on a real cluster."""

import os
import subprocess
import sys

import pytest

from tests.spark.cluster import SETTINGS, cluster, environment
from tests.spark.processes import kill, until

pytestmark = pytest.mark.spark


def read(context, path):
    from pyspark.sql.functions import udf

    reader = context.spark.read.format("headrace")
    frame = reader.option("maxPartitionBytes", "4KiB").load(path)
    # Each executor has a different working directory.
    executor = udf(os.getcwd, "string").asNondeterministic()
    rows = frame.withColumn("executor", executor()).collect()
    return (
        frame.rdd.getNumPartitions(),
        len({row.executor for row in rows}),
        [[row._file, row._offset, row._row, row._raw.decode()] for row in rows],
    )


@pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script")
def test_every_line_comes_exactly_once_from_a_cluster(driver, tmp_path):
    path = tmp_path / "lines.jsonl"
    wanted, data = [], b""
    for row in range(600):
        line = f'{{"n": {row}, "text": "{"é" * (row % 50)}"}}'
        wanted.append([str(path), len(data), row, line])
        data += f"{line}\n".encode()
    path.write_bytes(data)
    splits, executors, rows = driver(read, path)
    assert splits == -(-len(data) // 4096)
    assert executors == 2
    assert rows == wanted


WAITING = f"""
import sys
import headrace.spark
# With a required ratio of workers, the start itself waits.
settings = {SETTINGS} | {{
    "spark.scheduler.minRegisteredResourcesRatio": 0.0,
    "spark.starvation.timeout": "1s",
}}
spark = headrace.spark.session(sys.argv[1], **settings)
spark.range(10).collect()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_master_without_workers_is_reported(tmp_path):
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
