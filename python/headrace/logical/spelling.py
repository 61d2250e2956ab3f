"""Queries over a stream that are written in another way, as one path."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from headrace.kernel.builtins import builtins
from headrace.language import ast, traversal
from headrace.logical.sources import are_closed, begins_with_rows


def one_path(tree: ast.Node) -> ast.Node:
    """Return a pipe whose stages are methods as the path that means the same.

    >>> from headrace.language.parser import parse
    >>> from headrace.language.unparse import unparse
    >>> unparse(one_path(parse("$.map(a) | unique | @.sort(-b) | first")))
    '$.map(a).unique().sort(-b).first()'
    """
    if not isinstance(tree, ast.Pipe):
        return tree
    steps: list[ast.Step] = []
    match tree.first:
        case ast.Path(ast.Root() | ast.Source() as base, first):
            steps += first
        case ast.Root() | ast.Source() as base:
            pass
        case _:
            return tree
    for stage in tree.stages:
        match stage:
            case ast.Name(name) if name in builtins():
                steps.append(ast.Method(name, span=stage.span))
            case ast.Path(ast.Current(), further) if are_closed(further):
                steps += further
            case _:
                return tree
    return ast.Path(base, tuple(steps), span=tree.span)


def with_streams_in_place(tree: ast.Node) -> ast.Node:
    """Return a query with the streams that have names in place of their names.

    >>> from headrace.language.parser import parse
    >>> from headrace.language.unparse import unparse
    >>> query = (
    ...     "let s = $.rows().filter(a) in {n: s.count(), first: s.map($.b).first()}"
    ... )
    >>> unparse(with_streams_in_place(parse(query)))
    '{n: $.rows().filter(a).count(), first: $.rows().filter(a).map($.b).first()}'
    """
    if not isinstance(tree, ast.Let):
        return tree
    given = Counter(
        name for node in traversal.walk(tree) for name in traversal.names_given(node)
    )
    streams: dict[str, ast.Path] = {}

    def in_place(node: ast.Node) -> ast.Node:
        match node:
            case ast.Name(name) if name in streams:
                return streams[name]
            case ast.Path(ast.Name(name), steps) if name in streams:
                stream = streams[name]
                further = tuple(traversal.rebuilt(step, in_place) for step in steps)
                return ast.Path(stream.base, (*stream.steps, *further), span=node.span)
            case _:
                return traversal.rebuilt(node, in_place)

    kept = []
    for binding in tree.bindings:
        value = in_place(binding.value)
        match binding.target, value:
            case ast.Variable(name), ast.Path(ast.Root(), steps) if (
                begins_with_rows(steps) and given[name] == 1
            ):
                streams[name] = value
            case _:
                kept.append(replace(binding, value=value))
    if not streams:
        return tree
    body = in_place(tree.body)
    return ast.Let(tuple(kept), body, span=tree.span) if kept else body
