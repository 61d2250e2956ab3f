"""Arrays, objects, comprehensions and f-strings, encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.kernel.values import format_problem
from headrace.language import ast
from headrace.logical.encode.program import Id, Tag, flag, many, number, option, text

if TYPE_CHECKING:
    from headrace.logical.encode.compiler import Compiler
    from headrace.logical.encode.program import Scope

_FORMATS = "as in Python: {x:.2f}, {x:>8}, {x:08.2f}, {x:,}, {x:.1%}, {x:x}"

Entry: TypeAlias = ast.Entry | ast.ComputedEntry | ast.Shorthand | ast.Spread


def construction(
    compiler: Compiler,
    node: ast.ArrayLiteral
    | ast.ObjectLiteral
    | ast.ArrayComprehension
    | ast.ObjectComprehension
    | ast.FString,
    scope: Scope,
) -> Id:
    """Add an array, an object or a text with the values of expressions in it."""
    match node:
        case ast.ArrayLiteral():
            return _array(compiler, node, scope)
        case ast.ObjectLiteral():
            return _object(compiler, node, scope)
        case ast.FString():
            return _fstring(compiler, node, scope)
        case _:
            return _comprehension(compiler, node, scope)


def _array(compiler: Compiler, node: ast.ArrayLiteral, scope: Scope) -> Id:
    """Add a new array."""
    items = []
    for item in node.items:
        spread = isinstance(item, ast.Spread)
        value = item.value if isinstance(item, ast.Spread) else item
        items.append(compiler.part(value, scope) + flag(spread))
    return compiler.add(Tag.ARRAY, node.span, many(items))


def _object(compiler: Compiler, node: ast.ObjectLiteral, scope: Scope) -> Id:
    """Add a new object."""
    members = [_member(compiler, entry, scope) for entry in node.entries]
    return compiler.add(Tag.OBJECT, node.span, many(members))


def _member(compiler: Compiler, entry: Entry, scope: Scope) -> bytes:
    match entry:
        case ast.Spread():
            return (b"\x02" if entry.deep else b"\x01") + compiler.part(
                entry.value, scope
            )
        case ast.Shorthand():
            key = compiler.constant(entry.name, entry.span)
            name = ast.Name(entry.name, span=entry.span)
            return _entry(compiler, key, name, scope, optional=True)
        case ast.Entry():
            key = compiler.constant(entry.key, entry.span)
            return _entry(
                compiler,
                key,
                entry.value,
                scope,
                optional=entry.optional,
                condition=entry.condition,
            )
        case ast.ComputedEntry():
            key = compiler.expression(entry.key, scope)
            return _entry(compiler, key, entry.value, scope, condition=entry.condition)


def _entry(
    compiler: Compiler,
    key: Id,
    value: ast.Node,
    scope: Scope,
    *,
    optional: bool = False,
    condition: ast.Node | None = None,
) -> bytes:
    what = number(key) + compiler.part(value, scope) + flag(optional)
    return b"\x00" + what + compiler.optional_part(condition, scope)


def _comprehension(
    compiler: Compiler,
    node: ast.ArrayComprehension | ast.ObjectComprehension,
    scope: Scope,
) -> Id:
    """Add a comprehension; each loop sees the names of those before it."""
    loops = []
    for loop in node.loops:
        source = compiler.part(loop.source, scope)
        variables = [compiler.writer.variable() for _ in loop.names]
        # From here on, ``@`` is the element.
        scope = scope.about_current().binding(
            **dict(zip(loop.names, variables, strict=True))
        )
        conditions = [compiler.part(condition, scope) for condition in loop.conditions]
        loops.append(
            many([number(variable) for variable in variables])
            + source
            + many(conditions)
        )
    if isinstance(node, ast.ArrayComprehension):
        form, key, body = (b"\x01" if node.distinct else b"\x00"), None, node.item
    else:
        form, key, body = b"\x02", node.key, node.value
    parts = compiler.optional_part(key, scope) + compiler.part(body, scope)
    return compiler.add(Tag.COMPREHENSION, node.span, form, parts, many(loops))


def _fstring(compiler: Compiler, node: ast.FString, scope: Scope) -> Id:
    """Add an f-string."""
    parts = []
    for part in node.parts:
        if isinstance(part, ast.Text):
            parts.append(b"\x00" + text(part.text))
        else:
            if part.spec is not None and (problem := format_problem(part.spec)):
                at = part.span.end - 1 - len(part.spec)
                spec = ast.Text(part.spec, span=ast.Span(at, part.span.end - 1))
                raise compiler.error(spec, f"no format: {problem}", _FORMATS)
            value = compiler.part(part.value, scope)
            parts.append(b"\x01" + value + option(part.spec, text))
    return compiler.add(Tag.TEXT, node.span, many(parts))
