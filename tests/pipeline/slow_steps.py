"""Slow reference of row steps: one row at a time, with Python's own JSON."""

import json

KINDS = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: (
        isinstance(value, (int, float)) and not isinstance(value, bool)
    ),
    "integer": lambda value: (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and value == int(value)
    ),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def at(value, path):
    """Return the value at a path with dots, None if it is missing."""
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def is_good(line, *, required=(), types=None, rules=(), max_bytes=None):
    """Whether a line passes a validate stage; `rules` are functions."""
    if max_bytes is not None and len(line) > max_bytes:
        return False
    try:
        value = json.loads(line)
    except ValueError:
        return False
    fits = all(
        at(value, path) is None or KINDS[kind](at(value, path))
        for path, kind in (types or {}).items()
    )
    there = all(at(value, path) is not None for path in required)
    return fits and there and all(rule(value) for rule in rules)
