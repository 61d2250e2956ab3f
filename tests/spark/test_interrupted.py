"""Commands that are interrupted while Spark works: they end soon and leave nothing."""

import os
import signal
import subprocess
import sys

import pytest

from tests.spark.cluster import environment
from tests.spark.processes import kill, processes, until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]


def java_starts(called):
    return any(b"java" in each for each in called)


def tasks_run(called):
    # The daemon, and a worker that it forked.
    return sum(b"pyspark.daemon" in each for each in called) > 1


@pytest.mark.parametrize(
    ("when", "number", "code"),
    [
        (java_starts, signal.SIGINT, 130),
        (java_starts, signal.SIGTERM, 128 + signal.SIGTERM),
        (tasks_run, signal.SIGINT, 130),
    ],
)
def test_a_query_that_is_interrupted(tmp_path, when, number, code):
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(b'{"id": 1, "t": [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n' * 200_000)
    where = ["--engine", "spark", "--master", "local[2,4]", "--out", str(out)]
    # Too many rows to read before the interrupt.
    command = subprocess.Popen(
        [sys.executable, "-m", "headrace", "query", "t.map(@ * $.id).sum()"]
        + where
        + [str(path)] * 500,
        env=environment(),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert until(lambda: when(processes(command.pid).values()))
        assert command.poll() is None
        # As a terminal does.
        os.killpg(command.pid, number)
        _nothing, said = command.communicate(timeout=60)
        assert command.returncode == code, said
        assert until(lambda: not processes(command.pid))
    finally:
        kill(command.pid)
        command.wait()
    assert sorted(tmp_path.iterdir()) == [path]
