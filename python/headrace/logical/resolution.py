"""Resolution: from the tree of a query to the tree that is planned and compiled.

Both have the same meaning. In the second, arguments are in the order of their parameters, and
lambdas capture values explicitly. Planning, demand and compilation use the second one only.

A lambda or a loop names the element and does not change ``@``: in ``xs.filter(x => x > k)``
``k`` is the same field as in front of the call. The core evaluates lambdas with the element as
``@``, so `with_outer_names` replaces captured values: by ``$`` at the top of the query, elsewhere
by a variable. In its result, no lambda and no loop refers to the ``@`` of the core.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from headrace.kernel.values import builtins
from headrace.language import ast, traversal
from headrace.language.parser import parse
from headrace.language.tokens import UNBOUND
from headrace.logical.methods import (
    DEEP,
    begins_with_rows,
    first_write,
    go_on,
    is_chain,
    is_join,
)
from headrace.record import field, mutable_record, record, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    _Change: TypeAlias = Callable[[ast.Node], ast.Node]
    _Entry: TypeAlias = ast.Entry | ast.ComputedEntry | ast.Shorthand | ast.Spread
    from headrace.language.ast import Node
    from headrace.language.tokens import Bindings


def read_query(query: str, bindings: Bindings = UNBOUND) -> Node:
    """Return the tree of a query, to plan and compile it.

    >>> from headrace.language.unparse import unparse
    >>> unparse(read_query("s.replace(with: '-', part: ' ') where s"))
    's.replace(" ", "-") if s else null'
    """
    tree = parse(query, bindings=bindings)
    if any(isinstance(node, ast.Call | ast.Path) for node in traversal.walk(tree)):
        from headrace.logical.encode.arguments import in_order

        tree = in_order(query, tree)
    return with_outer_names(tree)


_OWN_SCOPE = frozenset({"modify", "update"})
"""Methods whose argument has the old value as ``@``, also in a lambda."""

_NO_RECEIVER = frozenset({"now"})


def with_outer_names(tree: ast.Node) -> ast.Node:
    """Return a query whose lambdas and loops capture values explicitly.

    >>> from headrace.language.parser import parse
    >>> from headrace.language.unparse import unparse
    >>> unparse(with_outer_names(parse("xs.filter(x => x > k)")))
    'xs.filter(x => x > $.k)'
    >>> unparse(with_outer_names(parse("us.map([x + k for x in xs])")))
    'us.map(let _k = k in [x + _k for x in xs])'
    """
    used = {node.name for node in traversal.walk(tree) if isinstance(node, ast.Name)}
    used |= {
        name for node in traversal.walk(tree) for name in traversal.names_given(node)
    }
    region = _Region(used, is_root=True)
    return _Inside(region, frozenset()).node(tree)


@mutable_record
class _Region:
    """A part of the query with one ``@``; `taken` are the variables for captured values.

    `is_root`: ``$`` is this ``@`` as well.
    """

    used: set[str]
    is_root: bool
    taken: dict[str | None, tuple[str, ast.Span]] = field(default_factory=dict)

    def outer(self, name: str | None, span: ast.Span) -> ast.Node:
        """Return the expression for a captured field of the region's ``@``, or for all of it."""
        if self.is_root:
            root = ast.Root(span=span)
            if name is None:
                return root
            return ast.Path(root, (ast.Field(name, span=span),), span=span)
        if name not in self.taken:
            wanted = f"_{name or 'at'}"
            several = (f"{wanted}{number or ''}" for number in count())
            variable = next(each for each in several if each not in self.used)
            self.taken[name] = variable, span
            self.used.add(variable)
        return ast.Name(self.taken[name][0], span=span)

    def around(self, body: ast.Node) -> ast.Node:
        """Return the body of the region with bindings of its captured values."""
        if not self.taken:
            return body
        bindings = [
            ast.Binding(
                ast.Variable(variable),
                ast.Current(span=span) if name is None else ast.Name(name, span=span),
                span=body.span,
            )
            for name, (variable, span) in self.taken.items()
        ]
        return ast.Let(tuple(bindings), body, span=body.span)


