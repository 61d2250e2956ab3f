"""Pattern matching: whether a value fits, and the names that it binds."""

from __future__ import annotations

from headrace.language import ast
from tests.reference.language.values import equal, exact, is_number, kind_of


def fit(pattern, value):
    """Return the names that a pattern binds to parts of `value`, None if it does not fit."""
    return FITTING[type(pattern)](pattern, value)


def _any_value(_pattern, _value):
    return {}


def _equals(pattern, value):
    return {} if equal(pattern.literal.value, value) else None


def _in_range(pattern, value):
    if not is_number(value) or not pattern.low <= exact(value) <= pattern.high:
        return None
    return {} if exact(value) < pattern.high or pattern.inclusive else None


def _of_kind(pattern, value):
    if kind_of(value) != pattern.kind:
        return None
    return {} if pattern.name is None else {pattern.name: value}


def _capture(pattern, value):
    return {pattern.name: value}


def _object(pattern, value):
    if not isinstance(value, dict):
        return None
    names = {}
    for field in pattern.fields:
        if field.key not in value:
            return None
        found = fit(field.pattern, value[field.key])
        if found is None:
            return None
        names |= found
    if pattern.rest is not None and pattern.rest.name is not None:
        taken = {field.key for field in pattern.fields}
        names[pattern.rest.name] = {
            key: item for key, item in value.items() if key not in taken
        }
    return names


def _array(pattern, value):
    count = len(pattern.items)
    if not isinstance(value, list) or len(value) < count:
        return None
    if pattern.rest is None and len(value) > count:
        return None
    names = {}
    for item, element in zip(pattern.items, value, strict=False):
        found = fit(item, element)
        if found is None:
            return None
        names |= found
    if pattern.rest is not None and pattern.rest.name is not None:
        names[pattern.rest.name] = value[count:]
    return names


def _one_of(pattern, value):
    for alternative in pattern.alternatives:
        names = fit(alternative, value)
        if names is not None:
            return names
    return None


FITTING = {
    ast.AnyValue: _any_value,
    ast.Equals: _equals,
    ast.InRange: _in_range,
    ast.OfKind: _of_kind,
    ast.Capture: _capture,
    ast.ObjectPattern: _object,
    ast.ArrayPattern: _array,
    ast.OneOf: _one_of,
}
