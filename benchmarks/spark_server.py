"""One Spark for all candidates of a suite.

Starting Spark takes longer than most candidates, and its Java is slow until it is warm. So
one process keeps a session, and a candidate is a probe that runs a function in that process:
all of them in the same session, one after the other. Sessions with different numbers of cores
run in separate processes.

``python -m benchmarks.spark_server CORES`` serves until its standard input ends.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from benchmarks.candidate import ROOT
from benchmarks.generate import DATA, KIB
from benchmarks.probe import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES = 2
_servers: dict[int, subprocess.Popen[bytes]] = {}


def master(cores: int = CORES) -> str:
    """Return the master of the session with `cores` cores."""
    return f"local[{cores},4]"


def _socket(cores: int) -> str:
    """Return the path of the socket relative to the candidates; a full path may be too long."""
    return (DATA / f"spark-{cores}.socket").relative_to(ROOT).as_posix()


def start(cores: int = CORES) -> None:
    """Start the server, unless it runs; it ends with this process."""
    if cores in _servers:
        return
    place = Path(ROOT, _socket(cores))
    place.unlink(missing_ok=True)
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.spark_server", str(cores)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
    )
    _servers[cores] = server
    while not place.exists():
        if server.poll() is not None:
            raise RuntimeError("Spark did not start")
        time.sleep(0.1)


def ask(cores: int, where: str, *arguments: str | int) -> Outcome:
    """Run a function in the server with `cores` cores and its session; a probe."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_socket(cores))
        connection.sendall(json.dumps([where, *arguments]).encode() + b"\n")
        with connection.makefile("rb") as answers:
            answer = json.loads(answers.readline())
    if "failed" in answer:
        raise RuntimeError(answer["failed"])
    return Outcome(**answer)


def cost_of_session() -> tuple[float, int]:
    """Add up CPU time and peak memory of this process and of all its descendants."""
    ticks = peak = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) != os.getsid(0):
                continue
            status = stat.with_name("status").read_text().partition("VmHWM:")[2]
        except OSError:
            continue
        # User and system time, its own and that of children that have ended.
        ticks += sum(map(int, fields[11:15]))
        peak += int(status.split()[0]) * KIB if status else 0
    return ticks / os.sysconf("SC_CLK_TCK"), peak


class SparkMeter:
    """Measures the block it is used on: time, and CPU time of all processes of Spark.

    Their peak memory is that since they were started.
    """

    def __enter__(self) -> SparkMeter:
        self._cpu, _peak = cost_of_session()
        self._time = time.perf_counter()
        return self

    def __exit__(self, *_error: object) -> None:
        seconds = time.perf_counter() - self._time
        cpu, peak = cost_of_session()
        self.figures = {"time": seconds, "cpu": cpu - self._cpu, "peak_rss": peak}


def serve(cores: int) -> None:
    """Run the functions that candidates send."""
    from headrace.spark import session

    os.setsid()
    spark = session(master(cores), **{"spark.driver.memory": "2g"})
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(_socket(cores))
        listening.listen()
        Thread(target=_end_with_stdin, daemon=True).start()
        while True:
            connection, _address = listening.accept()
            with connection, connection.makefile("rwb") as stream:
                answer = _answer(spark, *json.loads(stream.readline()))
                stream.write(json.dumps(answer).encode() + b"\n")


def _answer(
    spark: SparkSession, where: str, *arguments: str | int
) -> dict[str, object]:
    module, _, name = where.partition(":")
    try:
        outcome: Outcome = getattr(import_module(module), name)(spark, *arguments)
    except Exception:  # noqa: BLE001, returned to the candidate
        return {"failed": traceback.format_exc()}
    return {"answer": outcome.answer, "figures": dict(outcome.figures)}


def _end_with_stdin() -> None:
    sys.stdin.buffer.read()
    # Java ends when its own standard input does.
    os._exit(0)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
