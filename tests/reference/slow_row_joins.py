"""Slow reference of joins of lines: two loops over their texts, compared byte for byte."""

import json
from json.decoder import scanstring
from typing import NamedTuple

from tests.reference.slow_keys import key_of

_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """A member of an object: its name, the name as it is written, and the span of its value."""

    name: str
    raw: str
    start: int
    end: int


def members(line):
    """List the members of a line that is an object."""
    found = []
    at = line.index("{") + 1
    while True:
        at = _skip(line, at)
        if line[at] == "}":
            return found
        if line[at] == ",":
            at = _skip(line, at + 1)
        name, close = scanstring(line, at + 1)
        start = _skip(line, _skip(line, close) + 1)
        _value, end = _DECODER.raw_decode(line, start)
        found.append(Member(name, line[at + 1 : close - 1], start, end))
        at = end


def _skip(line, at):
    while line[at] in " \t\r\n":
        at += 1
    return at


def added_by(line, right_on, *, target, pick, prefix, indicator):
    """Return the raw names and texts that a right row adds, or that the array contains."""
    added = {}
    for member in members(line):
        wanted = member.name in pick if pick is not None else True
        if pick is None and target is None:
            wanted = member.name not in right_on
        name = prefix + member.name
        if wanted and (target is not None or name != indicator):
            raw = (
                json.dumps(name, ensure_ascii=False)[1:-1]
                if prefix
                else added.get(name, (member.raw,))[0]
            )
            added[name] = raw, line[member.start : member.end]
    return added


def as_object(added):
    return "{" + ",".join(f'"{raw}":{text}' for raw, text in added.values()) + "}"


def laid_over(line, added):
    """Return a left row with other members, which replace its own of the same name."""
    if not added:
        return line
    out, copied, end, used = "", 0, 0, set()
    own = members(line)
    for member in own:
        if member.name in used:
            out += line[copied:end]
            copied = member.end
        elif member.name in added:
            out += line[copied : member.start] + added[member.name][1]
            copied = member.end
            used.add(member.name)
        end = member.end
    new = {name: both for name, both in added.items() if name not in used}
    if not new:
        return (out + line[copied:]).rstrip(" \t\r\n")
    last = own[-1].end if own else line.index("{") + 1
    comma = "," if own else ""
    return out + line[copied:last] + comma + as_object(new)[1:]


def join(
    left,
    right,
    left_on,
    right_on,
    *,
    inner=False,
    target=None,
    pick=None,
    prefix="",
    indicator=None,
    typed=False,
):
    """Return the lines of a join of two lists of lines, and the number of bad left lines."""
    rows, bad = [], 0
    for line in left:
        if not line.strip(b" \t\r\n"):
            continue
        try:
            value = json.loads(line)
        except ValueError:
            bad += 1
            continue
        found = [
            other for other in right if _match(line, other, left_on, right_on, typed)
        ]
        if not found and inner:
            continue
        text = line.decode()
        own = {}
        if indicator is not None:
            said = "both" if found else "left_only"
            raw = json.dumps(indicator, ensure_ascii=False)[1:-1]
            own = {indicator: (raw, f'"{said}"')}
        if (own or target is not None) and not isinstance(value, dict):
            bad += 1
            continue
        options = {
            "target": target,
            "pick": pick,
            "prefix": prefix,
            "indicator": indicator,
        }
        additions = [added_by(other.decode(), right_on, **options) for other in found]
        if target is not None:
            whole = pick is None and not prefix
            texts = [
                other.decode().strip(" \t\r\n") if whole else as_object(added)
                for other, added in zip(found, additions, strict=True)
            ]
            raw = json.dumps(target, ensure_ascii=False)[1:-1]
            array = {target: (raw, f"[{','.join(texts)}]")}
            rows.append(laid_over(text, array | own))
        else:
            rows += [laid_over(text, added | own) for added in additions or [{}]]
    return [row.encode() for row in rows], bad


def _match(line, other, left_on, right_on, typed):
    one, two = key_of(line, left_on), key_of(other, right_on)
    if one is None or two is None or one[1] != two[1]:
        return False
    kinds = [[type(value) for value in key[0]] for key in (one, two)]
    return not typed or kinds[0] == kinds[1]
