"""Checks of arguments of the log; messages name the flag of the command too."""

from __future__ import annotations

from headrace.errors import UsageError
from headrace.store.files.units import parse_size

_FLAGS = {
    "rotate_bytes": "--rotate-bytes",
    "rotate_rows": "--rotate-rows",
    "rotate_seconds": "--rotate-seconds",
    "max_record": "--max-record",
    "from_line": "--from",
    "to_line": "--to",
    "poll": "--poll",
}
"""Arguments that are flags of a command as well."""


def size_of(name: str, value: int | str, most: int | None = None) -> int:
    """Return a size in bytes, checked."""
    return positive(name, parse_size(value), most)


def positive(name: str, value: object, most: int | None = None) -> int:
    """Return a positive integer, checked."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        reason = f"must be a positive integer, not {value!r}"
        raise UsageError(f"{_named(name)} {reason}")
    if most is not None and value > most:
        raise UsageError(f"{_named(name)} must be at most {most}, not {value}")
    return value


def _named(name: str) -> str:
    """Return the name of an argument, with its flag if it has one.

    >>> _named("rotate_bytes"), _named("every_lines")
    ('rotate_bytes (--rotate-bytes)', 'every_lines')
    """
    return f"{name} ({_FLAGS[name]})" if name in _FLAGS else name


def seconds_of(name: str, value: object) -> float:
    """Return a number of seconds above 0, checked."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise UsageError(
            f"{_named(name)} must be a number of seconds above 0, not {value!r}"
        )
    return value
