"""A real cluster: a master and two workers, each a process of its own, on loopback."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

pytestmark = pytest.mark.spark

LOOPBACK = "127.0.0.1"
PATIENCE = 60
SPARK_HOME = Path(pyspark.__file__).parent
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

DRIVER = f"""
import os, sys
import headrace.spark
from pyspark.sql.functions import udf

master, path = sys.argv[1:]
spark = headrace.spark.session(master, **{{
    "spark.cores.max": 2,
    "spark.driver.bindAddress": "{LOOPBACK}",
    "spark.driver.extraJavaOptions": "{QUICK_START}",
    "spark.driver.host": "{LOOPBACK}",
    "spark.executor.cores": 1,
    "spark.executor.extraJavaOptions": "{QUICK_START}",
    "spark.executor.memory": "512m",
    # Nothing is scheduled before both executors are there.
    "spark.scheduler.minRegisteredResourcesRatio": 1.0,
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "{PATIENCE}s",
}})
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


@contextmanager
def spark_class(log, environment, *arguments):
    """Run a part of Spark for as long as the block lasts."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [SPARK_HOME / "bin" / "spark-class", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=log.parent,
            # A worker's executors are in its group and end with it.
            start_new_session=True,
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(text, log):
    deadline = time.monotonic() + PATIENCE
    while text not in (said := log.read_text(errors="replace")):
        assert time.monotonic() < deadline, said
        time.sleep(0.1)


def free_port():
    with socket.socket() as unused:
        unused.bind((LOOPBACK, 0))
        return unused.getsockname()[1]


@pytest.fixture
def environment():
    return os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": LOOPBACK,
    }


@pytest.fixture
def cluster(tmp_path, environment):
    """The URL of a master with two workers."""
    port = free_port()
    url = f"spark://{LOOPBACK}:{port}"
    host = ("--host", LOOPBACK, "--webui-port", "0")
    with ExitStack() as parts:
        log = tmp_path / "master.log"
        master = "org.apache.spark.deploy.master.Master"
        parts.enter_context(
            spark_class(log, environment, master, *host, "--port", str(port))
        )
        wait_for("I have been elected leader", log)
        logs = [tmp_path / "worker-1.log", tmp_path / "worker-2.log"]
        worker = "org.apache.spark.deploy.worker.Worker"
        for log in logs:
            room = ("-c", "1", "-m", "1g", "-d", str(log.with_suffix("")))
            parts.enter_context(
                spark_class(log, environment, worker, *host, *room, url)
            )
        for log in logs:
            wait_for("Successfully registered with master", log)
        yield url


@pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script")
def test_every_line_comes_exactly_once_from_a_cluster(tmp_path, cluster, environment):
    path = tmp_path / "lines.jsonl"
    wanted, data = [], b""
    for row in range(600):
        line = f'{{"n": {row}, "text": "{"é" * (row % 50)}"}}'
        wanted.append(f"{path} {len(data)} {row} {line}")
        data += f"{line}\n".encode()
    path.write_bytes(data)

    done = subprocess.run(
        [sys.executable, "-c", DRIVER, cluster, str(path)],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts, *rows = done.stdout.splitlines()
    splits, executors = map(int, counts.split())
    assert splits == -(-len(data) // 1024)
    assert executors == 2
    assert rows == wanted