@record
class _Inside:
    """Walk through one region; `named`: inside a lambda or a loop of it.

    `written`: names of documents after writes, which further writes continue.
    """

    region: _Region
    names: frozenset[str]
    named: bool = False
    written: frozenset[str] = frozenset()

    def node(self, node: ast.Node) -> ast.Node:  # noqa: C901, a table of kinds
        match node:
            case ast.Current() if self.named:
                return self.region.outer(None, node.span)
            case ast.Name(name) if self.named and name not in self.names:
                return self.region.outer(name, node.span)
            case ast.Path(base):
                by_name = isinstance(base, ast.Name) and base.name in self.written
                return self._path(node, changes=by_name or is_chain(node))
            case ast.Call():
                return self._call(node)
            case ast.Lambda():
                return self._lambda(node)
            case ast.Let():
                return self._let(node)
            case ast.Pipe():
                return self._pipe(node)
            case ast.Match(subject, arms):
                found = tuple(self._arm(arm) for arm in arms)
                return replace(node, subject=self.node(subject), arms=found)
            case ast.ObjectLiteral(entries):
                made_entries = tuple(self._entry(entry) for entry in entries)
                return replace(node, entries=made_entries)
            case ast.ArrayComprehension(item, loops):
                inner, loops = self._loops(loops)
                return replace(node, item=inner.node(item), loops=loops)
            case ast.ObjectComprehension(key, value, loops):
                inner, loops = self._loops(loops)
                key, value = inner.node(key), inner.node(value)
                return replace(node, key=key, value=value, loops=loops)
            case ast.Patch(target, writes):
                changed = tuple(traversal.rebuilt(each, self._apart) for each in writes)
                return replace(node, target=self.node(target), writes=changed)
            case _:
                return traversal.rebuilt(node, self.node)

    def _knowing(self, names: Iterable[str], *, named: bool = False) -> _Inside:
        known = frozenset(names)
        return _Inside(
            self.region, self.names | known, named or self.named, self.written - known
        )

    def _apart(self, node: ast.Node, *, row_is_root: bool = False) -> ast.Node:
        """Return a part in which ``@`` is another value."""
        if isinstance(node, ast.Negate):
            # As a key of `sort`, it has to stay one.
            operand = self._apart(node.operand, row_is_root=row_is_root)
            return replace(node, operand=operand)
        return self._around(row_is_root=row_is_root, change=lambda new: new.node(node))

    def _around(
        self, change: Callable[[_Inside], ast.Node], *, row_is_root: bool = False
    ) -> ast.Node:
        region = _Region(self.region.used, is_root=row_is_root)
        return region.around(change(_Inside(region, self.names, written=self.written)))

    # Steps and arguments

    def _path(self, node: ast.Path, *, changes: bool) -> ast.Path:
        """Return a path; `changes`: its writes change a document."""
        base, steps = node.base, node.steps
        written: list[ast.Step] = []
        while changes and (found := first_write(steps)) is not None:
            path, write = found
            steps = steps[len(path) + 1 :]
            written += self._steps(path, row_is_root=False)
            own = [replace(arg, value=self._own(arg.value)) for arg in write.args]
            # The arguments of `unset` are keys.
            written.append(
                write if write.name == "unset" else replace(write, args=tuple(own))
            )
        rows = isinstance(base, ast.Root) and begins_with_rows(steps)
        made = self._steps(steps, row_is_root=rows)
        return replace(node, base=self.node(base), steps=(*written, *made))

    def _steps(
        self, steps: Sequence[ast.Step], *, row_is_root: bool
    ) -> Iterator[ast.Step]:
        mapped = False
        for step in steps:
            yield self._step(step, mapped=mapped, row_is_root=row_is_root)
            mapped = mapped or isinstance(step, ast.Each)

    def _step(self, step: ast.Step, *, mapped: bool, row_is_root: bool) -> ast.Step:
        # In a stage of ``$.rows()`` a lambda captures from the row, in every context of the path.
        row = _Region(self.region.used, is_root=True)
        stage = replace(self, region=row) if row_is_root else self

        def each(node: ast.Node) -> ast.Node:
            return stage._each(node, row_is_root=row_is_root)

        # Behind ``[*]``, ``@`` is the element.
        value = self._apart if mapped else self.node
        match step:
            case ast.Method(name, args) if name in _OWN_SCOPE:
                own = [replace(arg, value=self._own(arg.value)) for arg in args]
                return replace(step, args=tuple(own))
            case ast.Method() if is_join(step):
                made = [
                    replace(
                        arg,
                        value=value(arg.value)
                        if arg.name in (None, "as")
                        else self._key(arg.value),
                    )
                    for arg in step.args
                ]
                return replace(step, args=tuple(made))
            case ast.Method(name, args) | ast.DeepMethod(name, args):
                core = (
                    DEEP.get(name, name) if isinstance(step, ast.DeepMethod) else name
                )
                several = self._args(core, args, value, each)
                return replace(step, args=several)
            case ast.InlineFilter() | ast.Each():
                return traversal.rebuilt(step, each)
            case ast.DeepMatch(arms):
                found = [
                    traversal.rebuilt(arm, self._around_arm(arm)._apart) for arm in arms
                ]
                return replace(step, arms=tuple(found))
            case _:
                return traversal.rebuilt(step, value)

    def _args(
        self,
        name: str,
        args: Sequence[ast.Arg],
        value: _Change,
        each: _Change,
        first: int = 0,
    ) -> tuple[ast.Arg, ...]:
        """Return arguments; those before `first` are a receiver."""
        builtin = None if name in self.names else builtins().get(name)
        made = []
        for position, arg in enumerate(args):
            place = position - first
            parameter = (
                builtin.parameter(place) if builtin is not None and place >= 0 else None
            )
            kind = "value" if parameter is None else parameter.kind
            change = value
            if kind == "each" or (
                kind == "either" and self._is_about_element(arg.value)
            ):
                change = each
            itself = kind == "name" and isinstance(arg.value, ast.Name)
            made.append(arg if itself else replace(arg, value=change(arg.value)))
        return tuple(made)

    def _is_about_element(self, node: ast.Node) -> bool:
        return isinstance(node, ast.Lambda) or any(
            isinstance(part, ast.Current)
            or (isinstance(part, ast.Name) and part.name not in self.names)
            for part in traversal.walk(node)
        )

    def _each(self, node: ast.Node, *, row_is_root: bool) -> ast.Node:
        """Return an argument that is evaluated for each element."""
        if isinstance(node, ast.Lambda):
            return self._lambda(node)
        if isinstance(node, ast.Name):
            return node
        return self._apart(node, row_is_root=row_is_root)

    def _key(self, node: ast.Node) -> ast.Node:
        """Return the key of a join; each side has its element as ``@``."""
        match node:
            case ast.Compare() | ast.And() | ast.ArrayLiteral():
                return traversal.rebuilt(node, self._key)
            case _:
                return self._each(node, row_is_root=False)

    def _own(self, node: ast.Node) -> ast.Node:
        """Return the argument of a write, with the expression of each field."""
        match node:
            case ast.Lambda(_, body):
                inner = self._knowing(traversal.names_given(node))
                return replace(node, body=inner._apart(body))
            case ast.ObjectLiteral():
                return traversal.rebuilt(node, self._apart)
            case _:
                return self._apart(node)

    def _call(self, node: ast.Call) -> ast.Node:
        name, args = node.name, node.args
        if not args:
            known = name in builtins() and name not in self.names
            if not (self.named and known) or name in _NO_RECEIVER:
                return node
            receiver = ast.Arg(self.region.outer(None, node.span), span=node.span)
            return replace(node, args=(receiver,))
        if is_join(node):
            first, *rest = args
            step = self._step(
                ast.Method(name, tuple(rest)), mapped=False, row_is_root=False
            )
            assert isinstance(step, ast.Method)
            receiver = replace(first, value=self.node(first.value))
            return replace(node, args=(receiver, *step.args))

        def each(argument: ast.Node) -> ast.Node:
            return self._each(argument, row_is_root=False)

        return replace(node, args=self._args(name, args, self.node, each, first=1))

    # Names

    def _lambda(self, node: ast.Lambda) -> ast.Lambda:
        inner = self._knowing(traversal.names_given(node), named=True)
        return replace(node, body=inner.node(node.body))

    def _let(self, node: ast.Let) -> ast.Node:
        inner = self
        bindings = []
        for binding in node.bindings:
            bindings.append(replace(binding, value=inner.node(binding.value)))
            inner = inner._knowing(traversal.names_given(binding))
            if is_chain(binding.value) and isinstance(binding.target, ast.Variable):
                written = inner.written | {binding.target.name}
                inner = replace(inner, written=written)
        return replace(node, bindings=tuple(bindings), body=inner.node(node.body))

    def _pipe(self, node: ast.Pipe) -> ast.Node:
        inner = self
        first = node.first
        goes_on = go_on(node.stages[0], first)
        stages: list[ast.Node | ast.Bind] = []
        for stage in node.stages:
            if isinstance(stage, ast.Bind):
                inner = inner._knowing(traversal.names_given(stage))
                stages.append(stage)
            elif goes_on and isinstance(stage, ast.Path) and go_on(stage, first):
                stages.append(inner._further(stage))
            elif isinstance(stage, ast.Name):
                stages.append(stage)
            else:
                stages.append(inner._apart(stage))
        if goes_on and isinstance(first, ast.Path):
            begun: ast.Node = self._path(first, changes=True)
        else:
            begun = self.node(first)
        return replace(node, first=begun, stages=tuple(stages))

    def _further(self, stage: ast.Path) -> ast.Node:
        """Return a stage that continues the write of the stage before."""
        return self._around(lambda new: new._path(stage, changes=True))

    def _around_arm(self, arm: ast.Arm) -> _Inside:
        return self._knowing(traversal.names_given(arm))

    def _arm(self, arm: ast.Arm) -> ast.Arm:
        return traversal.rebuilt(arm, self._around_arm(arm).node)

    def _entry(self, entry: _Entry) -> _Entry:
        match entry:
            case ast.Shorthand(name) if self.named and name not in self.names:
                value = self.region.outer(name, entry.span)
                return ast.Entry(name, value, optional=True, span=entry.span)
            case _:
                return traversal.rebuilt(entry, self.node)

    def _loops(self, loops: Sequence[ast.For]) -> tuple[_Inside, tuple[ast.For, ...]]:
        inner = self
        made = []
        for loop in loops:
            source = inner.node(loop.source)
            inner = inner._knowing(loop.names, named=True)
            conditions = tuple(inner.node(each) for each in loop.conditions)
            made.append(replace(loop, source=source, conditions=conditions))
        return inner, tuple(made)
