"""A real cluster on loopback: a master and two workers, each a separate process."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tests.spark.quick_java import ENVIRONMENT, QUICK_START
from tests.stores import on_path

LOOPBACK = "127.0.0.1"
PATIENCE = 60
SPARK_HOME = Path(pyspark.__file__).parent

SETTINGS = {
    "spark.cores.max": 2,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.executor.cores": 1,
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.executor.memory": "512m",
    # Nothing is scheduled before both executors are there.
    "spark.scheduler.minRegisteredResourcesRatio": 1.0,
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE}s",
}
"""The settings of a driver for such a cluster."""


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


def environment():
    """Return the environment of drivers and workers."""
    # Modules of the tests can be imported there.
    path = on_path(os.environ.get("PYTHONPATH", ""))
    return (
        os.environ
        | ENVIRONMENT
        | {
            "HEADRACE_SHARED": "/",  # all of them are this machine
            "PYTHONPATH": path,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": LOOPBACK,
        }
    )


@contextmanager
def cluster(directory, hosts=(LOOPBACK, LOOPBACK)):
    """Yield the URL of a master with a worker at each of `hosts`."""
    port = free_port()
    url = f"spark://{LOOPBACK}:{port}"
    page = ("--webui-port", "0")
    with ExitStack() as parts:
        log = directory / "master.log"
        master = "org.apache.spark.deploy.master.Master"
        arguments = (master, "--host", LOOPBACK, *page, "--port", str(port))
        parts.enter_context(spark_class(log, environment(), *arguments))
        wait_for("I have been elected leader", log)
        logs = []
        for number, host in enumerate(hosts, 1):
            log = directory / f"worker-{number}.log"
            logs.append(log)
            worker = "org.apache.spark.deploy.worker.Worker"
            # For several applications, each with a core of each worker.
            room = ("-c", "4", "-m", "4g", "-d", str(log.with_suffix("")))
            arguments = (worker, "--host", host, *page, *room, url)
            # An executor reports this address.
            at = environment() | {"SPARK_LOCAL_IP": host}
            parts.enter_context(spark_class(log, at, *arguments))
        for log in logs:
            wait_for("Successfully registered with master", log)
        yield url


def run_driver(script, *arguments):
    """Run a program with its own Spark session to its end; return its output."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        encoding="utf-8",
        env=environment(),
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
