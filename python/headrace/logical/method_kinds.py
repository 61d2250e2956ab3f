"""Kinds of methods and calls, as the tree alone shows them: writes, joins, ranks, steps of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard, get_args

from headrace.language import ast, traversal

if TYPE_CHECKING:
    from collections.abc import Sequence

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
