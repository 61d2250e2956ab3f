"""Which names are methods of the language, known to the reference or not."""

from __future__ import annotations

from headrace.kernel.values import builtins


def is_builtin(name):
    return name in builtins()
