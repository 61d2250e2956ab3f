"""Hints on fields that a query reads and no row has.

A missing field is null, so a misspelt one gives no error and often no output. After a run
without output, the first rows show which fields of the query are in none of them, and which
name is near.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

from headrace.kernel.builtins import builtins
from headrace.language import ast, traversal
from headrace.language.tokens import FOREIGN_CONSTANTS
from headrace.logical.demand import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.logical.demand import Fields

    Json: TypeAlias = object

MOST_ROWS = 1000
"""Number of rows that are sampled."""

_MOST_NAMED = 3
_FUNCTIONS = {"length": "len", "size": "len", "mean": "avg"}


@dataclass(frozen=True, slots=True)
class SampledFields:
    """The fields of the first rows: `paths` has the shallowest path to each name.

    `complete`: there are no other rows.
    """

    paths: Mapping[str, str]
    rows: int
    complete: bool

    @property
    def no_row(self) -> str:
        """The subject of a sentence that all these rows lack a field."""
        return "no row" if self.complete else f"none of the first {self.rows:,} rows"


def sampled_fields(rows: Iterable[Json], *, complete: bool) -> SampledFields:
    """Return the fields of a sample of rows.

    >>> dict(sampled_fields([{"who": {"name": 1}}], complete=True).paths)
    {'who': 'who', 'name': 'who.name'}
    """
    paths: dict[str, str] = {}
    layer: list[tuple[str, Json]] = [("", row) for row in rows]
    count = len(layer)
    while layer:
        below: list[tuple[str, Json]] = []
        for path, value in layer:
            if isinstance(value, dict):
                for name, inner in value.items():
                    own = f"{path}.{name}" if path else name
                    paths.setdefault(name, own)
                    if isinstance(inner, dict | list):
                        below.append((own, inner))
            elif isinstance(value, list):
                below += [(f"{path or '$'}[*]", each) for each in value]
        layer = below
    return SampledFields(paths, count, complete)


def absent_fields(
    tree: ast.Node, of_row: Fields, sample: SampledFields, *, printed: bool = False
) -> str:
    """Return a message that names the fields of a query which no row has, with the nearest names.

    `of_row`: the fields that the query reads of the row itself. After a run that `printed`
    answers, the message names only fields with the names of functions: their parentheses are missing.

    >>> from headrace.language.parser import parse
    >>> sample = sampled_fields([{"id": 1, "who": {"name": "Ada"}}], complete=True)
    >>> absent_fields(parse("name"), frozenset({"name"}), sample)
    'no row has name (did you mean who.name?)'
    >>> absent_fields(parse("{id, n: who.len}"), None, sample, printed=True)
    'no row has len (did you mean len()?)'
    >>> absent_fields(parse("who.name"), frozenset({"who"}), sample)
    ''
    """
    compared = _compared(tree)
    at_top = NOTHING if printed or of_row is None else of_row
    names = _called_fields(tree) if printed else [*sorted(at_top), *_names(tree)]
    hints = []
    for name in dict.fromkeys(names):
        path = sample.paths.get(name)
        if path is None or (path != name and name in at_top):
            meant = _meant(name, path, sample.paths, is_compared=name in compared)
            hints.append(f"{name} (did you mean {meant}?)" if meant else name)
    if not hints:
        return ""
    more = ["and others"] if len(hints) > _MOST_NAMED else []
    return f"{sample.no_row} has {', '.join([*hints[:_MOST_NAMED], *more])}"


def reads_called_fields(tree: ast.Node) -> bool:
    """Whether a query reads fields with the names of functions."""
    return bool(_called_fields(tree))


def _called_fields(tree: ast.Node) -> list[str]:
    """Return the fields of a path from the row that have names of functions."""
    given = {
        name for node in traversal.walk(tree) for name in traversal.names_given(node)
    }
    found: list[str] = []
    for node in traversal.walk(tree):
        match node:
            case ast.Path(ast.Name(name)) if name in given:
                pass
            case ast.Path(ast.Root() | ast.Current() | ast.Name(), steps):
                path = takewhile(lambda step: isinstance(step, ast.Field), steps)
                found += _fields(path)
            case _:
                pass
    return [name for name in found if _function(name)]


def _names(tree: ast.Node) -> list[str]:
    """Return the fields that a query reads at any depth, without those that it constructs."""
    read: dict[str, None] = {}
    made: set[str] = set()
    for node in traversal.walk(tree):
        made.update(traversal.names_given(node))
        match node:
            case ast.Name(name):
                read[name] = None
            case ast.Path(_, steps):
                read.update(dict.fromkeys(_fields(steps)))
            case ast.ObjectLiteral(entries):
                for entry in entries:
                    if isinstance(entry, ast.Entry):
                        made.add(entry.key)
                    elif isinstance(entry, ast.Shorthand):
                        read[entry.name] = None
            case ast.Pipe(_, stages):
                # A function named alone is called there.
                made.update(each.name for each in stages if isinstance(each, ast.Name))
            case _:
                pass
    return [name for name in read if name not in made]


def _fields(steps: Iterable[ast.Step]) -> list[str]:
    return [step.name for step in steps if isinstance(step, ast.Field)]


def _compared(tree: ast.Node) -> set[str]:
    """Return the bare names on the right side of ``==``: their quotes may be missing."""
    return {
        node.right.name
        for node in traversal.walk(tree)
        if isinstance(node, ast.Compare) and isinstance(node.right, ast.Name)
    }


def _function(name: str) -> str:
    """Return the call that a field of this name probably is."""
    if name == "rows":
        return "$.rows()"
    name = _FUNCTIONS.get(name, name)
    return f"{name}()" if name in builtins() else ""


def _meant(
    name: str, path: str | None, paths: Mapping[str, str], *, is_compared: bool
) -> str:
    if path is not None:
        return path
    if name in FOREIGN_CONSTANTS:
        return FOREIGN_CONSTANTS[name]
    if called := _function(name):
        return called
    from headrace.suggestion import nearest

    if near := nearest(name, paths):
        return paths[near]
    return f'the text "{name}"' if is_compared else ""
