"""Where Spark runs, by the name that it has for that."""

from __future__ import annotations

import re
import sys

from headrace.errors import UsageError

MASTER = "local[*,4]"
"""All cores of this machine, and four attempts for each task."""


def is_local(master: str) -> bool:
    """Say whether the tasks of `master` run in this process's own JVM.

    >>> is_local(MASTER), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master == "local" or master.startswith("local[")


def chosen_master(named: str | None) -> str:
    """Return the master that is named, else that of the session of this process, else `MASTER`."""
    if named is not None:
        return named
    pyspark = sys.modules.get("pyspark")
    # The session of another thread is found here only.
    running = None if pyspark is None else pyspark.SparkContext._active_spark_context
    return MASTER if running is None else str(running.master)


_NAMES = re.compile(
    r"yarn|local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[.*\]|[\w-]+://.*"
)


def check_master(master: str) -> None:
    """Raise unless Spark may know such a master; Java takes long to say so, in many lines."""
    if not _NAMES.fullmatch(master):
        raise UsageError(
            f"{master} is no master of Spark; there are local[*,4], spark://HOST:7077, yarn, "
            "k8s://https://HOST:6443 and sc://HOST:15002"
        )
