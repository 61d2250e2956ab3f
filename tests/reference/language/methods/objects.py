"""Methods of objects."""

from __future__ import annotations

from tests.reference.language.data_paths import is_there, reached, segments
from tests.reference.language.methods.streams import elements
from tests.reference.language.values import QueryError, text_of


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


def _pick(receiver, arguments):
    if not arguments:
        raise QueryError("pick what?")
    fields = []
    for arg in arguments.args:
        path = arguments.name(arg.value)
        if not isinstance(path, str):
            raise QueryError("a field must be a text")
        fields.append((arg.name or segments(path)[0], path))
    if receiver is None:
        return None
    if isinstance(receiver, list):
        objects = (element for element in receiver if isinstance(element, dict))
        return [_picked(element, fields) for element in objects]
    if not isinstance(receiver, dict):
        raise QueryError("pick from what is no object")
    return _picked(receiver, fields)


def _picked(receiver, fields):
    return {
        key: reached(receiver, path) for key, path in fields if is_there(receiver, path)
    }


def _omit(receiver, arguments):
    arguments.check(1, 9)
    names = arguments.names()
    if not all(isinstance(name, str) for name in names):
        raise QueryError("a key must be a text")
    if isinstance(receiver, list):
        objects = (element for element in receiver if isinstance(element, dict))
        return [_without(element, names) for element in objects]
    return _without(receiver, names)


def _without(value, names):
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key not in names}


def merged(receiver, other):
    if not isinstance(receiver, dict):
        return receiver
    if other is None:
        return receiver
    if not isinstance(other, dict):
        raise QueryError("merge with what is no object")
    return {**receiver, **other}


def _merge(receiver, arguments):
    arguments.check(1)
    return merged(receiver, arguments.value(0))


def _defaults(receiver, arguments):
    arguments.check(1)
    other = arguments.value(0)
    if not isinstance(receiver, dict):
        return receiver
    if other is None:
        return receiver
    if not isinstance(other, dict):
        raise QueryError("defaults that are no object")
    made = dict(receiver)
    for key, value in other.items():
        if made.get(key) is None:
            made[key] = value
    return made


def _rename(receiver, arguments):
    arguments.check(1)
    names = arguments.value(0)
    if not isinstance(receiver, dict):
        return receiver
    if not isinstance(names, dict) or not all(
        isinstance(name, str) for name in names.values()
    ):
        raise QueryError("names must be texts")
    made = _without(receiver, names)
    for old, new in names.items():
        if old in receiver:
            # What is renamed stands at the end, also where that key was there.
            made.pop(new, None)
            made[new] = receiver[old]
    return made


def _transform_values(receiver, arguments):
    arguments.check(1)
    function = arguments.each(0)
    if not isinstance(receiver, dict):
        return receiver
    return {key: function(value) for key, value in receiver.items()}


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
