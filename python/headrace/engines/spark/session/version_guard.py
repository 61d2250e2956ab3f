"""Headrace in a task is the headrace of the driver, or says that it is not.

What is pickled on the driver and unpickled by another version may be understood wrongly,
so a `SameVersion` goes first in everything that is sent to tasks: it cannot be unpickled
elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.spark.session.gc_freeze import settle
from headrace.errors import OtherVersionError

if TYPE_CHECKING:
    from collections.abc import Callable


class SameVersion:
    """Nothing but a mark; unpickling it fails where headrace is of another version."""

    def __reduce__(self) -> tuple[Callable[[str], SameVersion], tuple[str]]:
        # The compiled core stays out of what Spark imports to discover us.
        from headrace.kernel.version import __version__

        return _checked, (__version__,)


def _checked(wanted: str) -> SameVersion:
    from headrace.kernel.version import __version__

    if __version__ != wanted:
        raise OtherVersionError(__version__, wanted)
    settle()
    return SameVersion()
