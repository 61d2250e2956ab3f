"""Slow reference of joins: two loops."""

import json


def key_of(row, fields):
    """Return the key of a row, equal in Python if equal in the language; None if it joins nothing."""
    parts = [row.get(field) for field in fields]
    if _has_null(parts):
        return None
    return json.dumps([_plain(part) for part in parts], sort_keys=True)


def _has_null(parts):
    """Whether a list, or a list inside it, contains null."""
    return any(
        part is None or (isinstance(part, list) and _has_null(part)) for part in parts
    )


def _plain(value):
    """Return 1.0 as 1, and true as no number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value


def join(kind, left, right, on, right_on, name=None):
    """Return the join of two lists of objects."""
    joined = []
    for row in left:
        key = key_of(row, on)
        found = [
            other
            for other in right
            if key is not None and key_of(other, right_on) == key
        ]
        if kind == "diff":
            joined += [] if found else [row]
        elif kind == "intersect":
            joined += [row] if found else []
        elif kind == "lookup":
            found = found[:1]
        if kind in ("join", "left_join", "lookup"):
            joined += [_both(row, other, name) for other in found]
            if not found and kind != "join":
                joined.append(row)
    return joined


def _both(row, other, name):
    return {**row, **(other if name is None else {name: other})}


def zip_streams(left, right, *, longest):
    """Return pairs by position."""
    count = max(len(left), len(right)) if longest else min(len(left), len(right))
    return [
        [side[at] if at < len(side) else None for side in (left, right)]
        for at in range(count)
    ]
