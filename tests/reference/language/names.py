"""The names of all methods of the language, including those unknown to the reference."""

from __future__ import annotations

from headrace.kernel.values import builtins


def is_builtin(name):
    return name in builtins()
