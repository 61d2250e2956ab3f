"""The demand of a query: the fields of a row that it reads.

A demand may have more fields than that, never fewer: a row without all other fields gives the
same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.logical.method_kinds import is_chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Fields: TypeAlias = frozenset[str] | None
"""Names of fields; None for all fields."""

NOTHING: frozenset[str] = frozenset()

_NAMED_ONLY = frozenset({"has", "missing", "pick"})
"""Methods that read only the fields of an object that their arguments name."""

_KEEPS_ROW = frozenset({"filter", "find_all", "compact"})


def fields_of(tree: ast.Node) -> Fields:
    """Return the fields that a row query reads.

    >>> from headrace.language.parser import parse
    >>> sorted(fields_of(parse("{id, n: tags.len()} if $.level == 'error' else null")))
    ['id', 'level', 'tags']
    >>> fields_of(parse("$"))
    """
    return _fields(tree, about_row=True)


def of_elements(tree: ast.Node) -> tuple[Fields, Fields, bool]:
    """Return the fields that a stage reads to choose rows, and those that it reads for its output.

    The third value says whether it passes rows on unchanged.

    >>> from headrace.language.parser import parse
    >>> of_elements(parse("[$].filter(a > 1).map(b)"))
    (frozenset({'a'}), frozenset({'b'}), False)
    """
    match tree:
        case ast.Path(ast.ArrayLiteral((ast.Root(),)), steps):
            scan: Fields = NOTHING
            for at, step in enumerate(steps):
                if not _keeps_row(step):
                    rest = (
                        _arguments(later, about_row=False) for later in steps[at + 1 :]
                    )
                    made = union([_arguments(step, about_row=True), *rest])
                    return scan, made, False
                scan = union([scan, _arguments(step, about_row=True)])
            return scan, NOTHING, True
        case _:
            return NOTHING, fields_of(tree), False


def union(several: Iterable[Fields]) -> Fields:
    """Return the fields that are in any of several sets."""
    together: frozenset[str] = NOTHING
    for one in several:
        if one is None:
            return None
        together |= one
    return together


def _keeps_row(step: ast.Step) -> bool:
    match step:
        case ast.InlineFilter():
            return True
        case ast.Method(name):
            return name in _KEEPS_ROW
        case _:
            return False


def _arguments(step: ast.Step, *, about_row: bool) -> Fields:
    """Return the fields that the expressions inside a step read."""
    return union(
        _fields(node, about_row=about_row) for node in traversal.children(step)
    )


def _fields(tree: ast.Node, *, about_row: bool) -> Fields:  # noqa: C901, a table of kinds
    """Return the fields that an expression reads.

    `about_row`: ``@`` is the row, and bare names are its fields.
    """
    match tree:
        case ast.Root():
            return None
        case ast.Current():
            return None if about_row else NOTHING
        case ast.Name(name):
            return frozenset({name}) if about_row else NOTHING
        case ast.Path() if is_chain(tree):
            return None
        case ast.Path(ast.Root(), (first, *rest)):
            return _path(first, rest, about_row=about_row)
        case ast.Path(ast.Current(), (first, *rest)) if about_row:
            return _path(first, rest, about_row=about_row)
        case ast.Path(base, steps):
            inside = (_inside(step, about_row=about_row) for step in steps)
            return union([_fields(base, about_row=about_row), *inside])
        case ast.Call(_, ()):
            return None if about_row else NOTHING
        case ast.Pipe(first, stages):
            later = (_arguments_of(stage) for stage in stages)
            return union([_fields(first, about_row=about_row), *later])
        case ast.ObjectLiteral(entries):
            short = {each.name for each in entries if isinstance(each, ast.Shorthand)}
            named = frozenset(short) if about_row else NOTHING
            return union([named, _children(tree, about_row=about_row)])
        case ast.Lambda(_, body):
            return _fields(body, about_row=about_row)
        case _:
            return _children(tree, about_row=about_row)


def _children(part: ast.Located, *, about_row: bool) -> Fields:
    return union(
        _fields(node, about_row=about_row) for node in traversal.children(part)
    )


def _arguments_of(stage: ast.Node | ast.Bind) -> Fields:
    """Return the fields that a stage of a pipe reads; its ``@`` is the value before it."""
    return _fields(stage, about_row=False) if ast.is_node(stage) else NOTHING


def _path(first: ast.Step, rest: Sequence[ast.Step], *, about_row: bool) -> Fields:
    """Return the fields that steps from the row read."""
    inside = [_inside(step, about_row=about_row) for step in rest]
    match first:
        case ast.Field(name):
            return union([frozenset({name}), *inside])
        case ast.Method(method, args) if method in _NAMED_ONLY:
            names = [_plain_name(arg.value) for arg in args]
            if None not in names:
                found = frozenset(name for name in names if name is not None)
                return union([found, *inside])
    return None


def _plain_name(node: ast.Node) -> str | None:
    match node:
        case ast.Name(name):
            return name
        case ast.Literal(str(name)) if name.isidentifier():
            return name
        case _:
            return None


def _inside(step: ast.Step, *, about_row: bool) -> Fields:
    """Return the fields that the arguments of a step behind another value read."""
    if not isinstance(step, ast.Method):
        computed = isinstance(step, ast.Computed)
        return _arguments(step, about_row=about_row and computed)
    builtin = builtins().get(step.name)
    found = []
    for position, arg in enumerate(step.args):
        parameter = None if builtin is None else builtin.parameter(position)
        for_each = parameter is not None and parameter.kind == "each"
        found.append(_fields(arg.value, about_row=about_row and not for_each))
    return union(found)
