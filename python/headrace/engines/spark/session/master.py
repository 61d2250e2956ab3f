"""Spark masters: the default, the choice for this process, and a check of the spelling."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Place: TypeAlias = "str | SparkSession"
"""Where tasks run: in a session, or in that of a master, which is started if there is none."""

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


def chosen_place(named: Place | None) -> Place:
    """Return `named`, else the master of the session of this process, else `MASTER`."""
    return chosen_master(None) if named is None else named


def master_of(place: Place) -> str:
    """Return the master of a place; empty if it is not known."""
    if isinstance(place, str):
        return place
    from pyspark.sql import is_remote

    from headrace.engines.spark.session.session import tasks_at

    # A local master of a Spark Connect server may be another machine.
    return "Spark Connect" if is_remote() else tasks_at(place)


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
