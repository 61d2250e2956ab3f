"""A driver of the tests' cluster: one session, which does what tests ask of it.

A test names a function, which is called in the driver's process with an `Asked` and plain data,
and gives plain data back. So the many tests of a cluster cost one start of a session.
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
class Asked:
    """What a function that runs in the driver has: what it patches is undone at its end."""

    spark: Any
    master: str
    sabotage: Sabotage
    patch: pytest.MonkeyPatch


def sabotaged(directory):
    """Return the settings of a session whose workers do what is ordered in a directory."""
    return SETTINGS | {
        "spark.python.daemon.module": "tests.spark.sabotage",
        f"spark.executorEnv.{VARIABLE}": directory,
        # A worker is what was ordered when it was made.
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
        """Call a function there; return what it does."""
        asked = [function.__module__, function.__name__, arguments]
        self._process.stdin.write(json.dumps(asked, default=str) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._said.read_text(errors="replace")
        result, failure = json.loads(answer)
        assert failure is None, failure
        return result

    def close(self):
        kill(self._process.pid)
        self._process.communicate()


def _answer(asked, module, name, arguments):
    try:
        with asked.patch.context() as patch:
            function = getattr(importlib.import_module(module), name)
            asked.sabotage.give("nothing")
            result = function(
                Asked(asked.spark, asked.master, asked.sabotage, patch), *arguments
            )
    except Exception:  # noqa: BLE001, told to whoever asked
        return None, traceback.format_exc()
    return result, None


def main(master, directory):
    import headrace.spark

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Whatever else is printed is no answer.
    os.dup2(2, 1)
    sabotage = Sabotage(directory)
    sabotage.give("nothing")
    spark = headrace.spark.session(master, **sabotaged(directory))
    asked = Asked(spark, master, sabotage, pytest.MonkeyPatch())
    for line in sys.stdin:
        answers.write(json.dumps(_answer(asked, *json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
