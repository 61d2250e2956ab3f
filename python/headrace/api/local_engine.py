"""Options that the engine of this process refuses, checked without importing Spark's."""

from __future__ import annotations

from headrace.errors import UsageError


def refuse_for_local(**options: object) -> None:
    """Raise for options that only Spark has."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} is for engine='spark' (--engine spark)")
