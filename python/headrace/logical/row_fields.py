"""Row fields: the fields that a query certainly reads of its rows, and those that no row has.

`headrace.logical.methods` may name a field too many, and this module one too few: a field is named
only where the query proves that the value before it is a row, or a part of one. So a note that no
row has the field is never about a value that the query itself made. A field whose absence the query
expects is not named: behind ``?``, in ``has``, ``missing`` and ``is``, before ``??``, and in a
comparison with null.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.language.tokens import FOREIGN_CONSTANTS
from headrace.logical.methods import begins_with_rows, is_chain, is_join
from headrace.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Json: TypeAlias = object


class RowField(NamedTuple):
    """A field of the rows of a source; the main source is None. `path` leads to it."""

    source: str | None
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """The row of a source, or the value under a path of it."""

    source: str | None
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Several rows of a source."""

    source: str | None


@dataclass(frozen=True, slots=True)
class _Groups:
    """An object whose values are several rows of a source."""

    source: str | None


_Value: TypeAlias = "_Part | _Rows | _Groups | None"
"""What is known of a value; None if it may be anything."""


@dataclass(frozen=True, slots=True)
class _Around:
    """``$``, ``@`` and the names at a part of a query."""

    root: _Value
    current: _Value
    names: Mapping[str, _Value] = field(default_factory=dict)

    def about(self, current: _Value) -> _Around:
        return replace(self, current=current)

    def giving(self, names: Mapping[str, _Value]) -> _Around:
        return replace(self, names={**self.names, **names})


_OF_SEVERAL_ROWS = frozenset({
    "compact", "distinct", "distinct_by", "drop", "drop_while", "dropwhile", "filter", "find_all",
    "reverse", "rows", "skip", "sort", "sort_by", "take", "take_while", "takewhile", "unique", "unique_by",
})  # fmt: skip
"""Methods whose elements are elements of the receiver."""

_OF_ONE_ROW = frozenset(
    {"find", "find_first", "find_one", "first", "last", "max_by", "min_by", "nth"}
)
"""Methods that return an element of the receiver, unless they are given a count."""

_EXPECT_ABSENCE = frozenset({"default", "has", "has_key", "has_path", "missing", "or"})


def row_fields(
    tree: ast.Node, *, whole: bool = False, of_each: bool = False
) -> list[RowField]:
    """Return the fields that a query reads of rows, in their order.

    `whole`: ``$`` is the array of all rows. `of_each`: the query is an expression about each row,
    as a key or a condition.

    >>> from headrace.language.parser import parse
    >>> def read(query):
    ...     return [".".join(path) for _, path in row_fields(parse(query))]
    >>> read("{id, n: who.name, e: nick ?? error}")
    ['id', 'who', 'who.name', 'error']
    >>> read("$.rows().filter(a > 1).group_by(b).transform_values(@.sum(c))")
    ['a', 'b', 'c']
    >>> read("$.rows().map({n: v}).sum(n)")
    ['v']
    """
    reader = _Reader()
    main: _Value = _Part(None) if of_each or not whole else _Rows(None)
    reader.value(tree, _Around(main, main))
    return list(dict.fromkeys(reader.found))


