"""Compiling a query into a program for the core.

Names are resolved here, and here only: a bare name is the innermost variable of
that name, else a field of ``@``; a call is a builtin, or an error before any row
is read. Constructs with several spellings have one form in the program: an inline filter is
`filter`, ``has`` is `includes`, ``[*].a`` is `map`, and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import QueryMeaningError
from headrace.kernel.values import builtins
from headrace.language import ast
from headrace.logical.encode.program import (
    KINDS,
    OPERATORS,
    TARGETS,
    Id,
    Macro,
    ProgramWriter,
    Scope,
    Tag,
    Written,
    constant,
    flag,
    many,
    number,
    option,
    text,
)
from headrace.logical.methods import (
    GIVES_ELEMENTS,
    is_chain,
    is_rows,
    is_update,
    is_write,
)
from headrace.record import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


def compile_query(
    source: str,
    tree: ast.Node,
    sources: Mapping[str, int] | None = None,
    *,
    strict: bool = False,
) -> bytes:
    """Return the program of a query; `source` is its text, for errors.

    `sources`: the numbers of the results of named sources in the program.
    `strict`: a value of a kind that an operation does not take is an error.
    """
    compiler = Compiler(source, sources or {})
    compiler.writer.strict = strict
    compiler.expression(tree, Scope())
    return compiler.writer.finish()


def unknown_source(
    query: str, name: str, offset: int, known: Iterable[str] = ()
) -> QueryMeaningError:
    """Return the error for an unknown source; `known` are the names of sources."""
    from headrace.suggestion import nearest

    if near := nearest(name, known):
        hint = f"did you mean @{near}?"
        return QueryMeaningError(query, offset, f"there is no source @{name}", hint)
    hint = f"name it: --name {name}=FILE, or names={{'{name}': ...}} in Python"
    return QueryMeaningError(query, offset, f"there is no source @{name}", hint)


class LongChain:
    """A chain of any length that is not deep: every 200 links its value gets a name."""

    _LENGTH = 200

    def __init__(self, compiler: Compiler, span: ast.Span) -> None:
        self._compiler = compiler
        self._span = span
        self._count = 0
        self._named: list[tuple[int, Id]] = []

    def next(self, value: Id) -> Id:
        """Return the value that the next link of the chain begins with."""
        self._count += 1
        if self._count % self._LENGTH:
            return value
        variable = self._compiler.writer.variable()
        self._named.append((variable, value))
        return self._compiler.variable(variable, self._span)

    def around(self, value: Id) -> Id:
        """Return the value of the whole chain."""
        for variable, named in reversed(self._named):
            value = self._compiler.let(variable, named, value, self._span)
        return value


class Compiler:
    """Compiler of one query: adds its expressions to one program."""

    def __init__(self, source: str, sources: Mapping[str, int]) -> None:
        self.source = source
        self._sources = sources
        self.unfolded = 0
        self.writer = ProgramWriter()
        self.add = self.writer.add

    # Expressions

    def expression(self, node: ast.Node, scope: Scope) -> Id:  # noqa: C901, a table of kinds
        """Add an expression and its parts."""
        span = node.span
        match node:
            case ast.Literal():
                return self.constant(node.value, span)
            case ast.Root():
                return self.root(scope, span)
            case ast.Current():
                return self.add(Tag.CURRENT, span)
            case ast.Source():
                return self._source(node)
            case ast.Name():
                return self._name(node, scope)
            case ast.Delete():
                raise self.error(node, "DELETE can only be the value of a change")
            case ast.Path():
                return self._path(node, scope)
            case ast.Call():
                from headrace.logical.encode.calls import call

                return call(self, node, scope)
            case ast.Negate():
                return self._negate(node, scope)
            case ast.Not():
                return self.add(Tag.NOT, span, self.part(node.operand, scope))
            case ast.Binary():
                return self._arithmetic(node, scope)
            case ast.Compare():
                self._refuse_itself(node, scope)
                return self.binary(node.operator, node.left, node.right, scope, span)
            case ast.And():
                return self._chain(Tag.AND, node.operands, scope, span)
            case ast.Or():
                return self._chain(Tag.OR, node.operands, scope, span)
            case ast.Coalesce():
                return self._chain(Tag.COALESCE, node.operands, scope, span)
            case ast.Contains():
                container = self.expression(node.container, scope)
                item = self.argument(self.expression(node.item, scope))
                name = "includes" if node.single else "has"
                return self.builtin(name, container, [item], span)
            case ast.ContainsAll():
                return self._contains_all(node, scope)
            case ast.IsKind():
                test = self.is_kind(
                    self.expression(node.operand, scope), node.kind, span
                )
                return self.add(Tag.NOT, span, test) if node.negated else test
            case ast.Cast():
                to = "float" if node.to == "number" else str(node.to)
                target = bytes([TARGETS.index(to)])
                return self.add(Tag.CAST, span, self.part(node.operand, scope), target)
            case ast.Conditional():
                parts = (node.test, node.then, node.otherwise)
                values = [self.expression(part, scope) for part in parts]
                return self.add(Tag.CONDITIONAL, span, *values)
            case ast.Try():
                risky = self.expression(node.body, scope)
                return self.add(Tag.TRY, span, risky, self.part(node.otherwise, scope))
            case ast.Pipe():
                from headrace.logical.encode.pipes import pipe

                return pipe(self, node, scope)
            case ast.Let():
                return self._let(node.bindings, node.body, scope)
            case ast.Lambda():
                hint = "give it a name to call it: let f = x => … in f(1)"
                raise self.error(node, "a lambda can only be an argument", hint)
            case ast.Match():
                from headrace.logical.encode.patterns import arms

                subject = self.expression(node.subject, scope)
                return self.add(Tag.MATCH, span, subject, arms(self, node.arms, scope))
            case (
                ast.ArrayLiteral()
                | ast.ObjectLiteral()
                | ast.ArrayComprehension()
                | ast.ObjectComprehension()
                | ast.FString()
            ):
                from headrace.logical.encode.construction import construction

                return construction(self, node, scope)
            case ast.Patch():
                from headrace.logical.encode.writes import patch

                return patch(self, node, scope)

    def part(self, node: ast.Node, scope: Scope) -> bytes:
        """Add an expression and return the reference to it."""
        return number(self.expression(node, scope))

    def optional_part(self, node: ast.Node | None, scope: Scope) -> bytes:
        """Add an expression that may be absent, and return the reference to it."""
        return flag(0) if node is None else flag(1) + self.part(node, scope)

    def constant(self, value: ast.Scalar, span: ast.Span) -> Id:
        """Add a literal."""
        return self.add(Tag.CONST, span, constant(value))

    def variable(self, variable: int, span: ast.Span) -> Id:
        """Add the value of a variable."""
        return self.add(Tag.VARIABLE, span, variable)

    def root(self, scope: Scope, span: ast.Span) -> Id:
        """Add the value of ``$``."""
        if scope.row is None:
            return self.add(Tag.ROOT, span)
        return self.variable(scope.row, span)

    def let(self, variable: int, value: Id, body: Id, span: ast.Span) -> Id:
        """Add a body that sees a value in a variable."""
        return self.add(Tag.LET, span, variable, value, body)

    def with_current(self, value: Id, body: Id, span: ast.Span) -> Id:
        """Add a body that sees a value as ``@``."""
        return self.add(Tag.WITH, span, value, body)

    def is_kind(self, of: Id, kind: str, span: ast.Span) -> Id:
        """Add whether a value is of a kind."""
        return self.add(Tag.IS, span, of, bytes([KINDS.index(kind)]))

    def field(self, of: Id, name: str, span: ast.Span) -> Id:
        """Add the value under a key."""
        return self.add(Tag.FIELD, span, of, text(name))

    def index(self, of: Id, index: Id, span: ast.Span) -> Id:
        """Add an element, or the value under a key that is computed."""
        return self.add(Tag.INDEX, span, of, index)

    def binary(
        self,
        operator: str,
        left: ast.Node,
        right: ast.Node,
        scope: Scope,
        span: ast.Span,
    ) -> Id:
        """Add an operator with its two sides."""
        sides = self.part(left, scope), self.part(right, scope)
        return self.add(Tag.BINARY, span, bytes([OPERATORS.index(operator)]), *sides)

    def _refuse_itself(self, node: ast.Compare, scope: Scope) -> None:
        """Refuse a comparison that is written with the same value on both sides."""
        sides = [_access(each, scope) for each in (node.left, node.right)]
        if sides[0] is None or sides[0] != sides[1]:
            return
        # The planner puts values in the place of names, with the spans that they had.
        if node.right.span.start < node.left.span.end or (
            node.right.span.end > node.span.end
        ):
            return
        hint = (
            "a name is the field of @: write $.name for the row around it, or name the "
            "other value first, as in limit -> n | $.rows().count(total > n)"
        )
        raise self.error(node, "both sides are the same value", hint)

    def error(
        self, node: ast.Located, reason: str, hint: str = ""
    ) -> QueryMeaningError:
        """Return an error at a part of the query."""
        return QueryMeaningError(self.source, node.span.start, reason, hint)

    def _name(self, node: ast.Name, scope: Scope) -> Id:
        match scope.names.get(node.name):
            case int() as variable:
                return self.variable(variable, node.span)
            case Macro():
                hint = (
                    f"write {node.name}(…), or use it as an argument: .map({node.name})"
                )
                raise self.error(node, f"{node.name} is a function", hint)
            case None:
                if node.name in scope.defining:
                    from headrace.logical.encode.calls import recursion

                    raise recursion(self, node.name, node)
                if scope.holder is not None:
                    from headrace.logical.encode.writes import held

                    return held(self, node, scope.holder)
                current = self.add(Tag.CURRENT, node.span)
                return self.field(current, node.name, node.span)

    def _source(self, node: ast.Source) -> Id:
        if node.name not in self._sources:
            raise unknown_source(self.source, node.name, node.span.start, self._sources)
        return self.add(Tag.SOURCE, node.span, self._sources[node.name])

    def _negate(self, node: ast.Negate, scope: Scope) -> Id:
        if isinstance(node.operand, ast.Literal):
            value = node.operand.value
            # -9223372036854775808 is an integer, though its digits alone are not.
            if isinstance(value, int) and not isinstance(value, bool):
                return self.constant(-value, node.span)
        return self.add(Tag.NEGATE, node.span, self.part(node.operand, scope))

    def _chain(
        self, tag: Tag, operands: Sequence[ast.Node], scope: Scope, span: ast.Span
    ) -> Id:
        layer = [self.expression(operand, scope) for operand in operands]
        # In pairs, and pairs of these: a long chain is not deep, and the first that
        # ends it is still evaluated first.
        while len(layer) > 1:
            pairs = zip(layer[::2], layer[1::2], strict=False)
            alone = layer[-1:] if len(layer) % 2 else []
            layer = [self.add(tag, span, left, right) for left, right in pairs]
            layer += alone
        return layer[0]

    def _arithmetic(self, node: ast.Binary, scope: Scope) -> Id:
        """Add a chain of operators, from the left."""
        terms: list[ast.Binary] = []
        first: ast.Node = node
        while isinstance(first, ast.Binary):
            terms.append(first)
            first = first.left
        chain = LongChain(self, node.span)
        value = self.expression(first, scope)
        for term in reversed(terms):
            value = chain.next(value)
            operator = bytes([OPERATORS.index(term.operator)])
            right = self.part(term.right, scope)
            value = self.add(Tag.BINARY, term.span, operator, value, right)
        return chain.around(value)

    def _contains_all(self, node: ast.ContainsAll, scope: Scope) -> Id:
        container = self.expression(node.container, scope)
        items = [self.constant(item.value, item.span) for item in node.items]
        array = self.add(
            Tag.ARRAY, node.span, many([number(item) + flag(0) for item in items])
        )
        return self.builtin("has_all", container, [self.argument(array)], node.span)

    # Paths

    def _path(self, node: ast.Path, scope: Scope) -> Id:
        if any(map(is_write, node.steps)):
            from headrace.logical.encode import writes

            if (written := writes.chain(self, node, scope)) is not None:
                return written
            writes.refuse_field(self, node, scope)
        if is_rows(node):
            return self._rows(node, scope)
        base = None
        if scope.holder is not None:
            from headrace.logical.encode.writes import receiver_in_change

            base = receiver_in_change(self, node, scope)
        if base is None:
            base = self.expression(node.base, scope)
        return self.steps(base, node.steps, scope)

    def steps(self, of: Id, steps: Sequence[ast.Step], scope: Scope) -> Id:
        """Add a value taken through steps."""
        before: ast.Step | None = None
        chain = LongChain(self, steps[0].span if steps else ast.NOWHERE)
        for position, step in enumerate(steps):
            of = chain.next(of)
            if isinstance(step, ast.Each):
                of = self._each(of, step, steps[position + 1 :], scope)
                break
            of = self._step(of, _without_need(step, before), scope)
            before = step
        return chain.around(of)

    def _step(self, of: Id, step: ast.Step, scope: Scope) -> Id:  # noqa: C901, a table of kinds
        span = step.span
        match step:
            case ast.Field():
                return self.field(of, step.name, span)
            case ast.Index():
                return self.index(of, self.constant(step.index, span), span)
            case ast.Slice():
                bounds = [
                    option(bound, lambda bound: number(self.constant(bound, span)))
                    for bound in (step.start, step.stop, step.step)
                ]
                return self.add(Tag.SLICE, span, of, *bounds)
            case ast.Computed():
                return self.index(of, self.expression(step.key, scope), span)
            case ast.InlineFilter():
                condition = self.each_argument(step.predicate, scope)
                return self.builtin("filter", of, [condition], span)
            case ast.Descend():
                return self.add(Tag.DESCEND, span, of, option(step.key, text))
            case ast.Method() if is_update(step):
                from headrace.logical.encode.writes import written

                return written(self, of, (), step, scope)
            case ast.Method():
                from headrace.logical.encode.calls import method

                return method(self, of, step, scope)
            case ast.DeepMethod():
                from headrace.logical.encode.calls import deep_method

                return deep_method(self, of, step, scope)
            case ast.DeepMatch():
                from headrace.logical.encode.patterns import arms

                matched = arms(self, step.arms, scope.about_current())
                return self.add(Tag.DEEP_MATCH, span, of, matched, flag(step.first))
            case ast.ExactlyOne():
                return self.add(Tag.ONE, span, of)
            case ast.Each():
                return self._each(of, step, (), scope)

    def _each(
        self, of: Id, step: ast.Each, rest: Sequence[ast.Step], scope: Scope
    ) -> Id:
        if step.condition is not None:
            condition = self.each_argument(step.condition, scope)
            of = self.builtin("filter", of, [condition], step.span)
        if step.body is not None:
            body = self.each_argument(step.body, scope)
        elif rest:
            current = self.add(Tag.CURRENT, step.span)
            walked = self._in_row(
                scope, step.span, lambda inner: self.steps(current, rest, inner)
            )
            body = self.argument(walked, per_element=True)
        else:
            return of
        return self.builtin("map", of, [body], step.span)

    def _rows(self, node: ast.Path, scope: Scope) -> Id:
        """Add ``$.rows()``: its elements, or the document itself as the only row."""
        if scope.row is not None:
            reason = "$.rows() inside a stage of $.rows(), where $ is the row"
            hint = (
                "name its answer before: $.rows().max(v) -> m | "
                "$.rows().filter(v == m); or use --stream, where $ is the array of all "
                "rows everywhere"
            )
            raise self.error(node, reason, hint)
        span = node.span
        root = self.root(scope, span)
        is_array = self.is_kind(root, "array", span)
        alone = self.add(Tag.ARRAY, span, many([number(root) + flag(0)]))
        rows = self.add(Tag.CONDITIONAL, span, is_array, root, alone)
        return self.steps(
            rows, node.steps[1:], Scope(scope.names, row=self.writer.variable())
        )

    def builtin(
        self, name: str, receiver: Id, args: Sequence[bytes], span: ast.Span
    ) -> Id:
        """Add a call with arguments that are encoded already."""
        return self.add(Tag.CALL, span, text(name), receiver, many(args))

    def argument(
        self,
        body: Id,
        *,
        name: str | None = None,
        params: Sequence[int] = (),
        per_element: bool = False,
        regex: str | None = None,
    ) -> bytes:
        """Encode an argument."""
        return (
            option(name, text)
            + many([number(param) for param in params])
            + number(body)
            + flag(per_element)
            + option(regex, text)
        )

    def each_argument(
        self, node: ast.Node, scope: Scope, *, name: str | None = None
    ) -> bytes:
        """Encode an argument that is evaluated for each element."""
        if isinstance(node, ast.Name) and isinstance(
            macro := scope.names.get(node.name), Macro
        ):
            node, scope = macro.function, macro.inside()
        if not isinstance(node, ast.Lambda):
            body = self._field_or_method(node, scope)
            if body is None:
                body = self._for_row(node, scope)
            return self.argument(body, name=name, per_element=True)
        params = [self.writer.variable() for _ in node.params]
        body = self.destructured(
            list(zip(node.params, params, strict=True)),
            scope,
            lambda inner: self._for_row(node.body, inner),
        )
        return self.argument(body, name=name, params=params, per_element=True)

    def _field_or_method(self, node: ast.Node, scope: Scope) -> Id | None:
        """Add ``len`` of ``map(len)``: a field of objects, the method of anything else."""
        if not isinstance(node, ast.Name) or node.name in scope.names:
            return None
        builtin = builtins().get(node.name)
        if builtin is None or builtin.required:
            return None
        span = node.span
        current = self.add(Tag.CURRENT, span)
        is_object = self.is_kind(current, "object", span)
        found = self.field(current, node.name, span)
        called = self.builtin(builtin.name, current, [], span)
        return self.add(Tag.CONDITIONAL, span, is_object, found, called)

    def _for_row(self, node: ast.Node, scope: Scope) -> Id:
        """Add an expression for an element; in a stage over rows, ``$`` is that element."""
        return self._in_row(
            scope, node.span, lambda inner: self.expression(node, inner)
        )

    def _in_row(self, scope: Scope, span: ast.Span, body: Callable[[Scope], Id]) -> Id:
        """Add a body where ``$`` is ``@``, if it begins a stage over rows."""
        scope = scope.about_current()
        if scope.row is None or scope.in_row:
            return body(scope)
        current = self.add(Tag.CURRENT, span)
        return self.let(scope.row, current, body(replace(scope, in_row=True)), span)

    # Variables

    def destructured(
        self,
        targets: Sequence[tuple[ast.Variable | ast.Items | ast.Fields, int]],
        scope: Scope,
        body: Callable[[Scope], Id],
    ) -> Id:
        """Add a body that sees the parts of values in variables."""
        parts: list[tuple[int, Id, ast.Span]] = []
        for target, variable in targets:
            if isinstance(target, ast.Variable):
                scope = scope.binding(**{target.name: variable})
                continue
            for name, value in self._parts(target, variable):
                inner = self.writer.variable()
                parts.append((inner, value, target.span))
                scope = scope.binding(**{name: inner})
        result = body(scope)
        for inner, value, span in reversed(parts):
            result = self.let(inner, value, result, span)
        return result

    def _parts(
        self, target: ast.Items | ast.Fields, variable: int
    ) -> list[tuple[str, Id]]:
        span = target.span
        of = self.variable(variable, span)
        found = []
        for position, name in enumerate(target.names):
            if isinstance(target, ast.Items):
                value = self.index(of, self.constant(position, span), span)
            else:
                value = self.field(of, name, span)
            found.append((name, value))
        if target.rest is not None:
            found.append((target.rest, self._rest(target, of)))
        return found

    def _rest(self, target: ast.Items | ast.Fields, of: Id) -> Id:
        span = target.span
        if isinstance(target, ast.Items):
            start = number(self.constant(len(target.names), span))
            return self.add(Tag.SLICE, span, of, b"\x01" + start, b"\x00", b"\x00")
        names = [self.argument(self.constant(name, span)) for name in target.names]
        return self.builtin("omit", of, names, span)

    def _let(self, bindings: Sequence[ast.Binding], body: ast.Node, scope: Scope) -> Id:
        if not bindings:
            return self.expression(body, scope)
        binding, *rest = bindings
        if isinstance(binding.value, ast.Lambda):
            if not isinstance(binding.target, ast.Variable):
                raise self.error(binding, "a lambda has no elements to name")
            name = binding.target.name
            macro = Macro(name, binding.value, scope)
            return self._let(rest, body, scope.binding(**{name: macro}))
        value = self.expression(binding.value, scope)
        variable = self.writer.variable()
        if is_chain(binding.value):
            scope = replace(scope, written=Written(variable, binding.value.base))
        inside = self.destructured(
            [(binding.target, variable)],
            scope,
            lambda inner: self._let(rest, body, inner),
        )
        return self.let(variable, value, inside, binding.span)


def _without_need(step: ast.Step, before: ast.Step | None) -> ast.Step:
    """Drop a ``?`` behind elements: they are never null, and stay lazy without it."""
    if not isinstance(step, ast.Method) or not isinstance(before, ast.Method):
        return step
    needless = before.name in GIVES_ELEMENTS and not before.optional
    return replace(step, optional=False) if needless else step


def _access(node: ast.Node, scope: Scope) -> tuple[object, ...] | None:
    """Return where a name or a path of fields and positions leads from; None for all else."""
    match node:
        case ast.Name(name) if name in scope.names:
            return (name,)
        case ast.Name(name) if scope.holder is None:
            return ("@", ast.Field(name))
        case ast.Name(name):
            return ("holder", name)
        case ast.Path(ast.Root() | ast.Current() | ast.Name() as base, steps) if all(
            isinstance(step, ast.Field | ast.Index) for step in steps
        ):
            before = _access(base, scope) if isinstance(base, ast.Name) else None
            begin = ("$",) if isinstance(base, ast.Root) else ("@",)
            return (*(before or begin), *map(_plain, steps))
        case _:
            return None


def _plain(step: ast.Step) -> ast.Step:
    return replace(step, optional=False) if isinstance(step, ast.Field) else step
