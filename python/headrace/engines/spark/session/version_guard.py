"""Version guard: a task fails if its headrace has another version than the driver's.

Another version may misread objects that the driver pickled, so every object that is sent
to tasks begins with a `SameVersion`, which only the same version can unpickle.
"""

from __future__ import annotations

import gc
from itertools import count
from typing import TYPE_CHECKING

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


_runs = count(1)


def freeze_when_warm() -> None:
    """Freeze the objects that the first task or batch loaded; call at the start of each.

    Spark reuses its Python workers for many tasks, and the processes that begin and commit the
    batches of a stream for many batches; each collects garbage after every task or batch. With
    pandas and Arrow loaded a collection takes about 20 ms, a tenth of a headrace task.
    """
    if next(_runs) == 2:
        gc.freeze()
