"""Every exception that headrace raises on purpose; this package has no other public names.

Each says where, what, and what to do. Those of rarer things are imported when they are used.
"""

from __future__ import annotations

from importlib import import_module

from headrace.errors.error import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headrace.errors.cluster import *  # noqa: F403
    from headrace.errors.index import *  # noqa: F403
    from headrace.errors.log import *  # noqa: F403

_RARER = ("index", "log", "cluster")


def __getattr__(name: str) -> object:
    if not name.startswith("_"):
        for module in _RARER:
            found = vars(import_module(f"headrace.errors.{module}"))
            if name in found:
                return found[name]
    raise AttributeError(f"module 'headrace.errors' has no attribute {name!r}")


def __dir__() -> list[str]:
    modules = [import_module(f"headrace.errors.{module}") for module in _RARER]
    names = {*globals(), *(name for each in modules for name in vars(each))}
    return sorted(name for name in names if not name.startswith("_"))