@dataclass(slots=True)
class _Reader:
    found: list[RowField] = field(default_factory=list)

    def value(self, node: ast.Node, around: _Around) -> _Value:  # noqa: C901, a table of kinds
        """Record the fields that an expression reads; return what is known of its value."""
        match node:
            case ast.Root():
                return around.root
            case ast.Current():
                return around.current
            case ast.Source(name):
                return _Rows(name)
            case ast.Name(name) if name in around.names:
                return around.names[name]
            case ast.Name(name):
                # Of a value that is no object, the name of a function is a call.
                return None if name in builtins() else self._field(around.current, name)
            case ast.Path() if is_chain(node):
                return None
            case ast.Path(base, steps):
                return self._path(self.value(base, around), steps, around, base)
            case ast.Call(name, (receiver, *others)) if name not in around.names:
                before = self.value(receiver.value, around)
                return self._method(ast.Method(name, tuple(others)), before, around)
            case ast.Call(name, ()) if name not in around.names:
                return self._method(ast.Method(name), around.current, around)
            case ast.Let(bindings, body):
                for binding in bindings:
                    bound = self.value(binding.value, around)
                    around = around.giving(_given(binding.target, bound))
                return self.value(body, around)
            case ast.Lambda(_, body):
                self.value(body, _naming(node, around.about(None)))
            case ast.Pipe(first, stages):
                return self._pipe(self.value(first, around), stages, around)
            case ast.Match(subject, arms):
                self.value(subject, around)
                for arm in arms:
                    self._children(arm, _naming(arm, around))
            case ast.ArrayComprehension() | ast.ObjectComprehension():
                self._comprehension(node, around)
            case ast.Patch(target):
                self.value(target, around)
            case ast.Coalesce((*operands, last)):
                for operand in operands:
                    self._may_be_absent(operand, around)
                self.value(last, around)
            case ast.Try(body, otherwise):
                self._may_be_absent(body, around)
                self.value(otherwise, around)
            case ast.IsKind(operand):
                self._may_be_absent(operand, around)
            case ast.Compare(_, left, right) if _NULL in (left, right):
                for operand in (left, right):
                    self._may_be_absent(operand, around)
            case ast.ObjectLiteral(entries):
                for entry in entries:
                    if isinstance(entry, ast.Shorthand):
                        self.value(ast.Name(entry.name), around)
                    else:
                        self._children(entry, around)
            case _:
                self._children(node, around)
        return None

    def _may_be_absent(self, node: ast.Node, around: _Around) -> None:
        """Record the fields of an expression, unless it is nothing but a field."""
        before = len(self.found)
        if isinstance(self.value(node, around), _Part):
            del self.found[before:]

    def _children(self, part: ast.Located, around: _Around) -> None:
        for child in traversal.children(part):
            self.value(child, around)

    def _field(self, of: _Value, name: str) -> _Value:
        if not isinstance(of, _Part):
            return None
        path = (*of.path, name)
        self.found.append(RowField(of.source, path))
        return _Part(of.source, path)

    def _path(  # noqa: C901, a table of kinds
        self,
        value: _Value,
        steps: Sequence[ast.Step],
        around: _Around,
        base: ast.Node,
    ) -> _Value:
        if isinstance(base, ast.Root) and begins_with_rows(steps):
            # In these steps ``$`` is the row.
            value, around = _Rows(None), replace(around, root=_Part(None))
        for at, step in enumerate(steps):
            match step:
                case ast.Field(name, optional):
                    value = None if optional else self._field(value, name)
                case ast.Method():
                    value = self._method(step, value, around)
                case ast.Index():
                    value = _element(value)
                case ast.Slice():
                    value = value if isinstance(value, _Rows) else None
                case ast.InlineFilter(predicate):
                    self.value(predicate, around.about(_element(value)))
                    value = value if isinstance(value, _Rows) else None
                case ast.Each():
                    element = around.about(_element(value))
                    self._children(step, element)
                    if step.body is None:
                        self._path(element.current, steps[at + 1 :], element, _NULL)
                    return None
                case ast.Computed(key):
                    self.value(key, around)
                    value = None
                case _:
                    self._children(step, around.about(None))
                    value = None
        return value

    def _method(self, step: ast.Method, before: _Value, around: _Around) -> _Value:
        name, args = step.name, step.args
        element = _element(before)
        if name in _EXPECT_ABSENCE:
            return None
        if is_join(step):
            return self._join(step, before, around)
        if name in ("group", "aggregate"):
            self._grouping(step, before, around)
            return None
        if isinstance(before, _Groups) and name == "transform_values":
            for arg in args:
                self._each(arg.value, around.about(_Rows(before.source)))
            return None
        self._arguments(step, before, around)
        if not isinstance(before, _Rows):
            return None
        if name in _OF_SEVERAL_ROWS or (name in ("first", "last") and args):
            return before
        if name in _OF_ONE_ROW:
            return element
        return _Groups(before.source) if name == "group_by" else None

    def _arguments(self, step: ast.Method, before: _Value, around: _Around) -> None:
        builtin = builtins().get(step.name)
        for position, arg in enumerate(step.args):
            parameter = None if builtin is None else builtin.parameter(position)
            kind = "value" if parameter is None else parameter.kind
            if kind == "value":
                self.value(arg.value, around)
            elif kind != "name":
                self._each(arg.value, around.about(_element(before)))
            elif step.name == "pick" and isinstance(arg.value, ast.Name):
                self._field(before, arg.value.name)

    def _each(self, argument: ast.Node, around: _Around) -> None:
        """Record what an argument reads of each element, which is ``@``."""
        match argument:
            case ast.Lambda((ast.Variable(name),), body):
                self.value(body, around.giving({name: around.current}))
            case _:
                self.value(argument, around)

    def _join(self, step: ast.Method, before: _Value, around: _Around) -> _Value:
        from headrace.logical.encode.joins import join_call

        call = join_call(step.name, step.args)
        if isinstance(call, str):
            return None
        other = self.value(call.other, around)
        self._each(call.on, around.about(_element(before)))
        self._each(call.right_on, around.about(_element(other)))
        return before if call.kind in ("diff", "intersect") else None

    def _grouping(self, step: ast.Method, before: _Value, around: _Around) -> None:
        from headrace.logical.grouping import Grouping, grouping_of

        meant = grouping_of(step.name, step.args, step)
        if not isinstance(meant, Grouping) or not isinstance(before, _Rows):
            return
        for _name, key in meant.keys:
            self._each(key, around.about(_element(before)))
        self.value(meant.aggregates, around.about(before))

    def _pipe(
        self, value: _Value, stages: Sequence[ast.Node | ast.Bind], around: _Around
    ) -> _Value:
        for stage in stages:
            if isinstance(stage, ast.Bind):
                around = around.giving(_given(stage.target, value))
            elif isinstance(stage, ast.Name) and stage.name in builtins():
                # A function named alone is called.
                value = self._method(ast.Method(stage.name), value, around)
            else:
                value = self.value(stage, around.about(value))
        return value

    def _comprehension(
        self, node: ast.ArrayComprehension | ast.ObjectComprehension, around: _Around
    ) -> None:
        for loop in node.loops:
            source = self.value(loop.source, around)
            around = around.about(None).giving(dict.fromkeys(loop.names))
            if len(loop.names) == 1:
                around = around.giving({loop.names[0]: _element(source)})
            for condition in loop.conditions:
                self.value(condition, around)
        if isinstance(node, ast.ArrayComprehension):
            self.value(node.item, around)
        else:
            self.value(node.key, around)
            self.value(node.value, around)


