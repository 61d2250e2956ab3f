"""Shape of an answer: elements, one line each, or one value.

The shape depends on the query alone, never on the data: on the expression at its tail, behind
``let``, ``->`` and ``|``, and in the branches of ``if``, ``try``, ``??`` and ``match``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.logical.methods import GIVES_ELEMENTS, first_write, is_chain, is_join

if TYPE_CHECKING:
    from collections.abc import Sequence

_PUTS_TOGETHER = frozenset(
    {"append", "prepend", "union", "zip", "zip_longest", "collect"}
)
"""Methods that give elements if their receiver has elements."""


def gives_elements(  # noqa: C901, a table of kinds
    tree: ast.Node,
    named: frozenset[str] = frozenset(),
    *,
    whole: bool,
    before: bool = False,
) -> bool:
    """Whether the answer of a query is elements, not one value.

    `named` are names of elements; `whole`: ``$`` is the array of all rows; `before`:
    ``@`` is elements.

    >>> from headrace.language.parser import parse
    >>> for query in ("let n = 3 in $.take(n)", "$.count()", "$ + [1]", "[$.take(2)]"):
    ...     print(gives_elements(parse(query), whole=True))
    True
    False
    True
    False
    """

    def gives(part: ast.Node, *, at: bool = before) -> bool:
        return gives_elements(part, named, whole=whole, before=at)

    match tree:
        case ast.Root():
            return whole
        case ast.Current():
            return before
        case ast.Source():
            return True
        case ast.Name(name):
            return name in named
        case ast.Path(base, steps):
            while is_chain(tree) and (write := first_write(steps)) is not None:
                # The whole document, with a change.
                steps = steps[len(write[0]) + 1 :]
            return stream_steps(steps, base_gives=gives(base))
        case ast.Let(bindings, body):
            for binding in bindings:
                named = _naming(named, binding.target, gives=gives(binding.value))
            return gives_elements(body, named, whole=whole, before=before)
        case ast.Pipe(first, stages):
            found = gives(first)
            for stage in stages:
                if isinstance(stage, ast.Bind):
                    named = _naming(named, stage.target, gives=found)
                else:
                    found = _stage_gives(stage, named, whole=whole, before=found)
            return found
        case ast.Conditional(_, then, otherwise):
            return gives(then) or gives(otherwise)
        case ast.Try(body, otherwise):
            return gives(body) or gives(otherwise)
        case ast.Coalesce(operands):
            return any(map(gives, operands))
        case ast.Match(_, arms):
            return any(gives(arm.body) for arm in arms)
        case ast.Binary(ast.BinaryOperator.ADD, left, right):
            return gives(left) or gives(right)
        case ast.ArrayComprehension(_, (loop, *_)):
            return gives(loop.source)
        case ast.Call(name, (receiver, *others)):
            method = ast.Method(name, tuple(others))
            return stream_steps([method], base_gives=gives(receiver.value))
        case _:
            return False


def _stage_gives(
    stage: ast.Node, named: frozenset[str], *, whole: bool, before: bool
) -> bool:
    if isinstance(stage, ast.Name) and stage.name not in named:
        return stream_steps([ast.Method(stage.name)], base_gives=before)
    return gives_elements(stage, named, whole=whole, before=before)


def _naming(
    named: frozenset[str], target: ast.Variable | ast.Items | ast.Fields, *, gives: bool
) -> frozenset[str]:
    if not isinstance(target, ast.Variable):
        return named - {*target.names, target.rest or ""}
    return named | {target.name} if gives else named - {target.name}


def stream_steps(steps: Sequence[ast.Step], *, base_gives: bool = True) -> bool:
    """Whether steps give elements; steps behind ``[*]`` apply to each of them."""
    if not steps:
        return base_gives
    if any(isinstance(step, ast.Each) and step.body is None for step in steps):
        return True
    *before, last = steps
    match last:
        case ast.Method("rows", ()):
            return True
        case ast.Method("first" | "last", args):
            return bool(args)
        case ast.Method("join"):
            return is_join(last)
        case ast.Method(name) if name in _PUTS_TOGETHER:
            return stream_steps(before, base_gives=base_gives)
        case ast.Method(name):
            return name in GIVES_ELEMENTS
        case ast.Slice() | ast.InlineFilter() | ast.Each():
            return True
        case _:
            return False
