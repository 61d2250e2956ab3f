"""Changes to a document: ``patch``, and chains from ``$`` that end in a write.

``$.a.b.set(1)`` is the whole document with one place changed, and
``patch $ {a.b: 1}`` the same; both are one `PATCH` of the program, whose edits have
a path, a change and maybe a condition. In a change, ``@`` is the old value there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeGuard

from headrace.language import ast
from headrace.logical.program import (
    Id,
    Tag,
    flag,
    many,
    number,
    signed,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.logical.compiler import Compiler
    from headrace.logical.scope import Scope

WRITES = frozenset(
    {"set", "modify", "delete", "unset", "merge", "deep_merge", "update"}
)

_SEGMENT = re.compile(r"\.?([^.\[\]/]+)|\[(-?\d+)\]|\[(\*)\]")


def is_chain(node: ast.Node) -> TypeGuard[ast.Path]:
    """Whether an expression is a write to the document."""
    return _is_write_to(node, ast.Root)


def _is_write_to(
    node: ast.Node | ast.Bind, *bases: type[ast.Located]
) -> TypeGuard[ast.Path]:
    return (
        isinstance(node, ast.Path)
        and isinstance(node.base, bases)
        and _first_write(node.steps) is not None
    )


def go_on(then: ast.Node | ast.Bind, first: ast.Node) -> TypeGuard[ast.Path]:
    """Whether `then` is a further write to the value that `first` writes to."""
    return (
        _is_write_to(first, ast.Root, ast.Name, ast.Current)
        and _is_write_to(then, ast.Root, ast.Name, ast.Current)
        and (then.base == first.base or isinstance(then.base, ast.Current))
    )


def chain(compiler: Compiler, node: ast.Path, scope: Scope) -> Id | None:
    """Add a path that writes to the document; None if it does not."""
    written = scope.written
    if is_chain(node):
        if written is None:
            document = compiler.root(scope, node.span)
        else:
            document = compiler.variable(written, node.span)
    elif _is_write_to(node, ast.Name) and _stands_for(node.base, scope) == written:
        if written is None:
            return None
        document = compiler.variable(written, node.span)
    else:
        return None
    return chain_on(compiler, document, node, scope)


def _stands_for(node: ast.Node, scope: Scope) -> object:
    return scope.names.get(node.name) if isinstance(node, ast.Name) else None


def chain_on(compiler: Compiler, document: Id, node: ast.Path, scope: Scope) -> Id:
    """Add the writes of a chain, to a document that is there already."""
    steps = node.steps
    while (found := _first_write(steps)) is not None:
        path, write = found
        document = _write(compiler, document, path, write, scope)
        steps = steps[len(path) + 1 :]
    return compiler.steps(document, steps, scope)


def patch(compiler: Compiler, node: ast.Patch, scope: Scope) -> Id:
    """Add ``patch target {…}``."""
    target = compiler.part(node.target, scope)
    edits = []
    for write in node.writes:
        change = _change(compiler, write.value, scope)
        when = compiler.optional_part(write.condition, scope)
        edits.append(_path(compiler, write.path, scope) + change + when)
    return compiler.writer.add(Tag.PATCH, node.span, target, many(edits))


def _first_write(
    steps: Sequence[ast.Step],
) -> tuple[Sequence[ast.Step], ast.Method] | None:
    """Return the first write and the path before it, if there is only a path."""
    for position, step in enumerate(steps):
        if isinstance(step, ast.Method):
            return (steps[:position], step) if is_write(step) else None
        if not _leads_somewhere(step):
            return None
    return None


def is_write(step: ast.Step) -> TypeGuard[ast.Method]:
    """Whether a method writes to the document; ``update(f)`` is an ordinary one."""
    if not isinstance(step, ast.Method):
        return False
    if step.name != "update":
        return step.name in WRITES
    return bool(step.args) and isinstance(
        step.args[0].value, ast.ObjectLiteral | ast.Literal
    )


def _leads_somewhere(step: ast.Step) -> bool:
    """Whether a change can go through a step."""
    match step:
        case ast.Field() | ast.Index() | ast.Computed() | ast.Each(body=None):
            return True
        case ast.Descend():
            return step.key is not None
        case _:
            return False


def _write(
    compiler: Compiler,
    document: Id,
    path: Sequence[ast.Step],
    write: ast.Method,
    scope: Scope,
) -> Id:
    span = write.span
    outer = compiler.writer.variable()
    edits = _edits(compiler, path, write, scope, outer)
    patched = compiler.writer.add(Tag.PATCH, span, number(document), many(edits))
    # Values that are not about the old one see what was current outside.
    current = compiler.writer.add(Tag.CURRENT, span)
    return compiler.let(outer, current, patched, span)


def _edits(
    compiler: Compiler,
    path: Sequence[ast.Step],
    write: ast.Method,
    scope: Scope,
    outer: int,
) -> list[bytes]:
    where = _path(compiler, path, scope)
    match write.name, write.args:
        case "delete", ():
            return [where + b"\x01" + flag(0)]
        case "set", (arg,):
            return [_set(where, _outside(compiler, arg.value, scope, outer))]
        case "unset", (arg,):
            key = _key(compiler, arg)
            steps = [*_steps(compiler, path, scope), b"\x00" + text(key)]
            return [many(steps) + b"\x01" + flag(0)]
        case "merge" | "deep_merge", (arg,):
            return [_set(where, _merged(compiler, write, arg, scope, outer))]
        case "update", (ast.Arg(value=ast.ObjectLiteral() as fields),):
            return _updates(compiler, path, fields, scope)
        case "update", (ast.Arg(value=ast.Literal(value=str(quoted))), arg):
            steps = [*_steps(compiler, path, scope), *_quoted(compiler, quoted, write)]
            return [
                many(steps) + b"\x00" + number(_changed(compiler, arg, scope)) + flag(0)
            ]
        case "modify", (arg,):
            return [_set(where, _changed(compiler, arg, scope))]
        case _:
            hint = "write $.omit(a, b) for several" if write.name == "unset" else ""
            reason = f"{write.name} does not take these arguments"
            raise compiler.error(write, reason, hint)


def _set(where: bytes, value: Id) -> bytes:
    return where + b"\x00" + number(value) + flag(0)


def _outside(compiler: Compiler, node: ast.Node, scope: Scope, outer: int) -> Id:
    """Add a value in which ``@`` is what it is outside the write."""
    value = compiler.expression(node, scope)
    return compiler.with_current(compiler.variable(outer, node.span), value, node.span)


def _changed(compiler: Compiler, arg: ast.Arg, scope: Scope) -> Id:
    """Add a new value, made of the old one."""
    if not isinstance(arg.value, ast.Lambda):
        return compiler.expression(arg.value, scope)
    function = arg.value
    if len(function.params) != 1:
        raise compiler.error(arg, "the lambda is given one value: the old one")
    variable = compiler.writer.variable()
    body = compiler.destructured(
        [(function.params[0], variable)],
        scope,
        lambda inner: compiler.expression(function.body, inner),
    )
    current = compiler.writer.add(Tag.CURRENT, arg.span)
    return compiler.let(variable, current, body, arg.span)


def _merged(
    compiler: Compiler, write: ast.Method, arg: ast.Arg, scope: Scope, outer: int
) -> Id:
    span = write.span
    current = compiler.writer.add(Tag.CURRENT, span)
    empty = compiler.writer.add(Tag.OBJECT, span, many([]))
    there = compiler.writer.add(Tag.COALESCE, span, number(current), number(empty))
    added = compiler.argument(_outside(compiler, arg.value, scope, outer))
    return compiler.builtin(write.name, there, [added], span)


def _updates(
    compiler: Compiler,
    path: Sequence[ast.Step],
    fields: ast.ObjectLiteral,
    scope: Scope,
) -> list[bytes]:
    """Return the edits of ``update({…})``.

    A plain key is a field of the target, whose other fields its value sees; a key
    that is a path leads to places, each of whose old values its value sees.
    """
    plain, edits = [], []
    for entry in fields.entries:
        if not isinstance(entry, ast.Entry):
            raise compiler.error(entry, "update takes keys with their values")
        if not re.search(r"[.\[/]", entry.key):
            plain.append(entry)
            continue
        steps = [*_steps(compiler, path, scope), *_quoted(compiler, entry.key, entry)]
        edits.append(many(steps) + _change(compiler, entry.value, scope) + flag(0))
    if plain:
        target = _fields(compiler, plain, scope, fields.span)
        edits.insert(0, _set(_path(compiler, path, scope), target))
    return edits


def _change(compiler: Compiler, value: ast.Node, scope: Scope) -> bytes:
    if isinstance(value, ast.Delete):
        return b"\x01"
    return b"\x00" + compiler.part(value, scope)


def _fields(
    compiler: Compiler, entries: Sequence[ast.Entry], scope: Scope, span: ast.Span
) -> Id:
    """Add the target with some fields changed, each seen from the target."""
    target = compiler.writer.variable()
    edits = []
    for entry in entries:
        change = b"\x01"
        if not isinstance(entry.value, ast.Delete):
            value = compiler.expression(entry.value, scope)
            seen = compiler.with_current(compiler.variable(target, span), value, span)
            change = b"\x00" + number(seen)
        edits.append(many([b"\x00" + text(entry.key)]) + change + flag(0))
    current = compiler.writer.add(Tag.CURRENT, span)
    patched = compiler.writer.add(Tag.PATCH, span, number(current), many(edits))
    return compiler.let(target, current, patched, span)


def _key(compiler: Compiler, arg: ast.Arg) -> str:
    match arg.value:
        case ast.Name(name=key) | ast.Literal(value=str(key)):
            return key
        case _:
            raise compiler.error(arg, "a key is a name or a text")


def _path(compiler: Compiler, path: Sequence[ast.Step], scope: Scope) -> bytes:
    return many(_steps(compiler, path, scope))


def _steps(compiler: Compiler, path: Sequence[ast.Step], scope: Scope) -> list[bytes]:
    encoded = []
    for step in path:
        match step:
            case ast.Field():
                encoded.append(b"\x00" + text(step.name))
            case ast.Index():
                encoded.append(b"\x01" + signed(step.index))
            case ast.Each():
                condition = compiler.optional_part(step.condition, scope)
                encoded.append(b"\x02" + condition)
            case ast.Descend(key=str(key)):
                encoded.append(b"\x03" + text(key))
            case ast.Computed():
                encoded.append(b"\x04" + compiler.part(step.key, scope))
            case _:
                raise compiler.error(step, "a change cannot go through this")
    return encoded


def _quoted(compiler: Compiler, path: str, node: ast.Located) -> list[bytes]:
    """Encode a path that is written as text: ``a.b[0].c``, ``a.b[*].c``."""
    steps, at = [], 0
    while at < len(path):
        segment = _SEGMENT.match(path, at)
        if segment is None:
            raise compiler.error(node, f"{path!r} is not a path")
        name, index, every = segment.groups()
        if name is not None:
            steps.append(b"\x00" + text(name))
        elif index is not None:
            steps.append(b"\x01" + signed(int(index)))
        elif every is not None:
            steps.append(b"\x02" + flag(0))
        at = segment.end()
    return steps
