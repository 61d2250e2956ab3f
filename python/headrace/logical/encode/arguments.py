"""Arguments of builtins, matched with parameters and checked before any row is read.

Arguments by name come in any order, as in Python. This module puts all arguments in the order of
the parameters; only those that the core looks up by name keep their names. It refuses unknown
names, and constants where each element needs an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from headrace.errors import QueryMeaningError, QuerySyntaxError
from headrace.kernel.values import Builtin, Parameter, builtins
from headrace.language import ast, traversal
from headrace.logical.methods import DEEP, RANKS, is_join
from headrace.record import replace

Functions: TypeAlias = Mapping[str, ast.Lambda]
"""Functions that the query defines, by name."""

_ANY_NAME = frozenset({"pick", "zip_shape", "group", "aggregate", *RANKS})
"""Builtins that give a field the name of the argument, or check the names themselves."""

_KEPT = {
    "zip_longest": ("fill",),
    "group_shape": ("by", "shape"),
    **dict.fromkeys(
        (
            *("to_time", "parse_time", "format_time", "to_epoch", "trunc_time"),
            *("add_time", "time_diff", "time_range"),
        ),
        ("zone",),
    ),
}
"""Arguments that the core looks up by name."""

_MAKES = frozenset(
    {
        *("modify", "update", "transform_values", "transform_keys", "fanout"),
        *("walk", "walk_pre", "rec", "zip_shape", "equi_join"),
    }
)
"""Builtins whose expression may be a constant: they construct a value for each element."""

_CURES = {
    "reverse": "write sort(-key) for the other order",
    "desc": "write sort(-key) for the other order",
    "descending": "write sort(-key) for the other order",
    "key": "write the key without a name: sort(v), group_by(k)",
    "by": "write the key without a name: sort(v), group_by(k)",
}


_COUNTS = frozenset({"count", "depth", "distance", "indent", "size", "width"})
"""Parameters that are a number of elements or of characters."""

_NEGATIVE = {
    "take": "the last elements are .last({})",
    "first": "the last elements are .last({})",
    "last": "the first elements are .first({})",
    "skip": "all elements but the last ones are [:-{}]",
    "lag": "later elements are .lead({})",
    "lead": "earlier elements are .lag({})",
}
"""Cures for a count below zero."""


def in_order(source: str, tree: ast.Node) -> ast.Node:
    """Return a query with all arguments in the order of their parameters.

    >>> from headrace.language.parser import parse
    >>> from headrace.language.unparse import unparse
    >>> unparse(in_order("", parse("s.replace(with: 'x', part: t)")))
    's.replace(t, "x")'
    """
    given = {
        name for node in traversal.walk(tree) for name in traversal.names_given(node)
    }
    return _Arguments(source, given).node(tree, {})


class _Arguments:
    def __init__(self, source: str, given: set[str]) -> None:
        self._source = source
        self._given = given

    def node(self, node: ast.Node, functions: Functions) -> ast.Node:
        """Return an expression with its arguments in order."""
        if isinstance(node, ast.Let):
            return self._let(node, functions)
        given = frozenset(traversal.names_given(node))
        inner = _without(functions, given)
        made = traversal.rebuilt(node, lambda child: self.node(child, inner))
        match made:
            case ast.Call(name) if name in functions:
                return made
            case ast.Call(name, (receiver, *args)) if is_join(made):
                return made
            case ast.Call(name, (receiver, *args)):
                self._refuse_swapped(name, receiver, args)
                ordered = self._checked(name, name, args, made, functions)
                return replace(made, args=(receiver, *ordered))
            case ast.Path(_, steps):
                ordered_steps = [self._step(step, functions) for step in steps]
                return replace(made, steps=tuple(ordered_steps))
            case _:
                return made

    def _refuse_swapped(
        self, name: str, receiver: ast.Arg, args: Sequence[ast.Arg]
    ) -> None:
        """Refuse ``filter(id > 1, $)``: the elements come first."""
        builtin = builtins().get(name)
        parameter = None if builtin is None else builtin.parameter(0)
        if len(args) != 1 or parameter is None or parameter.kind != "each":
            return
        swapped = args[0].value
        if isinstance(swapped, ast.Source) or (
            isinstance(swapped, ast.Root) and not isinstance(receiver.value, ast.Root)
        ):
            hint = f"write {name}(xs, …) or xs.{name}(…)"
            raise self._error(receiver, f"{name} takes the elements first", hint)

    def _let(self, node: ast.Let, functions: Functions) -> ast.Node:
        bindings = []
        for binding in node.bindings:
            value = self.node(binding.value, functions)
            functions = _without(functions, frozenset(traversal.names_given(binding)))
            if isinstance(binding.target, ast.Variable) and isinstance(
                value, ast.Lambda
            ):
                functions = {**functions, binding.target.name: value}
            bindings.append(replace(binding, value=value))
        body = self.node(node.body, functions)
        return replace(node, bindings=tuple(bindings), body=body)

    def _step(self, step: ast.Step, functions: Functions) -> ast.Step:
        match step:
            case ast.Method() if is_join(step):
                return step
            case ast.Method(name, args):
                ordered = self._checked(name, name, args, step, functions)
                return replace(step, args=tuple(ordered))
            case ast.DeepMethod(name, args) if name in DEEP:
                ordered = self._checked(DEEP[name], name, args, step, functions)
                return replace(step, args=tuple(ordered))
            case ast.InlineFilter(predicate):
                self._not_constant(predicate, "a filter", "condition")
                return step
            case ast.Each(condition) if condition is not None:
                self._not_constant(condition, "[* if …]", "condition")
                return step
            case _:
                return step

    def _checked(
        self,
        name: str,
        written: str,
        args: Sequence[ast.Arg],
        node: ast.Located,
        functions: Functions,
    ) -> Sequence[ast.Arg]:
        """Return the arguments of a call in order, after all checks."""
        builtin = builtins().get(name)
        if builtin is None:
            return args
        if builtin.name not in _ANY_NAME and any(arg.name for arg in args):
            args = self._ordered(builtin, written, args)
        if builtin.name in ("fold", "accumulate") and args:
            self._check_step(written, args, node, functions)
        if builtin.name in ("pick", "omit"):
            for arg in args:
                self._check_field(arg.value)
        for position, arg in enumerate(args):
            parameter = builtin.parameter(position)
            if arg.name == "as":
                continue  # It names a field.
            if parameter is not None and parameter.kind == "each":
                self._check_each(builtin, written, parameter, arg)
            if parameter is not None and parameter.name in _COUNTS:
                self._check_count(builtin, written, arg.value)
        return args

    def _ordered(
        self, builtin: Builtin, written: str, args: Sequence[ast.Arg]
    ) -> Sequence[ast.Arg]:
        kept = _KEPT.get(builtin.name, ())
        places = {
            parameter.name: place
            for place, parameter in enumerate(builtin.parameters)
            if parameter.name.isidentifier()
        }
        placed: dict[int, ast.Arg] = {}
        by_name: dict[str, ast.Arg] = {}
        for place, arg in enumerate(args):
            if arg.name is None:
                if by_name:
                    reason = "an argument without a name follows one with a name"
                    raise self._error(arg, reason, "put it in front of the others")
                placed[place] = arg
                continue
            if arg.name not in places and arg.name not in kept:
                raise self._unknown(written, arg, [*places, *kept])
            target = places.get(arg.name)
            if arg.name in by_name or (target is not None and target in placed):
                raise self._error(arg, f"{written} is given {arg.name} twice")
            by_name[arg.name] = arg
        named = [arg for name, arg in by_name.items() if name in kept]
        placed |= {
            places[name]: replace(arg, name=None)
            for name, arg in by_name.items()
            if name not in kept
        }
        ordered = [placed[place] for place in sorted(placed)]
        missing = next((at for at in range(len(placed)) if at not in placed), None)
        # `fold` also takes its step alone.
        if missing is not None and builtin.name not in ("fold", "accumulate"):
            needed = builtin.parameters[missing].name
            reason = f"{written} needs {needed} as well"
            raise self._error(ordered[missing], reason)
        return [*ordered, *named]

    def _unknown(
        self, written: str, arg: ast.Arg, names: Sequence[str]
    ) -> QueryMeaningError:
        reason = f"{written} has no argument {arg.name}"
        if not names:
            reason += "; it takes none by name"
        elif len(names) == 1:
            reason += f"; there is {names[0]}"
        else:
            reason += f"; there are {', '.join(names[:-1])} and {names[-1]}"
        cure = ""
        if names == ["condition"]:
            cure = f"write a condition: {arg.name} == …"
        elif arg.name not in names:
            cure = _CURES.get(arg.name or "", "")
        return self._error(arg, reason, cure)

    def _check_step(
        self,
        written: str,
        args: Sequence[ast.Arg],
        node: ast.Located,
        functions: Functions,
    ) -> None:
        """Refuse a fold whose step is not a lambda of two parameters."""
        step = args[min(1, len(args) - 1)].value
        if isinstance(step, ast.Name):
            step = functions.get(step.name, step)
        if not isinstance(step, ast.Lambda) or len(step.params) != 2:
            hint = f"write {written}(0, (total, x) => total + x)"
            reason = (
                f"{written} needs a step: a lambda of the value so far and an element"
            )
            at = node if len(args) == 1 else args[1]
            raise self._error(at, reason, hint)

    def _check_field(self, node: ast.Node) -> None:
        """Refuse ``o.p``, which is a value, where the name of a field is needed."""
        match node:
            case ast.Path(ast.Name() | ast.Current() as base, steps) if all(
                isinstance(step, ast.Field) for step in steps
            ):
                if isinstance(base, ast.Name) and base.name in self._given:
                    return
                first = [base.name] if isinstance(base, ast.Name) else []
                fields = [step.name for step in steps if isinstance(step, ast.Field)]
                from headrace.language.unparse import unparse

                quoted = unparse(ast.Literal(".".join([*first, *fields])))
                reason = "this is the value of a field, and no name"
                raise self._error(node, reason, f"quote it: {quoted}")

    def _check_count(self, builtin: Builtin, written: str, node: ast.Node) -> None:
        """Refuse a count below zero."""
        match node:
            case ast.Negate(ast.Literal(int() | float() as number)) if number > 0:
                reason = f"{written} takes a count of 0 or more, not -{number}"
                cure = _NEGATIVE.get(builtin.name, "").format(number)
                raise self._error(node, reason, cure)

    def _check_each(
        self, builtin: Builtin, written: str, parameter: Parameter, arg: ast.Arg
    ) -> None:
        if builtin.name in _MAKES:
            return
        kind = "expression"
        if "condition" in parameter.name:
            kind = "condition"
        elif parameter.name in ("key", "by"):
            kind = "key"
        self._not_constant(arg.value, written, kind)

    def _not_constant(self, node: ast.Node, written: str, kind: str) -> None:
        """Refuse an expression that is the same for every element: it is a mistake."""
        constant = _constant(node)
        if constant is None or isinstance(constant.value, bool):
            return
        if kind == "expression" and not isinstance(constant.value, str):
            return
        article = "an" if kind == "expression" else "a"
        reason = f"{written} takes {article} {kind} about each element"
        what = _WHAT.get(type(constant.value), "a number")
        reason = f"{reason}; this is {what}, the same for every element"
        raise self._error(node, reason, _cure(node, constant, kind))

    def _error(self, at: ast.Located, reason: str, hint: str = "") -> QueryMeaningError:
        return QueryMeaningError(self._source, at.span.start, reason, hint)


_WHAT = {str: "a string", type(None): "null"}


def _constant(node: ast.Node) -> ast.Literal | None:
    """Return the literal of an argument, also behind a minus or in a list."""
    match node:
        case ast.Literal():
            return node
        case ast.Negate(operand):
            return _constant(operand)
        case ast.ArrayLiteral((ast.Literal(str()) as first, *others)) if all(
            isinstance(other, ast.Literal) for other in others
        ):
            return first
        case ast.FString(parts) if not any(
            isinstance(part, ast.Interpolation) for part in parts
        ):
            return ast.Literal("", span=node.span)
        case _:
            return None


def _cure(node: ast.Node, constant: ast.Literal, kind: str) -> str:
    from headrace.language.unparse import unparse

    text = constant.value
    if not isinstance(text, str):
        return "write @ == … to compare each element" if kind == "condition" else ""
    if isinstance(node, ast.ArrayLiteral):
        return "write the fields without quotes: [a, b]"
    meant = _as_expression(text)
    if kind == "condition":
        compared = f"@ == {unparse(ast.Literal(text))}"
        return f"write {meant}, or {compared}" if meant else f"write {compared}"
    if meant is None:
        return f"write @[{unparse(ast.Literal(text))}]"
    minus = "-" if isinstance(node, ast.Negate) else ""
    if kind == "expression":
        return f"write {minus}{meant}, or x => {unparse(node)} for the string itself"
    return f"write {minus}{meant}"


def _as_expression(text: str) -> str | None:
    """Return the expression that a string probably stands for, if it can be one."""
    from headrace.language.parser import parse
    from headrace.language.unparse import unparse

    try:
        tree = parse(text)
    except QuerySyntaxError:
        return None
    return None if isinstance(tree, ast.Literal) else unparse(tree)


def _without(functions: Functions, names: frozenset[str]) -> Functions:
    if names.isdisjoint(functions):
        return functions
    return {name: each for name, each in functions.items() if name not in names}
