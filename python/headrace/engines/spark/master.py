"""Where Spark runs, by the name that it has for that."""

from __future__ import annotations

import re

from headrace.errors import UsageError

MASTER = "local[*,4]"
"""All cores of this machine, and four attempts for each task."""


def is_local(master: str) -> bool:
    """Say whether the tasks of `master` run in this process's own JVM.

    >>> is_local(MASTER), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master == "local" or master.startswith("local[")


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
