"""Patterns of ``match``, encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.logical.encode.program import (
    KINDS,
    constant,
    flag,
    many,
    number,
    option,
    text,
)
from headrace.record import field, mutable_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.logical.encode.compiler import Compiler
    from headrace.logical.encode.program import ProgramWriter, Scope


def arms(compiler: Compiler, all_arms: Sequence[ast.Arm], scope: Scope) -> bytes:
    """Encode arms, each with the names its pattern binds in sight."""
    taking_all: ast.Arm | None = None
    for arm in all_arms:
        _refuse_kinds(compiler, arm.pattern)
        if taking_all is not None:
            column = _column(compiler, taking_all)
            reason = f"no value reaches this arm: the one at {column} takes all"
            raise compiler.error(arm, reason, "put it last, or give it a guard: when …")
        if arm.guard is None and _takes_all(arm.pattern):
            taking_all = arm
    return many([_arm(compiler, arm, scope) for arm in all_arms])


def _takes_all(pattern: ast.Pattern) -> bool:
    match pattern:
        case ast.AnyValue() | ast.Capture():
            return True
        case ast.OneOf(alternatives):
            return any(map(_takes_all, alternatives))
        case _:
            return False


def _column(compiler: Compiler, part: ast.Located) -> str:
    column = part.span.start - compiler.source.rfind("\n", 0, part.span.start)
    return f"column {column}"


def _refuse_kinds(compiler: Compiler, pattern: ast.Pattern) -> None:
    """Refuse names that are kinds elsewhere: as names they would take every value."""
    match pattern:
        case ast.Capture(name) if name in _ELSEWHERE:
            hint = (
                f"write {_ELSEWHERE[name]} for the kind, or another name for the value"
            )
            raise compiler.error(pattern, f"{name} is no kind", hint)
        case ast.ObjectPattern(fields):
            for each in fields:
                if each.pattern != ast.Capture(each.key):
                    _refuse_kinds(compiler, each.pattern)
        case ast.ArrayPattern(items) | ast.OneOf(items):
            for item in items:
                _refuse_kinds(compiler, item)
        case _:
            pass


_ELSEWHERE = {
    **dict.fromkeys(("int", "integer", "float"), "number"),
    **dict.fromkeys(("str", "text"), "string"),
    "list": "array",
    "dict": "object",
    "boolean": "bool",
    "None": "null",
}
"""Names of kinds in other languages."""


def _arm(compiler: Compiler, arm: ast.Arm, scope: Scope) -> bytes:
    names = Names(compiler.writer)
    pattern = encode(arm.pattern, names)
    inner = scope.binding(**names.variables)
    guard = compiler.optional_part(arm.guard, inner)
    return pattern + guard + compiler.part(arm.body, inner)


@mutable_record
class Names:
    """Variables of a pattern; alternatives bind the same names to the same variables."""

    writer: ProgramWriter
    variables: dict[str, int] = field(default_factory=dict)

    def slot(self, name: str) -> bytes:
        """Encode the variable of a name."""
        if name not in self.variables:
            self.variables[name] = self.writer.variable()
        return number(self.variables[name])


def encode(pattern: ast.Pattern, names: Names) -> bytes:
    """Encode a pattern; the names it binds are added to `names`."""
    match pattern:
        case ast.AnyValue():
            return b"\x00"
        case ast.Capture():
            return b"\x01" + names.slot(pattern.name)
        case ast.Equals():
            return b"\x02" + constant(pattern.literal.value)
        case ast.OfKind():
            return _kind(pattern, names)
        case ast.InRange():
            bounds = [
                constant(float(bound))[1:] for bound in (pattern.low, pattern.high)
            ]
            return b"\x04" + b"".join(bounds) + flag(pattern.inclusive)
        case ast.ObjectPattern():
            return _object(pattern, names)
        case ast.ArrayPattern():
            return _array(pattern, names)
        case ast.OneOf():
            return b"\x07" + many(
                [encode(each, names) for each in pattern.alternatives]
            )


def _kind(pattern: ast.OfKind, names: Names) -> bytes:
    kind = bytes([3, KINDS.index(pattern.kind)])
    if pattern.name is None:
        return kind
    return b"\x08" + many([kind, b"\x01" + names.slot(pattern.name)])


def _object(pattern: ast.ObjectPattern, names: Names) -> bytes:
    fields = [text(each.key) + encode(each.pattern, names) for each in pattern.fields]
    rest = None if pattern.rest is None else pattern.rest.name
    return b"\x05" + many(fields) + option(rest, names.slot)


def _array(pattern: ast.ArrayPattern, names: Names) -> bytes:
    items = [encode(item, names) for item in pattern.items]
    rest = flag(0)
    if pattern.rest is not None:
        rest = flag(1) + option(pattern.rest.name, names.slot)
    return b"\x06" + many(items) + rest
