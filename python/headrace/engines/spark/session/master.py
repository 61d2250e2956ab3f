"""Spark masters: the default, the choice for this process, and a check of the spelling."""

from __future__ import annotations

import re
import sys

from headrace.errors import UsageError

MASTER = "local[*,4]"
"""All cores of this machine, and at most four attempts for each task."""


def is_local(master: str) -> bool:
    """Report whether the tasks of `master` run in this process's own JVM.

    >>> is_local(MASTER), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master == "local" or master.startswith("local[")


def chosen_master(named: str | None) -> str:
    """Return `named`, else the master of the session of this process, else `MASTER`."""
    if named is not None:
        return named
    pyspark = sys.modules.get("pyspark")
    # Only this attribute finds the session of another thread.
    running = None if pyspark is None else pyspark.SparkContext._active_spark_context
    return MASTER if running is None else str(running.master)


_NAMES = re.compile(
    r"yarn|local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[.*\]|[\w-]+://.*"
)


def check_master(master: str) -> None:
    """Raise unless `master` is spelled like a Spark master; Java is slow to report it."""
    if not _NAMES.fullmatch(master):
        raise UsageError(
            f"{master} is not a Spark master; use local[*,4], spark://HOST:7077, yarn, "
            "k8s://https://HOST:6443 or sc://HOST:15002"
        )
