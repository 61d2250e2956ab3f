"""Pipes, encoded: one stage after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kernel.values import builtins
from headrace.language import ast
from headrace.logical.encode import calls, writes
from headrace.logical.encode.compiler import LongChain
from headrace.logical.encode.program import Id, Tag
from headrace.logical.methods import go_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.logical.encode.compiler import Compiler
    from headrace.logical.encode.program import Scope


def pipe(compiler: Compiler, node: ast.Pipe, scope: Scope) -> Id:
    """Add a pipe."""
    first, stages = node.first, node.stages
    if isinstance(first, ast.Path) and go_on(stages[0], first):
        writes.refuse_field(compiler, first, scope)
        # Writes to one value, one after the other, change that whole value.
        document = compiler.expression(first.base, scope)
        value = writes.chain_on(compiler, document, first, scope)
        return _stages(compiler, value, stages, scope, written=first)
    return _stages(
        compiler, compiler.expression(first, scope), stages, scope, written=None
    )


def _stages(
    compiler: Compiler,
    value: Id,
    stages: Sequence[ast.Node | ast.Bind],
    scope: Scope,
    *,
    written: ast.Path | None,
) -> Id:
    """Add stages one after the other.

    `written`: the write that gave the value; a further write to the same value continues it.
    """
    chain = LongChain(compiler, stages[0].span if stages else ast.NOWHERE)
    for position, stage in enumerate(stages):
        value = chain.next(value)
        if isinstance(stage, ast.Bind):
            rest = stages[position + 1 :]
            value = _bind(compiler, value, stage, rest, scope, written=written)
            break
        if written is not None and go_on(stage, written):
            current = compiler.add(Tag.CURRENT, stage.span)
            body = writes.chain_on(compiler, current, stage, scope.about_current())
        else:
            written = None
            body = _stage(compiler, stage, scope.about_current())
        value = compiler.with_current(value, body, stage.span)
    return chain.around(value)


def _stage(compiler: Compiler, stage: ast.Node, scope: Scope) -> Id:
    is_method = (
        isinstance(stage, ast.Name)
        and stage.name not in scope.names
        and stage.name in builtins()
    )
    if is_method and isinstance(stage, ast.Name):
        current = compiler.add(Tag.CURRENT, stage.span)
        return calls.method(
            compiler, current, ast.Method(stage.name, span=stage.span), scope
        )
    return compiler.expression(stage, scope)


def _bind(
    compiler: Compiler,
    value: Id,
    bind: ast.Bind,
    rest: Sequence[ast.Node | ast.Bind],
    scope: Scope,
    *,
    written: ast.Path | None,
) -> Id:
    variable = compiler.writer.variable()
    again = compiler.variable(variable, bind.span)
    inside = compiler.destructured(
        [(bind.target, variable)],
        scope,
        lambda inner: _stages(compiler, again, rest, inner, written=written),
    )
    return compiler.let(variable, value, inside, bind.span)
