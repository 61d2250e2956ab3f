"""Changes to a document: ``patch``, and chains from ``$`` that end in a write.

``$.a.b.set(1)`` is the whole document with one place changed, and
``patch $ {a.b: 1}`` the same; both are one `PATCH` of the program, whose edits have
a path, a change and maybe a condition. A path goes through *places*: fields, elements,
``[*]`` and ``..key``. The result of a slice or a call is a new value, so a write behind one is
refused.

In a change, ``@`` is the old value, and a bare name is a field of the object that holds the
place; of the old value itself, if that is an element or the whole document.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import QueryMeaningError
from headrace.language import ast
from headrace.language.unparse import unparse
from headrace.logical.encode.program import (
    Holder,
    Id,
    Macro,
    Tag,
    flag,
    many,
    number,
    signed,
    text,
)
from headrace.logical.methods import first_write, is_place, is_write
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.logical.encode.compiler import Compiler
    from headrace.logical.encode.program import Scope

_OF_DOCUMENT_ONLY = frozenset({"set", "modify", "delete"})
"""Writes whose result has nothing of the old value, or almost nothing."""

_SEGMENT = re.compile(r"\.?([^.\[\]/]+)|\[(-?\d+)\]|\[(\*)\]")


def chain(compiler: Compiler, node: ast.Path, scope: Scope) -> Id | None:
    """Add a path that writes to the document; None if it does not."""
    before, base = scope.written, node.base
    by_name = (
        before is not None
        and isinstance(base, ast.Name)
        and scope.names.get(base.name) == before.variable
    )
    if not (by_name or isinstance(base, ast.Root | ast.Source)):
        return None
    if first_write(node.steps) is None:
        _refuse_no_place(compiler.source, node.steps)
        return None
    if before is not None and (by_name or base == before.base):
        document = compiler.variable(before.variable, node.span)
    else:
        document = compiler.expression(base, scope)
    return chain_on(compiler, document, node, scope)


def chain_on(compiler: Compiler, document: Id, node: ast.Path, scope: Scope) -> Id:
    """Add the writes of a chain to an existing document."""
    steps = node.steps
    while (found := first_write(steps)) is not None:
        path, write = found
        document = written(compiler, document, path, write, scope)
        steps = steps[len(path) + 1 :]
    _refuse_no_place(compiler.source, steps)
    return compiler.steps(document, steps, scope)


def patch(compiler: Compiler, node: ast.Patch, scope: Scope) -> Id:
    """Add ``patch target {…}``."""
    target = compiler.part(node.target, scope)
    edits = [
        _edit(
            compiler,
            _steps(compiler, write.path, scope),
            write.value,
            scope,
            write.condition,
        )
        for write in node.writes
    ]
    return compiler.add(Tag.PATCH, node.span, target, many(edits))


def written(
    compiler: Compiler,
    document: Id,
    path: Sequence[ast.Step],
    write: ast.Method,
    scope: Scope,
) -> Id:
    """Add a document with the changes of a write at the places of a path."""
    span = write.span
    before = _steps(compiler, path, scope)
    edits = _edits(compiler, before, write, scope)
    return compiler.add(Tag.PATCH, span, document, many(edits))


def held(compiler: Compiler, node: ast.Name, holder: Holder) -> Id:
    """Add a field of the object that holds the changed place."""
    of = compiler.variable(holder.variable, node.span)
    required = flag(node.span.start in holder.required)
    return compiler.add(Tag.HELD, node.span, of, text(node.name) + required)


def receiver_in_change(compiler: Compiler, node: ast.Path, scope: Scope) -> Id | None:
    """Add the receiver of ``has(k)`` and ``missing(k)`` in a change: the object that holds the place."""
    base, first = node.base, node.steps[0]
    is_implied = isinstance(base, ast.Current) and base.span.start == base.span.end
    if scope.holder is None or not is_implied or not isinstance(first, ast.Method):
        return None
    if first.name not in ("has", "missing"):
        return None
    return compiler.variable(scope.holder.variable, node.span)


# Refusals


def _refuse_no_place(query: str, steps: Sequence[ast.Step]) -> None:
    """Refuse a write to the document through a step that is no place."""
    first = next((step for step in steps if not is_place(step)), None)
    for step in steps:
        if is_write(step) and first is not None:
            raise _no_place(query, first, step)


def _no_place(query: str, step: ast.Step, write: ast.Method) -> QueryMeaningError:
    nothing = f"so {write.name} would change nothing in the document"
    elements = f"write [* if ...].{write.name}(...) for some elements"
    match step:
        case ast.Method("rows", ()):
            reason = f"rows() is not a place, {nothing}"
            hint = f"write $.rows().map($.v.{write.name}(...)), or --stream and $[0].v"
        case ast.Slice():
            reason = f"a slice is not a place, {nothing}"
            hint = f"{elements}, .modify(@[...]) for another array"
        case ast.InlineFilter():
            reason = f"a filter in braces is not a place, {nothing}"
            hint = elements
        case ast.Method(name):
            reason = f"the result of {name}() is not a place, {nothing}"
            hint = f"{elements}, ... | {write.name}(...) for that value alone"
        case _:
            reason = f"a path goes through fields and elements only, {nothing}"
            hint = elements
    return QueryMeaningError(query, step.span.start, reason, hint)


def refuse_field(compiler: Compiler, node: ast.Path, scope: Scope) -> None:
    """Refuse a write that begins at a field: it would give the new value alone."""
    found = first_write(node.steps)
    if found is None or found[1].name not in _OF_DOCUMENT_ONLY:
        return
    path, write = found
    match node.base:
        case ast.Name(name) if name not in scope.names:
            path = (ast.Field(name), *path)
        case ast.Current() if path:
            pass
        case _:
            return
    begun = unparse(ast.Path(ast.Root(), tuple(path)))
    reason = f"{write.name} changes a document, and this path does not begin with $"
    hint = f"write {begun}.{write.name}(...)"
    if isinstance(path[0], ast.Field):
        hint += f", or patch @ {{{begun[2:]}: ...}}"
    raise compiler.error(node, reason, hint)


# Edits


def _edits(
    compiler: Compiler, before: list[bytes], write: ast.Method, scope: Scope
) -> list[bytes]:
    match write.name, write.args:
        case "delete", ():
            return [_edit(compiler, before, ast.Delete(span=write.span), scope)]
        case "set", (ast.Arg(value=ast.Lambda() as function),):
            hint = "write modify(x => ...) for a value made of the old one"
            raise compiler.error(function, "set takes a value", hint)
        case "set" | "modify", (arg,):
            return [_edit(compiler, before, arg.value, scope)]
        case "unset", (_, *_):
            keys = [b"\x00" + text(_key(compiler, arg)) for arg in write.args]
            gone = ast.Delete(span=write.span)
            return [_edit(compiler, [*before, key], gone, scope) for key in keys]
        case "merge" | "deep_merge", (arg,):
            return [_edit(compiler, before, _merged(write, arg), scope)]
        case "update", (ast.Arg(value=ast.ObjectLiteral() as fields),):
            return _updates(compiler, before, fields, scope)
        case "update", (ast.Arg(value=ast.Literal(value=str(quoted))), arg):
            path = [*before, *_quoted(compiler, quoted, write)]
            return [_edit(compiler, path, arg.value, scope)]
        case "update", (first, _):
            hint = "write $.set_path(p, ...) for a path that is computed"
            raise compiler.error(first, "update takes its path in quotes", hint)
        case _:
            hint = "write $.omit(a, b) for several" if write.name == "unset" else ""
            reason = f"{write.name} does not take these arguments"
            raise compiler.error(write, reason, hint)


def _merged(write: ast.Method, arg: ast.Arg) -> ast.Node:
    there = ast.Coalesce((ast.Current(), ast.ObjectLiteral(())), span=write.span)
    return ast.Path(there, (replace(write, args=(arg,)),), span=write.span)


def _updates(
    compiler: Compiler, before: list[bytes], fields: ast.ObjectLiteral, scope: Scope
) -> list[bytes]:
    """Return the edits of ``update({…})``: each key is a field of the target, or a path."""
    edits = []
    for entry in fields.entries:
        if not isinstance(entry, ast.Entry) or entry.optional:
            hint = "write update({key: value}), update({key: value when test})"
            raise compiler.error(entry, "update takes keys with their values", hint)
        if re.search(r"[.\[/]", entry.key):
            path = [*before, *_quoted(compiler, entry.key, entry)]
        else:
            path = [*before, b"\x00" + text(entry.key)]
        edits.append(_edit(compiler, path, entry.value, scope, entry.condition))
    return edits


def _edit(
    compiler: Compiler,
    path: list[bytes],
    value: ast.Node,
    scope: Scope,
    condition: ast.Node | None = None,
) -> bytes:
    """Return one edit: each place of the path gets the value, if the condition holds."""
    variable = compiler.writer.variable()
    holder = Holder(variable, frozenset(_written_names(value)))
    inner = replace(scope, holder=holder)
    if isinstance(value, ast.Delete):
        change = b"\x01"
    else:
        change = b"\x00" + number(_changed(compiler, value, inner))
    when = compiler.optional_part(condition, inner)
    return many(path) + change + when + number(variable)


def _changed(compiler: Compiler, value: ast.Node, scope: Scope) -> Id:
    """Add a new value, made of the old one."""
    if isinstance(value, ast.Name) and isinstance(
        macro := scope.names.get(value.name), Macro
    ):
        value, scope = macro.function, replace(macro.inside(), holder=scope.holder)
    if not isinstance(value, ast.Lambda):
        return compiler.expression(value, scope)
    function = value
    if len(function.params) != 1:
        raise compiler.error(value, "the lambda is given one value: the old one")
    variable = compiler.writer.variable()
    body = compiler.destructured(
        [(function.params[0], variable)],
        scope,
        lambda inner: compiler.expression(function.body, inner),
    )
    current = compiler.add(Tag.CURRENT, value.span)
    return compiler.let(variable, current, body, value.span)


def _written_names(value: ast.Node) -> Iterator[int]:
    """Yield the positions of names whose values are written unchanged, or as parts of a value.

    >>> from headrace.language.parser import parse
    >>> list(_written_names(parse("{a: b, c: [d], e: f > 1, g: h ?? i}")))
    [4, 11, 33]
    """
    match value:
        case ast.Name():
            yield value.span.start
        case ast.Path(ast.Name() as base, (first, *_)):
            if not (isinstance(first, ast.Method) and first.name == "or"):
                yield base.span.start
        case ast.ObjectLiteral(entries):
            for entry in entries:
                match entry:
                    case ast.Shorthand():
                        yield entry.span.start
                    case ast.Entry(optional=False) | ast.ComputedEntry():
                        yield from _written_names(entry.value)
                    case ast.Entry() | ast.Spread():
                        pass
        case _:
            for part in _results(value):
                yield from _written_names(part)


def _results(value: ast.Node) -> Sequence[ast.Node]:
    """Return the expressions that can be the value, or its elements."""
    match value:
        case ast.ArrayLiteral(items):
            return [item for item in items if not isinstance(item, ast.Spread)]
        case ast.Conditional():
            return [value.then, value.otherwise]
        case ast.Try():
            return [value.body, value.otherwise]
        case ast.Let() | ast.Lambda():
            return [value.body]
        case ast.Match():
            return [arm.body for arm in value.arms]
        case ast.Coalesce() | ast.Or():
            return [value.operands[-1]]
        case _:
            return []


def _key(compiler: Compiler, arg: ast.Arg) -> str:
    match arg.value:
        case ast.Name(name=key) | ast.Literal(value=str(key)):
            return key
        case _:
            raise compiler.error(arg, "a key is a name or a text")


def _steps(compiler: Compiler, path: Sequence[ast.Step], scope: Scope) -> list[bytes]:
    encoded = []
    for step in path:
        match step:
            case ast.Field():
                encoded.append(b"\x00" + text(step.name))
            case ast.Index():
                encoded.append(b"\x01" + signed(step.index))
            case ast.Each():
                condition = compiler.optional_part(
                    step.condition, scope.about_current()
                )
                encoded.append(b"\x02" + condition)
            case ast.Descend(key=str(key)):
                encoded.append(b"\x03" + text(key))
            case ast.Computed():
                # As in a path that is read, the key is evaluated outside of the change.
                encoded.append(b"\x04" + compiler.part(step.key, scope))
            case _:
                raise compiler.error(step, "a change cannot go through this")
    return encoded


def _quoted(compiler: Compiler, path: str, node: ast.Located) -> list[bytes]:
    """Encode a path from its text: ``a.b[0].c``, ``a.b[*].c``."""
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
