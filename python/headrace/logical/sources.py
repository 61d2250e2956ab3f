"""Named sources in a query: what can be asked of them beforehand, is.

``@users.filter(active).count()`` says nothing of the rows it stands beside, so it is
asked once of the rows of that source, as a query of its own; the program that it is
a part of then has its answer by number.
"""

from __future__ import annotations

from headrace.kernel.builtins import builtins
from headrace.logical.joins import is_join, join_call
from headrace.query import ast
from headrace.query.unparse import unparse


def lifted(tree: ast.Node) -> tuple[ast.Node, dict[str, ast.Node]]:
    """Return a query without its questions to named sources, and these.

    In the query, each is replaced by a source that has the question as its name.
    """
    questions: dict[str, ast.Node] = {}

    def ask(question: ast.Source | ast.Path) -> ast.Source:
        name = unparse(question).removeprefix("@")
        questions[name] = question
        return ast.Source(name, span=question.span)

    def lift(tree: ast.Node, given: frozenset[str]) -> ast.Node:
        def inside(node: ast.Node) -> ast.Node:
            return lift(node, given | set(ast.names_given(tree)))

        match tree:
            case ast.Source():
                return ask(tree)
            case ast.Path(ast.Source() as source, steps):
                count = 0
                while count < len(steps) and is_closed_step(steps[count], given):
                    count += 1
                asked = ast.Path(source, steps[:count], span=tree.span)
                answer = ask(asked if count else source)
                rest = tuple(ast.rebuilt(step, inside) for step in steps[count:])
                return ast.Path(answer, rest, span=tree.span) if rest else answer
            case _:
                return ast.rebuilt(tree, inside)

    return lift(tree, frozenset()), questions


def is_closed(tree: ast.Node, given: frozenset[str] = frozenset()) -> bool:
    """Whether a query is about a named source and nothing around it.

    `given`: names that stand for values around it.

    >>> from headrace.query.parser import parse
    >>> is_closed(parse("@users.filter(active)")), is_closed(parse("@users.take(n)"))
    (True, False)
    """
    match tree:
        case ast.Source():
            return True
        case ast.Path(ast.Source(), steps):
            return all(is_closed_step(step, given) for step in steps)
        case _:
            return False


def is_closed_step(step: ast.Step, given: frozenset[str]) -> bool:
    """Whether a step is about the value before it and nothing else."""
    match step:
        case ast.Method() if is_join(step):
            call = join_call(step.name, step.args)
            return (
                not isinstance(call, str)
                and is_closed(call.other, given)
                and all(
                    _is_about_element(key, given) for key in (call.on, call.right_on)
                )
            )
        case ast.Method():
            return _is_closed_method(step, given)
        case ast.InlineFilter() | ast.Each():
            return all(_is_about_element(node, given) for node in ast.children(step))
        case ast.Field() | ast.Index() | ast.Slice() | ast.Descend() | ast.ExactlyOne():
            return True
        case _:
            return False


def _is_closed_method(step: ast.Method, given: frozenset[str]) -> bool:
    builtin = builtins().get(step.name)
    if builtin is None:
        return False
    for position, arg in enumerate(step.args):
        parameter = builtin.parameter(position)
        if parameter is not None and parameter.kind == "each":
            if not _is_about_element(arg.value, given):
                return False
        elif not all(isinstance(node, ast.Literal) for node in ast.walk(arg.value)):
            return False
    return True


def _is_about_element(tree: ast.Node, given: frozenset[str]) -> bool:
    """Whether an argument says nothing of ``$`` and of names that were given outside."""
    return not any(
        isinstance(node, ast.Root)
        or (isinstance(node, ast.Name) and node.name in given)
        for node in ast.walk(tree)
    )
