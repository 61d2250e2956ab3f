"""Methods of objects."""

from __future__ import annotations

from tests.reference.language.data_paths import is_there, reached, segments
from tests.reference.language.methods.streams import elements
from tests.reference.language.values import NotInSubset, QueryError, text_of


def _keys(receiver, arguments):
    arguments.check(0)
    return list(receiver) if isinstance(receiver, dict) else []


def _values(receiver, arguments):
    arguments.check(0)
    return list(receiver.values()) if isinstance(receiver, dict) else []


def _entries(receiver, arguments):
    arguments.check(0)
    if not isinstance(receiver, dict):
        return []
    return [[key, value] for key, value in receiver.items()]


def _from_pairs(receiver, arguments):
    arguments.check(0)
    made = {}
    for pair in elements(receiver):
        if isinstance(pair, list) and len(pair) == 2:
            made[text_of(pair[0])] = pair[1]
        elif isinstance(pair, dict):
            keys = [pair[name] for name in ("key", "k") if name in pair]
            values = [pair[name] for name in ("val", "value", "v") if name in pair]
            if keys and values:
                made[text_of(keys[0])] = values[0]
    return made


def each_object(value, change):
    """Apply a function to an object, or to the objects in an array."""
    if isinstance(value, list):
        return [
            change(element) if isinstance(element, dict) else element
            for element in value
        ]
    return change(value) if isinstance(value, dict) else value


def _pick(receiver, arguments):
    if not arguments:
        raise QueryError("pick what?")
    fields = []
    for arg in arguments.args:
        path = arguments.name(arg.value)
        if not isinstance(path, str):
            raise QueryError("a field must be a text")
        segments(path)
        fields.append((arg.name, path))
    if receiver is not None and not isinstance(receiver, list | dict):
        raise QueryError("pick from what is no object")
    return each_object(receiver, lambda value: _picked(value, fields))


def _picked(receiver, fields):
    made = {}
    for name, path in fields:
        if not is_there(receiver, path):
            continue
        steps = segments(path) if name is None else [name]
        if not all(isinstance(step, str) for step in steps):
            raise QueryError("an element without a name")
        _put(made, steps, reached(receiver, path))
    return made


def _put(made, keys, value):
    """Store a value under nested keys."""
    *outer, last = keys
    for key in outer:
        inner = made.get(key)
        made[key] = dict(inner) if isinstance(inner, dict) else {}
        made = made[key]
    made[last] = value


def _omit(receiver, arguments):
    arguments.check(1, 9)
    names = arguments.names()
    if not all(isinstance(name, str) for name in names):
        raise QueryError("a key must be a text")
    if not all(len(segments(name)) == 1 for name in names):
        raise NotInSubset("omit by a path")
    return each_object(receiver, lambda value: without(value, names))


def without(value, names):
    """Return an object without some keys."""
    return {key: item for key, item in value.items() if key not in names}


def merged(receiver, other):
    """Return an object, or those in an array, with the fields of another one."""
    if other is None:
        return receiver

    def change(value):
        if not isinstance(other, dict):
            raise QueryError("merge with what is no object")
        return {**value, **other}

    return each_object(receiver, change)


def _merge(receiver, arguments):
    arguments.check(1)
    return merged(receiver, arguments.value(0))


def _defaults(receiver, arguments):
    arguments.check(1)
    other = arguments.value(0)
    if other is None:
        return receiver

    def change(value):
        if not isinstance(other, dict):
            raise QueryError("defaults that are no object")
        made = dict(value)
        for key, default in other.items():
            if made.get(key) is None:
                made[key] = default
        return made

    return each_object(receiver, change)


def _rename(receiver, arguments):
    arguments.check(1)
    names = arguments.value(0)

    def change(value):
        if not isinstance(names, dict) or not all(
            isinstance(name, str) for name in names.values()
        ):
            raise QueryError("names must be texts")
        found = {old: new for old, new in names.items() if old in value}
        made = {}
        for key, item in value.items():
            if key in found:
                made[found[key]] = item
            elif key not in found.values():
                made[key] = item
        return made

    return each_object(receiver, change)


def _transform_values(receiver, arguments):
    arguments.check(1)
    function = arguments.each(0)
    return each_object(
        receiver, lambda value: {key: function(item) for key, item in value.items()}
    )


OBJECTS = {
    "keys": _keys,
    "values": _values,
    "entries": _entries,
    "from_pairs": _from_pairs,
    "pick": _pick,
    "omit": _omit,
    "merge": _merge,
    "defaults": _defaults,
    "rename": _rename,
    "transform_values": _transform_values,
}
