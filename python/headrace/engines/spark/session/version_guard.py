"""Version guard: a task fails if its headrace has another version than the driver's.

Another version may misread objects that the driver pickled, so every object that is sent
to tasks begins with a `SameVersion`, which only the same version can unpickle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.spark.session.gc_freeze import freeze_when_warm
from headrace.errors import OtherVersionError

if TYPE_CHECKING:
    from collections.abc import Callable


class SameVersion:
    """A mark without data; unpickling it fails in another version of headrace."""

    def __reduce__(self) -> tuple[Callable[[str], SameVersion], tuple[str]]:
        # Spark imports this module to discover the format; the compiled core loads later.
        from headrace.kernel.version import __version__

        return _checked, (__version__,)


def _checked(wanted: str) -> SameVersion:
    from headrace.kernel.version import __version__

    if __version__ != wanted:
        raise OtherVersionError(__version__, wanted)
    freeze_when_warm()
    return SameVersion()
