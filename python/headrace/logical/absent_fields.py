"""Hints on fields that a query reads and no row has.

A missing field is null, so a misspelt one gives no error, and no output or a wrong one. The first
rows show which fields of the query are in none of them, and which name is near.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.language.tokens import FOREIGN_CONSTANTS
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Json: TypeAlias = object

Path: TypeAlias = "tuple[str, ...]"

MOST_ROWS = 1000
"""Number of rows that are sampled."""

_MOST_NAMED = 3
_FUNCTIONS = {"length": "len", "size": "len", "mean": "avg"}


def unmet(paths: Iterable[Path], rows: Iterable[Json]) -> list[Path]:
    """Return the shortest paths that no row has; rows are read until all are found.

    >>> unmet([("a",), ("a", "b"), ("a", "b", "c")], [None, {"a": 1}])
    [('a', 'b')]
    """
    left = list(dict.fromkeys(paths))
    for row in rows:
        if not left:
            break
        left = [path for path in left if not _leads(row, path)]
    return [
        path
        for path in left
        if not any(path[:length] in left for length in range(1, len(path)))
    ]


def _leads(row: Json, path: Path) -> bool:
    value = row
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def search_for(path: Path) -> str:
    """Return a query whether any row has a field.

    >>> search_for(("a", "b c"))
    '$.rows().any($["a"].has("b c"))'
    """
    *before, last = (json.dumps(name) for name in path)
    holder = "".join(f"[{name}]" for name in before)
    return f"$.rows().any(${holder}.has({last}))"


@record
class SampledFields:
    """The fields of the first rows of a source: `paths` has the shallowest path to each name.

    `complete`: no other row has a field that these lack.
    """

    paths: Mapping[str, str]
    rows: int
    complete: bool
    source: str | None = None

    @property
    def no_row(self) -> str:
        """The subject of a sentence that all these rows lack a field."""
        of = "" if self.source is None else f" of @{self.source}"
        if self.complete:
            return f"no row{of}"
        return f"none of the first {self.rows:,} rows{of}"


def sampled_fields(
    rows: Iterable[Json], *, complete: bool, source: str | None = None
) -> SampledFields:
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
    return SampledFields(paths, count, complete, source)


@record
class AbsentFields:
    """The paths that a query reads of the rows of a source and no row has, with a sample of them."""

    unmet: Sequence[Path]
    sample: SampledFields

    def told(self, trees: Sequence[ast.Node], *, only_near: bool = False) -> str:
        """Return a message with the nearest names; empty if no field is absent.

        It also names fields that `trees` read at any depth and the sample does not have. With
        `only_near`, it leaves out a field without a near name, which may be in a later row.

        >>> from headrace.language.parser import parse
        >>> sample = sampled_fields([{"id": 1, "who": {"name": "Ada"}}], complete=True)
        >>> AbsentFields([("name",)], sample).told([parse("name")])
        'no row has name (did you mean who.name?)'
        >>> AbsentFields([("who", "len")], sample).told([])
        'no row has who.len (did you mean who.len()?)'
        >>> AbsentFields([], sample).told([parse("who.name")])
        ''
        """
        paths = self.sample.paths
        ends = {path[-1] for path in self.unmet}
        compared = {name for tree in trees for name in _compared(tree)}
        others = [name for tree in trees for name in _names(tree)]
        wanted: list[Path] = [
            *self.unmet,
            *((name,) for name in others if name not in paths and name not in ends),
        ]
        hints = []
        for path in dict.fromkeys(wanted):
            meant = _meant(path, paths, is_compared=path[-1] in compared)
            if meant or not only_near:
                name = ".".join(path)
                hints.append(f"{name} (did you mean {meant}?)" if meant else name)
        if not hints:
            return ""
        more = ["and others"] if len(hints) > _MOST_NAMED else []
        return f"{self.sample.no_row} has {', '.join([*hints[:_MOST_NAMED], *more])}"


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


def _meant(path: Path, paths: Mapping[str, str], *, is_compared: bool) -> str:
    *before, name = path
    if name in paths:
        return paths[name]
    if name in FOREIGN_CONSTANTS:
        return FOREIGN_CONSTANTS[name]
    if called := _function(name):
        return ".".join([*before, called])
    from headrace.suggestion import nearest

    if near := nearest(name, paths):
        return paths[near]
    return f'the text "{name}"' if is_compared else ""
