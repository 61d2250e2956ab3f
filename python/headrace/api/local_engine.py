"""The engine of one process: what it refuses, without importing the other one."""

from __future__ import annotations

from headrace.errors import UsageError


def refuse_for_local(**options: object) -> None:
    """Refuse what only Spark knows."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} is for engine='spark' (--engine spark)")
