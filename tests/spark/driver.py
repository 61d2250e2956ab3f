"""A driver of the tests' cluster: one session that runs functions of the tests.

A test names a function. The driver's process calls it with a `DriverContext` and plain data,
and it returns plain data. So all tests of the cluster start one session.
"""

import importlib
import json
import os
import subprocess
import sys
import traceback
from dataclasses import dataclass
from typing import Any

import pytest

from tests.spark.cluster import SETTINGS, environment
from tests.spark.processes import kill
from tests.spark.sabotage import VARIABLE, Sabotage


@dataclass(frozen=True)
class DriverContext:
    """The session of the driver for a function; its patches are undone when it ends."""

    spark: Any
    master: str
    sabotage: Sabotage
    patch: pytest.MonkeyPatch


def sabotaged(directory):
    """Return the settings of a session whose workers follow the orders in a directory."""
    return SETTINGS | {
        "spark.python.daemon.module": "tests.spark.sabotage",
        f"spark.executorEnv.{VARIABLE}": directory,
        # A worker reads its order when it starts.
        "spark.python.worker.reuse": False,
        "spark.sql.shuffle.partitions": 2,
    }


class Driver:
    """Another process, with a session at `master`."""

    def __init__(self, master, directory):
        self._said = directory / "driver.log"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, master, str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                encoding="utf-8",
                env=environment(),
                start_new_session=True,
            )

    def __call__(self, function, *arguments):
        """Call a function in the driver; return its result."""
        call = [function.__module__, function.__name__, arguments]
        self._process.stdin.write(json.dumps(call, default=str) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._said.read_text(errors="replace")
        result, failure = json.loads(answer)
        assert failure is None, failure
        return result

    def close(self):
        kill(self._process.pid)
        self._process.communicate()


def _answer(context, module, name, arguments):
    try:
        with context.patch.context() as patch:
            function = getattr(importlib.import_module(module), name)
            context.sabotage.give("nothing")
            result = function(
                DriverContext(context.spark, context.master, context.sabotage, patch),
                *arguments,
            )
    except Exception:  # noqa: BLE001, returned to the test
        return None, traceback.format_exc()
    return result, None


def main(master, directory):
    import headrace.spark

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Other output must not mix with answers.
    os.dup2(2, 1)
    sabotage = Sabotage(directory)
    sabotage.give("nothing")
    spark = headrace.spark.session(master, **sabotaged(directory))
    context = DriverContext(spark, master, sabotage, pytest.MonkeyPatch())
    for line in sys.stdin:
        answers.write(json.dumps(_answer(context, *json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
