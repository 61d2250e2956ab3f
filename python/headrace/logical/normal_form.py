"""Normal form of pipes: methods in a row are one path."""

from __future__ import annotations

from headrace.kernel.values import builtins
from headrace.language import ast
from headrace.logical.methods import WRITES
from headrace.logical.named_sources import are_closed


def one_path(tree: ast.Node) -> ast.Node:
    """Return a pipe of methods as the equivalent path.

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
            case ast.Name(name) if name in builtins() and name not in WRITES:
                steps.append(ast.Method(name, span=stage.span))
            case ast.Path(ast.Current(), further) if are_closed(further) and not any(
                map(_writes, further)
            ):
                steps += further
            case ast.Current():
                pass
            case _:
                return tree
    return ast.Path(base, tuple(steps), span=tree.span) if steps else base


def _writes(step: ast.Step) -> bool:
    """Whether a step is a write, which would change a whole document in a path."""
    return isinstance(step, ast.Method) and step.name in WRITES
