"""Where Spark runs, by the name that it has for that."""

from __future__ import annotations

MASTER = "local[*,4]"
"""All cores of this machine, and four attempts for each task."""


def is_local(master: str) -> bool:
    """Say whether the tasks of `master` run in this process's own JVM.

    >>> is_local(MASTER), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master == "local" or master.startswith("local[")
