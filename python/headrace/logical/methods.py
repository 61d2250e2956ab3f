"""Methods, as the tree alone shows them: their kinds, and the fields of a row that they read.

Kinds are writes, joins, ranks and steps of rows. A demand may have more fields than a query reads,
never fewer: a row without all other fields gives the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard, get_args

from headrace.kernel.values import builtins
from headrace.language import ast, traversal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WRITES = frozenset(
    {"set", "modify", "delete", "unset", "merge", "deep_merge", "update"}
)

JoinKind: TypeAlias = Literal["join", "left_join", "lookup", "diff", "intersect"]
"""Kinds of joins."""

_KINDS: frozenset[str] = frozenset(get_args(JoinKind))
_NO_JOIN = (None, "separator", "other")
"""Names of arguments that these methods also take without a key."""

RANKS = frozenset({"row_number", "rank", "dense_rank"})
"""Methods that rank elements, with arguments ``by:`` and ``as:``."""

DEEP = {"find": "deep_find", "shape": "deep_shape", "like": "deep_like"}
"""The core's names of deep searches."""


ROW_LOCAL = frozenset({"filter", "find_all", "map", "flat_map", "compact"})
"""Methods that handle one element after the other."""

GIVES_ELEMENTS = ROW_LOCAL | {
    "accumulate", "batch", "chunk", "cummax", "cummin", "dense_rank", "diff", "diff_window", "distinct",
    "distinct_by", "drop", "drop_while", "dropwhile", "enumerate", "explode",
    "flatten", "group", "implode", "intersect", "lag", "lead", "pairwise", "pct_change", "rank", "remove",
    "reverse", "rolling_avg", "rolling_max", "rolling_min", "rolling_sum", "row_number", "skip",
    "sort", "sort_by", "take", "take_while", "takewhile", "time_range", "unique", "unique_by",
    "left_join", "lookup", "window", "zip_streams", "zscore",
}  # fmt: skip
"""Methods that always give elements; none of null."""


# Rows


def is_rows(node: ast.Node) -> TypeGuard[ast.Path]:
    """Whether an expression is a chain of ``$.rows()``."""
    return (
        isinstance(node, ast.Path)
        and isinstance(node.base, ast.Root)
        and begins_with_rows(node.steps)
    )


def begins_with_rows(steps: Sequence[ast.Step]) -> bool:
    """Whether steps begin with ``rows()``: each row is ``$`` in them."""
    match steps:
        case (ast.Method("rows", ()), *_):
            return True
        case _:
            return False


def reads_other_rows(tree: ast.Node) -> bool:
    """Whether a row query reads more than its row: all rows, or those of a named source."""
    return any(
        isinstance(node, ast.Source) or is_rows(node) for node in traversal.walk(tree)
    )


# Joins


def is_join(step: ast.Method | ast.Call) -> bool:
    """Whether a call is a join: some are so only with ``on:``."""
    return step.name in _KINDS and (
        step.name in ("left_join", "lookup")
        or any(arg.name not in _NO_JOIN for arg in step.args)
    )


# Writes


def is_chain(node: ast.Node) -> TypeGuard[ast.Path]:
    """Whether an expression is a write to the document."""
    return _is_write_to(node, ast.Root, ast.Source)


def _is_write_to(
    node: ast.Node | ast.Bind, *bases: type[ast.Located]
) -> TypeGuard[ast.Path]:
    return (
        isinstance(node, ast.Path)
        and isinstance(node.base, bases)
        and first_write(node.steps) is not None
    )


def go_on(then: ast.Node | ast.Bind, first: ast.Node) -> TypeGuard[ast.Path]:
    """Whether `then` is a further write to the value that `first` writes to."""
    bases = (ast.Root, ast.Source, ast.Name, ast.Current)
    return (
        _is_write_to(first, *bases)
        and _is_write_to(then, *bases)
        and (then.base == first.base or isinstance(then.base, ast.Current))
    )


def is_update(step: ast.Method) -> bool:
    """Whether ``update`` names places of its receiver."""
    return step.name == "update" and (
        len(step.args) > 1
        or (bool(step.args) and isinstance(step.args[0].value, ast.ObjectLiteral))
    )


def first_write(
    steps: Sequence[ast.Step],
) -> tuple[Sequence[ast.Step], ast.Method] | None:
    """Return the first write and the path before it; None if other steps come before it.

    >>> from headrace.language.parser import parse
    >>> [
    ...     len(first_write(parse(q).steps)[0])
    ...     for q in ("$.a[*].set(1)", "$.a.delete().b")
    ... ]
    [2, 1]
    >>> first_write(parse("$.a[1:].set(1)").steps)
    """
    for position, step in enumerate(steps):
        if isinstance(step, ast.Method):
            return (steps[:position], step) if is_write(step) else None
        if not is_place(step):
            return None
    return None


def is_write(step: ast.Step) -> TypeGuard[ast.Method]:
    """Whether a method writes to the document; ``update(f)`` does not."""
    if not isinstance(step, ast.Method):
        return False
    if step.name != "update":
        return step.name in WRITES
    return bool(step.args) and isinstance(
        step.args[0].value, ast.ObjectLiteral | ast.Literal
    )


def is_place(step: ast.Step) -> bool:
    """Whether a change can go through a step."""
    match step:
        case ast.Field() | ast.Index() | ast.Computed() | ast.Each(body=None):
            return True
        case ast.Descend():
            return step.key is not None
        case _:
            return False


# Fields that are read

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
