"""Shared storage: refuse output directories that a cluster's machines may not share.

Tasks of a cluster write to directories of the machine they run on, and the driver commits
the files that it finds in its own. A path does not show whether these are the same, so the
user declares it: ``HEADRACE_SHARED`` names the directories that all machines share.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import NotSharedError

VARIABLE = "HEADRACE_SHARED"


def refuse_unshared(path: str | os.PathLike[str], master: str) -> None:
    """Raise if `master` is a cluster and `path` is not declared as shared.

    An empty `master` is unknown; then a task fails if it does not see the directory.

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
