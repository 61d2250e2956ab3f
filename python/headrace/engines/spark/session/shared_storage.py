"""Whether what tasks write is seen by everybody who needs it.

Tasks of a cluster write to directories of the machine they run on, and the driver commits
what it finds in its own. Nobody can tell from a path whether these are the same, so
somebody has to say so: ``HEADRACE_SHARED`` names the directories that are.
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.errors import NotSharedError

VARIABLE = "HEADRACE_SHARED"


def refuse_unshared(path: str | os.PathLike[str], master: str) -> None:
    """Raise if tasks at `master` write below `path` and nobody said that all see it.

    An empty `master` is one that nobody knows; then tasks find out for themselves.

    >>> refuse_unshared("out", "local[*,4]")
    >>> refuse_unshared("out", "yarn")
    Traceback (most recent call last):
    headrace.errors.NotSharedError: ...
    """
    # Those of local-cluster are other processes, but on this machine.
    if not master or master.startswith("local") or _is_declared(path):
        return
    raise NotSharedError(os.path.abspath(path), master)  # noqa: PTH100, `..` goes too


def _is_declared(path: str | os.PathLike[str]) -> bool:
    wanted = Path(os.path.abspath(path))  # noqa: PTH100
    names = os.environ.get(VARIABLE, "").split(os.pathsep)
    return any(wanted.is_relative_to(name) for name in filter(None, names))
