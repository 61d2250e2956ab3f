"""Slow reference of keys: the rows that a key index must find."""

import json
from decimal import Decimal


def text_of(value):
    """Return the text of a value, None if it cannot be a key."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value
        case Decimal():
            return format(value.normalize(), "f") if value else "0"
        case _:
            return None


def parsed(line):
    """Return the value of a line, None if it is bad."""
    try:
        text = line.decode()
        return json.loads(text, parse_int=Decimal, parse_float=Decimal)
    except (UnicodeDecodeError, ValueError):
        return None


def key_of(line, fields):
    """Return the values and texts of the key of a line, None if it has none."""
    row = parsed(line)
    if not isinstance(row, dict):
        return None
    values = [row.get(field) for field in fields]
    texts = [text_of(value) for value in values]
    return None if None in texts else (values, texts)


def slow_get(data, fields, key, *, typed=False):
    """Return the lines of `data` that have a key, which is a list of JSON texts."""
    wanted = [json.loads(part, parse_int=Decimal, parse_float=Decimal) for part in key]
    found = []
    for line in (line.removesuffix(b"\r") for line in data.split(b"\n")):
        keyed = key_of(line, fields)
        if keyed is None or keyed[1] != [text_of(value) for value in wanted]:
            continue
        kinds = [[type(value) for value in values] for values in (keyed[0], wanted)]
        if not typed or kinds[0] == kinds[1]:
            found.append(line)
    return found
