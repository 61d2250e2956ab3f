"""Spark masters: the default, the choice for this process, and checks before a start."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import MissingExtraError, NotSharedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@contextmanager
def needing_pyspark() -> Iterator[None]:
    """Raise `MissingExtraError` if an import in the block misses PySpark or Arrow."""
    try:
        import pyarrow  # noqa: F401

        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"pyspark", "pyarrow", "py4j"}:
            raise
        raise MissingExtraError("spark", package) from error


VARIABLE = "HEADRACE_SHARED"


def refuse_unshared(path: str | os.PathLike[str], master: str) -> None:
    """Raise if `master` is a cluster and `path` is not declared as shared.

    Tasks of a cluster write to directories of the machine they run on, and the driver commits the
    files that it finds in its own. A path does not show whether these are the same, so the user
    declares it: ``HEADRACE_SHARED`` names the directories that all machines share. An empty
    `master` is unknown; then a task fails if it does not see the directory.

    >>> refuse_unshared("out", "local[*,4]")
    >>> refuse_unshared("out", "yarn")
    Traceback (most recent call last):
    headrace.errors.NotSharedError: ...
    """
    # The tasks of local-cluster run in other processes, but on this machine.
    if not master or master.startswith("local") or _is_declared(path):
        return
    raise NotSharedError(os.path.abspath(path), master)  # noqa: PTH100, `..` goes too


def _is_declared(path: str | os.PathLike[str]) -> bool:
    wanted = Path(os.path.abspath(path))  # noqa: PTH100
    names = os.environ.get(VARIABLE, "").split(os.pathsep)
    return any(wanted.is_relative_to(name) for name in filter(None, names))