_NULL = ast.Literal(None)


def _element(value: _Value) -> _Value:
    """Return what is known of the elements of a value."""
    return _Part(value.source) if isinstance(value, _Rows) else None


def _given(
    target: ast.Variable | ast.Items | ast.Fields, value: _Value
) -> dict[str, _Value]:
    if isinstance(target, ast.Variable):
        return {target.name: value}
    return dict.fromkeys(traversal.names_given(target))


def _naming(part: ast.Located, around: _Around) -> _Around:
    """Return the context with the names that a part gives to unknown values."""
    return around.giving(dict.fromkeys(traversal.names_given(part)))


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

    def message(self, trees: Sequence[ast.Node], *, only_near: bool = False) -> str:
        """Return a message with the nearest names; empty if no field is absent.

        It also names fields that `trees` read at any depth and the sample does not have. With
        `only_near`, it leaves out a field without a near name, which may be in a later row.

        >>> from headrace.language.parser import parse
        >>> sample = sampled_fields([{"id": 1, "who": {"name": "Ada"}}], complete=True)
        >>> AbsentFields([("name",)], sample).message([parse("name")])
        'no row has name (did you mean who.name?)'
        >>> AbsentFields([("who", "len")], sample).message([])
        'no row has who.len (did you mean who.len()?)'
        >>> AbsentFields([], sample).message([parse("who.name")])
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
