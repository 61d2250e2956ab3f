"""Inlining of names: constants, functions and streams take the place of their names.

``let t = 9 in $.rows().filter(v > t).count()`` becomes a single path over the rows, and so does a
conditional with a constant test. The remaining names are those of values that depend on rows.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from headrace.language import ast, traversal
from headrace.logical.methods import is_rows, is_write
from headrace.logical.named_sources import closed_steps, is_closed
from headrace.logical.names import visibility
from headrace.logical.names.constants import Constants
from headrace.logical.names.visibility import Around, Known
from headrace.logical.normal_form import one_path
from headrace.logical.shape import stream_steps
from headrace.logical.totality import cannot_fail
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_NESTING = (ast.Pipe, ast.Let, ast.Conditional, ast.Try, ast.Coalesce, ast.Match)


def simplified(tree: ast.Node, *, whole: bool) -> ast.Node:
    """Return an equivalent query with names inlined.

    `whole`: ``$`` is the array of all rows.

    >>> from headrace.language.parser import parse
    >>> from headrace.language.unparse import unparse
    >>> for query in (
    ...     "let s = $.rows().filter(a) in {n: s.count(), first: s.map($.b).first()}",
    ...     "9 -> t | $.rows().filter(a > t)",
    ...     "$.rows().take(3) if 2 > 1 else null",
    ... ):
    ...     print(unparse(simplified(parse(query), whole=False)))
    {n: $.rows().filter(a).count(), first: $.rows().filter(a).map($.b).first()}
    $.rows().filter(a > 9)
    $.rows().take(3)
    """
    return _Simplifier(tree, whole=whole).of(tree, Around())


class _Simplifier:
    def __init__(self, tree: ast.Node, *, whole: bool) -> None:
        self._whole = whole
        self._used: set[str] = set()
        self._fresh = 0
        given = (traversal.names_given(node) for node in traversal.walk(tree))
        self._constants = Constants(frozenset(chain.from_iterable(given)))

    def of(self, node: ast.Node, around: Around) -> ast.Node:
        """Return an expression with all its parts simplified."""
        match node:
            case ast.Name():
                return self._in_place(node, around)
            case ast.Path(ast.Name() as name, steps):
                return self._path(node, self._in_place(name, around), steps, around)
            case ast.ObjectLiteral(entries):
                spelled = tuple(self._spelled(entry, around) for entry in entries)
                return visibility.rebuilt(
                    replace(node, entries=spelled), around, self.of
                )
            case ast.Let(bindings, body):
                values = (
                    lambda around, each=each: self.of(each.value, around)
                    for each in bindings
                )
                return self._let(node, bindings, values, body, around)
            case ast.Call(name, args) if name in around.known:
                function, own_name = around.known[name]
                self._used.add(own_name)
                given = [replace(arg, value=self.of(arg.value, around)) for arg in args]
                define = ast.Binding(ast.Variable(own_name), function, span=node.span)
                call = replace(node, name=own_name, args=tuple(given))
                return ast.Let((define,), call, span=node.span)
            case ast.Pipe() if (found := self._named_first(node, around)) is not None:
                return found
            case _:
                return self._chosen(visibility.rebuilt(node, around, self.of), around)

    def _chosen(self, node: ast.Node, around: Around) -> ast.Node:
        """Return the part of an expression that is its value for all rows, if it is known."""
        match node:
            case ast.Pipe(first, (ast.Path() | ast.Root() as stage, *rest)) if (
                self._known(stage, around) is not None
                and self._constants.value(first) is not None
            ):
                # The stage does not use the value before it.
                pipe = replace(node, first=stage, stages=tuple(rest))
                return self._chosen(pipe, around) if rest else stage
            case ast.Conditional(test, then, otherwise):
                value = self._constants.value(test)
                if value is not None:
                    return then if value.value else otherwise
            case ast.Coalesce((first, *_)) if self._is_never_null(first):
                return first
            case ast.Try(body) if self._is_never_null(body) and cannot_fail(body):
                return body
        return node

    def _spelled(
        self, entry: ast.Located, around: Around
    ) -> ast.Entry | ast.ComputedEntry | ast.Shorthand | ast.Spread:
        """Return an entry ``{name}`` with the known value of the name."""
        match entry:
            case ast.Shorthand(name) if name in around.known:
                value = ast.Name(name, span=entry.span)
                return ast.Entry(name, value, optional=True, span=entry.span)
            case _:
                return entry  # type: ignore[return-value]

    def _in_place(self, node: ast.Name, around: Around) -> ast.Node:
        """Return the value of a name if it can be inlined, else the name."""
        if node.name not in around.known:
            return node
        value, own_name = around.known[node.name]
        # A stream in a stage of another one is computed before, under its name.
        inside = around.stage != "none" and _is_about_main(value)
        # A name of a field in it would be that of a value here.
        captured = visibility.free_names(value) & around.names
        if inside or captured or (around.is_key and isinstance(value, ast.Literal)):
            return ast.Name(own_name, span=node.span)
        self._used.add(own_name)
        return value

    def _path(
        self,
        node: ast.Path,
        base: ast.Node,
        steps: Sequence[ast.Step],
        around: Around,
    ) -> ast.Path:
        before: tuple[ast.Step, ...] = ()
        match base:
            # Behind [*], all steps would apply to each element.
            case ast.Path(root, first) if not any(map(_maps_rest, first)):
                base, before = root, first
        of_rows = is_rows(ast.Path(base, (*before, *steps)))
        further = visibility.steps(steps, around, self.of, of_rows=of_rows)
        return ast.Path(base, (*before, *further), span=node.span)

    def _let(
        self,
        node: ast.Let,
        bindings: Sequence[ast.Binding],
        values: Iterable[Callable[[Around], ast.Node]],
        body: ast.Node,
        around: Around,
    ) -> ast.Node:
        kept: list[tuple[ast.Binding, str | None]] = []
        for binding, of in zip(bindings, values, strict=True):
            value = of(around)
            match binding.target, self._known(value, around):
                case ast.Variable(name), ast.Located() as found:
                    self._fresh += 1
                    known = Known(found, f"{name}'{self._fresh}")
                    target = ast.Variable(known.name, span=binding.target.span)
                    new = replace(binding, target=target, value=value)
                    kept.append((new, known.name))
                    around = around.knowing(name, known)
                case _:
                    kept.append((replace(binding, value=value), None))
                    around = around.giving(traversal.names_given(binding))
        body = self.of(body, around)
        # From the last to the first: a value that only unneeded values use is not needed either.
        left: list[ast.Binding] = []
        needed = visibility.free_names(body)
        for binding, in_place in reversed(kept):
            used = in_place is not None and (
                in_place in self._used
                or self._constants.value(binding.value) is not None
            )
            if used and in_place not in needed:
                continue
            left.insert(0, binding)
            needed |= visibility.free_names(binding.value)
        return replace(node, bindings=tuple(left), body=body) if left else body

    def _named_first(self, node: ast.Pipe, around: Around) -> ast.Node | None:
        """Return a pipe that names a known value as the equivalent ``let``."""
        at = next(
            (at for at, each in enumerate(node.stages) if isinstance(each, ast.Bind)),
            None,
        )
        if at is None or any(map(_writes, (node.first, *node.stages))):
            return None
        bind = node.stages[at]
        if not isinstance(bind, ast.Bind) or not isinstance(bind.target, ast.Variable):
            return None
        before, after = node.stages[:at], node.stages[at + 1 :]
        first = replace(node, stages=before) if before else node.first
        if any(isinstance(part, _NESTING) for part in traversal.walk(node.first)):
            return None
        value = one_path(self.of(first, around))
        if self._known(value, around) is None:
            return None
        name = ast.Name(bind.target.name, span=bind.span)
        stages: tuple[ast.Node | ast.Bind, ...] = (name, *after)
        names = around.names | {name.name}
        if (
            after
            and ast.is_node(after[0])
            and not visibility.uses_current(after[0], names)
        ):
            # The next stage does not use ``@``.
            stages = after
        body = _piped(stages, node.span)
        binding = ast.Binding(bind.target, first, span=bind.span)
        let = ast.Let((binding,), body, span=node.span)
        return self._let(let, [binding], [lambda _: value], body, around)

    def _known(self, value: ast.Node, around: Around) -> ast.Node | None:
        """Return a value that may be inlined; None if it may not."""
        match value:
            case ast.Root() if self._whole and around.stage == "none":
                return value
            case ast.Path(ast.Root(), steps) if self._whole or is_rows(value):
                closed = closed_steps(steps, around.names) == len(steps)
                writes = any(map(is_write, steps))
                if closed and stream_steps(steps) and not writes:
                    return value
                return None
            case ast.Lambda():
                alone = not traversal.names_used(value) & around.names
                return value if alone and not _is_about_main(value) else None
            case _:
                if is_closed(value, around.names):
                    return value
                return self._constants.inlined(value)

    def _is_never_null(self, node: ast.Node) -> bool:
        """Whether an expression over the rows is never null."""
        match node:
            case ast.Path(ast.Root(), (*_, last) as steps) if self._whole or is_rows(
                node
            ):
                counts = isinstance(last, ast.Method) and last.name == "count"
                return stream_steps(steps) or counts
            case ast.Root():
                return self._whole
            case _:
                value = self._constants.value(node)
                return value is not None and value.value is not None


def _piped(stages: Sequence[ast.Node | ast.Bind], span: ast.Span) -> ast.Node:
    first, *rest = stages
    if not ast.is_node(first):
        raise AssertionError(first)
    return ast.Pipe(first, tuple(rest), span=span) if rest else first


def _maps_rest(step: ast.Step) -> bool:
    return isinstance(step, ast.Each) and step.body is None


def _writes(node: ast.Node | ast.Bind) -> bool:
    return isinstance(node, ast.Path) and any(map(is_write, node.steps))


def _is_about_main(node: ast.Node) -> bool:
    return any(isinstance(part, ast.Root) for part in traversal.walk(node))
