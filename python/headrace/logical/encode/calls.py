"""Calls of functions and methods, encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kernel.values import Builtin, builtins, unknown_group, wrong_literal
from headrace.language import ast, traversal
from headrace.logical import grouping
from headrace.logical.encode import joins
from headrace.logical.encode.program import Id, Macro, Tag, constant
from headrace.logical.methods import DEEP, RANKS, is_join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.errors import QueryMeaningError
    from headrace.logical.encode.compiler import Compiler
    from headrace.logical.encode.program import Scope


def call(compiler: Compiler, node: ast.Call, scope: Scope) -> Id:
    """Add a call without a receiver: its first argument is one, or ``@``."""
    if isinstance(macro := scope.names.get(node.name), Macro):
        return _defined(compiler, node, macro, scope)
    if node.name in scope.defining:
        raise recursion(compiler, node.name, node)
    if is_join(node) and node.args:
        first, *rest = node.args
        joined = ast.Method(node.name, tuple(rest), span=node.span)
        return method(compiler, compiler.expression(first.value, scope), joined, scope)
    name = "chain" if node.name == "join" else node.name
    builtin = find(compiler, name, node)
    if not node.args:
        tag = Tag.CONST if name == "now" else Tag.CURRENT
        parts = [constant(None)] if tag is Tag.CONST else []
        receiver = compiler.add(tag, node.span, *parts)
        return _call_builtin(compiler, builtin, receiver, (), scope, node)
    first, *rest = node.args
    if first.name is not None:
        raise compiler.error(first, "the first argument cannot have a name")
    receiver = compiler.expression(first.value, scope)
    return _call_builtin(compiler, builtin, receiver, tuple(rest), scope, node)


def recursion(compiler: Compiler, name: str, at: ast.Located) -> QueryMeaningError:
    """Return the error for a function that calls itself."""
    hint = "write .rec(step), .walk(change) or .fold(0, (total, x) => …)"
    return compiler.error(at, f"{name} calls itself, which no function can", hint)


_MOST_CALLS = 10_000
"""Maximum number of calls that a query unfolds of its own functions."""


def _defined(compiler: Compiler, node: ast.Call, macro: Macro, scope: Scope) -> Id:
    """Add a call of a function that the query defines: its body, with the arguments."""
    compiler.unfolded += 1
    if compiler.unfolded > _MOST_CALLS:
        reason = f"the functions of this query call each other over {_MOST_CALLS} times"
        raise compiler.error(node, reason, "name results with `let`")
    params = macro.function.params
    values = [
        compiler.expression(value, scope)
        for value in _given_to(compiler, node, macro.name, params)
    ]
    variables = [compiler.writer.variable() for _ in params]
    body = compiler.destructured(
        list(zip(params, variables, strict=True)),
        macro.inside(),
        lambda inner: compiler.expression(macro.function.body, inner),
    )
    for variable, value in reversed(list(zip(variables, values, strict=True))):
        body = compiler.let(variable, value, body, node.span)
    return body


def _given_to(
    compiler: Compiler,
    node: ast.Call,
    name: str,
    params: Sequence[ast.Variable | ast.Items],
) -> list[ast.Node]:
    """Return the argument of each parameter of a function."""
    names = [each.name if isinstance(each, ast.Variable) else "[…]" for each in params]
    shown = f"{name}({', '.join(names)})"
    many = "1 argument" if len(names) == 1 else f"{len(names)} arguments"
    wrong_count = f"{shown} takes {many}, not {len(node.args)}"
    given: dict[int, ast.Node] = {}
    for position, arg in enumerate(node.args):
        place = position
        if arg.name is not None:
            if arg.name not in names:
                raise compiler.error(arg, f"{shown} has no parameter {arg.name}")
            place = names.index(arg.name)
        elif position and node.args[position - 1].name is not None:
            reason = "an argument without a name follows one with a name"
            raise compiler.error(arg, reason, "put it in front of the others")
        elif position >= len(names):
            raise compiler.error(node, wrong_count)
        if place in given:
            raise compiler.error(arg, f"{shown} is given {names[place]} twice")
        given[place] = arg.value
    if len(given) < len(params):
        raise compiler.error(node, wrong_count)
    return [given[place] for place in range(len(params))]


def method(compiler: Compiler, of: Id, step: ast.Method, scope: Scope) -> Id:
    """Add a method call; with ``?``, null has no methods and stays null."""
    if joins.lacks_key(step):
        reason = f"{step.name} of rows needs a key"
        hint = f"write .{step.name}(@other, on: id)"
        raise compiler.error(step, reason, hint)
    if is_join(step):
        name, args = _join(compiler, step)
        builtin = find(compiler, name, step)
    else:
        builtin = find(compiler, step.name, step)
        args = _shape(step) if builtin.name == "deep_shape" else step.args
    if not step.optional:
        return _call_builtin(compiler, builtin, of, args, scope, step)
    span = step.span
    variable = compiler.writer.variable()
    receiver = compiler.variable(variable, span)
    called = _call_builtin(compiler, builtin, receiver, args, scope, step)
    is_null = compiler.is_kind(receiver, "null", span)
    chosen = compiler.add(Tag.CONDITIONAL, span, is_null, receiver, called)
    return compiler.let(variable, of, chosen, span)


def _join(compiler: Compiler, step: ast.Method) -> tuple[str, Sequence[ast.Arg]]:
    """Return the core's name of a join, and its arguments in the core's order."""
    call = joins.join_call(step.name, step.args)
    if isinstance(call, str):
        named = [arg for arg in step.args if arg.name == "on"]
        at = named[0] if named and call.startswith("on: is") else step
        raise compiler.error(at, call)
    args = [call.other, call.on, call.right_on]
    if call.name is not None:
        args.append(ast.Literal(call.name))
    return call.builtin, [ast.Arg(arg, span=arg.span) for arg in args]


def deep_method(compiler: Compiler, of: Id, step: ast.DeepMethod, scope: Scope) -> Id:
    """Add a search through all nodes."""
    name = DEEP.get(step.name)
    if name is None:
        hint = f"there are ..{', ..'.join(DEEP)} and ..match"
        raise compiler.error(step, f"there is no deep method ..{step.name}", hint)
    args = _shape(step) if name == "deep_shape" else step.args
    return _call_builtin(compiler, find(compiler, name, step), of, args, scope, step)


def _shape(step: ast.Method | ast.DeepMethod) -> Sequence[ast.Arg]:
    match step.args:
        case (ast.Arg(value=ast.ObjectLiteral(entries=entries)),) if all(
            isinstance(entry, ast.Shorthand) for entry in entries
        ):
            return [
                ast.Arg(ast.Literal(entry.name, span=entry.span), span=entry.span)
                for entry in entries
                if isinstance(entry, ast.Shorthand)
            ]
        case _:
            return step.args


def find(compiler: Compiler, name: str, node: ast.Located) -> Builtin:
    """Return a builtin by its name."""
    table = builtins()
    if (builtin := table.get(name)) is not None:
        return builtin
    from headrace.logical.foreign_words import hint_for

    raise compiler.error(node, f"unknown function {name}", hint_for(name, table))


def _call_builtin(
    compiler: Compiler,
    builtin: Builtin,
    receiver: Id,
    args: Sequence[ast.Arg],
    scope: Scope,
    node: ast.Located,
) -> Id:
    if builtin.name in grouping.NAMES:
        encoded = _grouped(compiler, builtin, args, scope, node)
        return compiler.builtin(builtin.name, receiver, encoded, node.span)
    if builtin.name in RANKS:
        encoded = _ranked(compiler, builtin, args, scope, node)
        return compiler.builtin(builtin.name, receiver, encoded, node.span)
    if len(args) < builtin.required:
        wanted = ", ".join(parameter.name for parameter in builtin.parameters)
        reason = f"{builtin.name} takes {builtin.required} or more arguments: {wanted}"
        hint = f"write xs.{builtin.name}({wanted}), or {builtin.name}(xs, {wanted})"
        raise compiler.error(node, reason, hint)
    match [arg.value for arg in args]:
        case [ast.Literal(str(pattern)), ast.Literal(str(template)) as with_] if (
            builtin.parameters[0].name == "pattern"
            and (group := unknown_group(pattern, template)) is not None
        ):
            raise _no_group(compiler, with_, group)
    encoded = [
        _builtin_argument(compiler, builtin, position, arg, scope)
        for position, arg in enumerate(args)
    ]
    return compiler.builtin(builtin.name, receiver, encoded, node.span)


def _grouped(
    compiler: Compiler,
    builtin: Builtin,
    args: Sequence[ast.Arg],
    scope: Scope,
    node: ast.Located,
) -> list[bytes]:
    """Encode keys with their names, and the aggregates of each group."""
    meant = grouping.grouping_of(builtin.name, args, node)
    if isinstance(meant, grouping.Grouping):
        problem = grouping.stray_name(meant, scope.names)
    else:
        problem = meant
    if problem is not None or isinstance(meant, grouping.Problem):
        assert problem is not None
        raise compiler.error(*problem)
    keys = [compiler.each_argument(key, scope, name=name) for name, key in meant.keys]
    return [*keys, compiler.each_argument(meant.aggregates, scope)]


def _ranked(
    compiler: Compiler,
    builtin: Builtin,
    args: Sequence[ast.Arg],
    scope: Scope,
    node: ast.Located,
) -> list[bytes]:
    """Encode the keys of an order, the key of groups, and the name of the field."""
    encoded = []
    for arg in args:
        if arg.name in (None, "by"):
            encoded.append(compiler.each_argument(arg.value, scope, name=arg.name))
            continue
        name = joins.field_name(arg.value) if arg.name == "as" else None
        if name is None:
            reason = (
                "as: names the field for the place"
                if arg.name == "as"
                else f"{builtin.name} has no argument {arg.name}; there are by: and as:"
            )
            raise compiler.error(
                arg, reason, f'write {builtin.name}(v, by: k, as: "n")'
            )
        body = compiler.constant(name, arg.span)
        encoded.append(compiler.argument(body, name=arg.name))
    if sum(arg.name is None for arg in args) < builtin.required:
        hint = f"write {builtin.name}(v), or {builtin.name}(-v) from the largest on"
        raise compiler.error(node, f"{builtin.name} takes the keys of an order", hint)
    return encoded


def _no_group(compiler: Compiler, at: ast.Located, group: str) -> QueryMeaningError:
    hint = "$$ is a dollar sign"
    number = group[: len(group) - len(group.lstrip("0123456789"))]
    if number and number != group:
        hint = f"write ${{{number}}}{group[len(number) :]}: all letters behind $ are its name"
    return compiler.error(at, f"the pattern has no group {group}", hint)


def _check_literal(
    compiler: Compiler, builtin: Builtin, parameter: str, node: ast.Node
) -> None:
    """Refuse a constant pattern, zone, unit or span that is invalid for every row."""
    if isinstance(node, ast.Literal) and isinstance(node.value, str):
        wrong = wrong_literal(builtin, parameter, node.value)
        if wrong is not None:
            raise compiler.error(node, wrong)


def _builtin_argument(
    compiler: Compiler, builtin: Builtin, position: int, arg: ast.Arg, scope: Scope
) -> bytes:
    parameter = builtin.parameter(position)
    name = arg.name or ("" if parameter is None else parameter.name)
    _check_literal(compiler, builtin, name, arg.value)
    if parameter is None:
        if arg.name is None:
            most = len(builtin.parameters)
            many = {0: "no arguments", 1: "one argument"}.get(
                most, f"at most {most} arguments"
            )
            reason = f"{builtin.name} takes {many}"
            from headrace.logical.foreign_words import TOO_MANY

            raise compiler.error(arg, reason, TOO_MANY.get(builtin.name, ""))
        return compiler.argument(compiler.expression(arg.value, scope), name=arg.name)
    if arg.name is not None and parameter.kind != "name":
        if parameter.kind == "each":
            return compiler.each_argument(arg.value, scope, name=arg.name)
        return compiler.argument(compiler.expression(arg.value, scope), name=arg.name)
    match parameter.kind:
        case "each":
            return compiler.each_argument(arg.value, scope)
        case "either" if _is_per_element(arg.value, scope):
            return compiler.each_argument(arg.value, scope)
        case "name" if isinstance(arg.value, ast.Name):
            named = compiler.constant(arg.value.name, arg.span)
            return compiler.argument(named, name=arg.name)
        case _:
            pattern = None
            if parameter.name == "pattern" and isinstance(arg.value, ast.Literal):
                value = arg.value.value
                pattern = value if isinstance(value, str) else None
            body = compiler.expression(arg.value, scope)
            return compiler.argument(body, name=arg.name, regex=pattern)


def _is_per_element(node: ast.Node, scope: Scope) -> bool:
    """Whether an argument depends on its element."""
    if isinstance(node, ast.Lambda):
        return True
    if isinstance(node, ast.Name) and isinstance(scope.names.get(node.name), Macro):
        return True
    return any(isinstance(part, ast.Current) for part in traversal.walk(node)) or any(
        name not in scope.names for name in traversal.names_in(node)
    )
