"""Sub-queries over sources, which run once before the query around them.

``@users.filter(active).count()`` does not depend on the row around it, so it runs once over the
rows of its source; the program of the query then refers to its result by number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.logical.methods import (
    begins_with_rows,
    first_write,
    is_chain,
    is_join,
)
from headrace.record import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence


MAIN = ast.Source("$")
"""The main source, written like a named one."""


def main_by_name(tree: ast.Node, *, whole: bool) -> ast.Node:
    """Return a query in which the main source is a source like others."""

    def by_name(node: ast.Node) -> ast.Node:
        match node:
            case ast.Path() if is_chain(node):
                # Of the document as a whole.
                return node
            case ast.Path(ast.Root() as root, steps) if begins_with_rows(steps):
                # In its steps, ``$`` is the row.
                return ast.Path(replace(MAIN, span=root.span), steps, span=node.span)
            case ast.Root() if whole:
                return replace(MAIN, span=node.span)
            case _:
                return traversal.rebuilt(node, by_name)

    return by_name(tree)


def lifted(tree: ast.Node) -> tuple[ast.Node, dict[str, ast.Node]]:
    """Return a query without its sub-queries over named sources, and the sub-queries.

    In the query, each is replaced by a source with the text of the sub-query as its name.
    """
    subqueries: dict[str, ast.Node] = {}

    def lift_out(subquery: ast.Source | ast.Path) -> ast.Source:
        from headrace.language.unparse import unparse

        name = unparse(subquery).removeprefix("@")
        subqueries[name] = subquery
        return ast.Source(name, span=subquery.span)

    def lift(tree: ast.Node, given: frozenset[str]) -> ast.Node:
        known = given | set(traversal.names_given(tree))

        def inside(node: ast.Node) -> ast.Node:
            return lift(node, known)

        match tree:
            case ast.Source():
                return lift_out(tree)
            case ast.Path(ast.Source() as source, steps):
                # Further writes may continue with the result of a write.
                is_write = first_write(steps) is not None
                count = 0 if is_write else closed_steps(steps, given)
                closed = ast.Path(source, steps[:count], span=tree.span)
                answer = lift_out(closed if count else source)
                rest = tuple(traversal.rebuilt(step, inside) for step in steps[count:])
                return ast.Path(answer, rest, span=tree.span) if rest else answer
            case _:
                return traversal.rebuilt(tree, inside)

    return lift(tree, frozenset()), subqueries


def is_closed(tree: ast.Node, given: frozenset[str] = frozenset()) -> bool:
    """Whether a query uses a named source and nothing from around it.

    `given`: names that have values around it.

    >>> from headrace.language.parser import parse
    >>> is_closed(parse("@users.filter(active)")), is_closed(parse("@users.take(n)"))
    (True, False)
    """
    match tree:
        case ast.Source():
            return True
        case ast.Path(ast.Source(), steps):
            return closed_steps(steps, given) == len(steps)
        case _:
            return False


def are_closed(steps: Sequence[ast.Step]) -> bool:
    """Whether all steps use the value before them and nothing else."""
    return closed_steps(steps, frozenset()) == len(steps)


def closed_steps(steps: Sequence[ast.Step], given: frozenset[str]) -> int:
    """Count the first steps that use the value before them and nothing else."""
    around = _Around(given, begins_with_rows(steps))
    if (found := first_write(steps)) is not None:
        changed = (*found[0], found[1])
        # The result of a write is the whole value: it cannot be cut from its path.
        if not all(_is_closed_change(step, around) for step in changed):
            return 0
        return len(changed) + closed_steps(steps[len(changed) :], given)
    first_each = len(steps)
    for count, step in enumerate(steps):
        if not _is_closed_step(step, around):
            # Steps behind ``[*]`` apply to each element, and cannot be cut from it.
            return min(count, first_each)
        if isinstance(step, ast.Each) and step.body is None:
            first_each = min(count, first_each)
    return len(steps)


@record
class _Around:
    """Context of a step: names of values, and whether ``$`` is the row."""

    given: frozenset[str]
    row_is_root: bool

    def is_unused(self, tree: ast.Node) -> bool:
        """Whether an argument for each element uses nothing of the context."""
        roots = any(isinstance(node, ast.Root) for node in traversal.walk(tree))
        return (self.row_is_root or not roots) and not (
            traversal.names_used(tree) & self.given
        )


def _is_closed_change(step: ast.Step, around: _Around) -> bool:
    """Whether a step of a write uses the changed value and nothing else."""
    return not isinstance(step, ast.Computed) and all(
        around.is_unused(node) for node in traversal.children(step)
    )


def _is_closed_step(step: ast.Step, around: _Around) -> bool:
    match step:
        case ast.Method() if is_join(step):
            from headrace.logical.encode.joins import join_call

            call = join_call(step.name, step.args)
            return (
                not isinstance(call, str)
                and is_closed(call.other, around.given)
                and around.is_unused(call.on)
                and around.is_unused(call.right_on)
            )
        case ast.Method():
            return _is_closed_method(step, around)
        case ast.InlineFilter() | ast.Each():
            return all(around.is_unused(node) for node in traversal.children(step))
        case ast.Field() | ast.Index() | ast.Slice() | ast.Descend() | ast.ExactlyOne():
            return True
        case _:
            return False


def _is_closed_method(step: ast.Method, around: _Around) -> bool:
    builtin = builtins().get(step.name)
    if builtin is None:
        return begins_with_rows([step])
    for position, arg in enumerate(step.args):
        parameter = builtin.parameter(position)
        if parameter is not None and parameter.kind == "each":
            if not around.is_unused(arg.value):
                return False
        elif not _is_fixed(arg.value):
            return False
    return True


def _is_fixed(tree: ast.Node) -> bool:
    """Whether an argument has the same value in every place."""
    return all(
        isinstance(node, ast.Literal | ast.Negate | ast.ArrayLiteral)
        for node in traversal.walk(tree)
    ) or is_closed(tree)
