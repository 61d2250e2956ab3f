"""The value of every kind of expression."""

from __future__ import annotations

from dataclasses import replace

from headrace.language import ast, parser
from headrace.language.traversal import names_given
from tests.reference.language import operators
from tests.reference.language.arguments import Arguments
from tests.reference.language.comprehensions import turns
from tests.reference.language.formatting import formatted
from tests.reference.language.methods import METHODS
from tests.reference.language.methods.functions import FUNCTIONS
from tests.reference.language.methods.membership import has, includes
from tests.reference.language.methods.streams import settled
from tests.reference.language.names import is_builtin
from tests.reference.language.patterns import fit
from tests.reference.language.scope import (
    NO_ROW,
    Closure,
    Later,
    RowsOnly,
    Scope,
    bound,
)
from tests.reference.language.steps import Walk, follow
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    Written,
    equal,
    kind_of,
    read_number,
    text_of,
    truthy,
)
from tests.reference.language.writes import (
    after_first_write,
    begins_at_field,
    ends_in_write,
    is_write,
    patched,
    written,
)


def answer(query, document):
    """Return the answer to a query about a document."""
    tree = parser.parse(query)
    return evaluate(tree, Scope(document, document))


def evaluate(node, scope):
    """Return the value of an expression."""
    rule = RULES.get(type(node))
    if rule is None:
        raise NotInSubset(type(node).__name__)
    return rule(node, scope)


def _root(_node, scope):
    if isinstance(scope.root, RowsOnly):
        raise QueryError("no row")
    return scope.root


def _current(_node, scope):
    if scope.current is NO_ROW:
        raise QueryError("no row")
    return scope.current


def _name(node, scope):
    value = scope.variables.get(node.name)
    if isinstance(value, Later):
        return evaluate(value.node, value.scope)
    return scope.value_of(node)


def _all(nodes, scope):
    """Evaluate expressions that may not be needed, if the manner is `eager`."""
    if scope.manner == "eager":
        for node in nodes:
            evaluate(node, scope)


def _literal(node, _scope):
    value = node.value
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int):
        return read_number(str(value))
    if isinstance(value, float):
        return value
    return Written(str(value))


def _path(node, scope):
    if is_write(node):
        return written(node, scope, _root(node.base, scope), evaluate)
    if begins_at_field(node, scope):
        raise QueryError("a write that does not begin at the document")
    if (found := after_first_write(node)) is not None:
        first, behind = found
        document = written(first, scope, _root(node.base, scope), evaluate)
        return settled(Walk(scope, evaluate, of_rows=False).through(document, behind))
    return follow(node, scope, evaluate)


def _call(node, scope):
    arguments = Arguments(node.args, scope, evaluate)
    if isinstance(function := scope.variables.get(node.name), Closure):
        return _defined(node, function, scope)
    if node.name in FUNCTIONS:
        return FUNCTIONS[node.name](arguments)
    if node.name not in METHODS:
        raise NotInSubset(node.name)
    receiver, *others = node.args or (ast.Arg(ast.Current()),)
    if receiver.name is not None:
        raise NotInSubset("a receiver by name")
    method = ast.Method(node.name, tuple(others))
    return follow(ast.Path(receiver.value, (method,)), scope, evaluate)


def _defined(node, function, scope):
    """Return the result of a function of the query for its arguments."""
    params = function.function.params
    if any(arg.name is not None for arg in node.args) or len(params) != len(node.args):
        raise NotInSubset("arguments by name")
    names = {}
    for param, arg in zip(params, node.args, strict=True):
        names |= bound(param, evaluate(arg.value, scope))
    return evaluate(function.function.body, function.scope.knowing(names))


def _negate(node, scope):
    if isinstance(node.operand, ast.Literal) and type(node.operand.value) is int:
        # The number in the text of the least integer is not an integer.
        return read_number(str(-node.operand.value))
    return operators.negate(evaluate(node.operand, scope))


def _binary(node, scope):
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    return operators.arithmetic(node.operator, left, right)


def _compare(node, scope):
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    return operators.compared(node.operator, left, right)


def _and(node, scope):
    _all(node.operands, scope)
    return all(truthy(evaluate(operand, scope)) for operand in node.operands)


def _or(node, scope):
    _all(node.operands, scope)
    value = None
    for operand in node.operands:
        value = evaluate(operand, scope)
        if truthy(value):
            break
    return value


def _coalesce(node, scope):
    _all(node.operands, scope)
    for operand in node.operands:
        value = evaluate(operand, scope)
        if value is not None:
            return value
    return None


def _contains(node, scope):
    test = includes if node.single else has
    return test(evaluate(node.container, scope), evaluate(node.item, scope))


def _contains_all(node, scope):
    container = evaluate(node.container, scope)
    if container is None:
        return None
    return all(includes(container, item.value) for item in node.items)


def _is_kind(node, scope):
    return (kind_of(evaluate(node.operand, scope)) == node.kind) != node.negated


def _cast(node, scope):
    return operators.cast(evaluate(node.operand, scope), node.to)


def _conditional(node, scope):
    _all((node.then, node.otherwise), scope)
    chosen = node.then if truthy(evaluate(node.test, scope)) else node.otherwise
    return evaluate(chosen, scope)


def _try(node, scope):
    try:
        value = evaluate(node.body, scope)
    except QueryError:
        value = None
    return evaluate(node.otherwise, scope) if value is None else value


def _pipe(node, scope):
    writes = [part for part in (node.first, *node.stages) if ends_in_write(part)]
    if len(writes) > 1 and not all(map(is_write, writes)):
        raise NotInSubset("writes one after the other that are not to the document")
    first, stages = node.first, node.stages
    if scope.manner == "lazy" and (found := _named_later(node, scope)) is not None:
        value, scope, first, stages = found
    else:
        value = evaluate(first, scope)
    before = first
    for stage in stages:
        if isinstance(stage, ast.Bind):
            scope = scope.knowing(bound(stage.target, value))
        elif is_write(stage) and is_write(before):
            # Consecutive writes to the document accumulate.
            value = written(stage, scope.at(value), value, evaluate)
        else:
            value = _stage(stage, scope.at(value))
        before = stage
    return value


def _named_later(node, scope):
    """Return the first named value, a scope with its name, its expression, and the later stages.

    If it fails, ``@`` has no value in the next stage: only a stage that uses it fails as well.
    """
    binds = [each for each in node.stages if isinstance(each, ast.Bind)]
    if not binds or not isinstance(binds[0].target, ast.Variable):
        return None
    at = node.stages.index(binds[0])
    first = replace(node, stages=node.stages[:at]) if at else node.first
    try:
        value = evaluate(first, scope)
    except QueryError:
        if node.stages[-1] is binds[0]:
            raise
        value = NO_ROW
    named = scope.knowing({binds[0].target.name: Later(first, scope)})
    return value, named, first, node.stages[at + 1 :]


def _stage(stage, scope):
    match stage:
        case ast.Name(name) if name not in scope.variables and is_builtin(name):
            method = ast.Path(ast.Current(), (ast.Method(name),))
            return evaluate(method, scope)
    return evaluate(stage, scope)


def _let(node, scope):
    if ends_in_write(node.body) and any(
        ends_in_write(binding.value) for binding in node.bindings
    ):
        raise NotInSubset("writes one after the other by name")
    for binding in node.bindings:
        if isinstance(binding.value, ast.Lambda):
            scope = scope.knowing(
                bound(binding.target, None)
                | {binding.target.name: Closure(binding.value, scope)}
            )
        elif scope.manner == "lazy" and isinstance(binding.target, ast.Variable):
            later = Later(binding.value, scope)
            scope = scope.knowing({binding.target.name: later})
        else:
            value = evaluate(binding.value, scope)
            scope = scope.knowing(bound(binding.target, value))
    return evaluate(node.body, scope)


def _match(node, scope):
    subject = evaluate(node.subject, scope)
    for arm in node.arms:
        names = dict.fromkeys(names_given(arm))
        _all([arm.body], scope.knowing(names))
    for arm in node.arms:
        names = fit(arm.pattern, subject)
        if names is None:
            continue
        inner = scope.knowing(names)
        if arm.guard is None or truthy(evaluate(arm.guard, inner)):
            return evaluate(arm.body, inner)
    raise QueryError("no arm fits")


def _array(node, scope):
    items = []
    for item in node.items:
        if not isinstance(item, ast.Spread):
            items.append(evaluate(item, scope))
            continue
        value = evaluate(item.value, scope)
        if not isinstance(value, list | None):
            raise QueryError("no elements")
        items.extend(value or [])
    return items


def _object(node, scope):
    made = {}
    for entry in node.entries:
        made.update(_entry(entry, scope))
    return made


def _entry(entry, scope):
    """Return the fields that one entry adds to an object."""
    match entry:
        case ast.Shorthand(name):
            value = _name(entry, scope)
            return {} if value is None else {name: value}
        case ast.Entry(key, node, optional, condition):
            if condition is not None and not truthy(evaluate(condition, scope)):
                return {}
            value = evaluate(node, scope)
            return {} if optional and value is None else {key: value}
        case ast.ComputedEntry(key, node, condition):
            if condition is not None and not truthy(evaluate(condition, scope)):
                return {}
            return {text_of(evaluate(key, scope)): evaluate(node, scope)}
        case ast.Spread(node, deep=False):
            value = evaluate(node, scope)
            if not isinstance(value, dict | None):
                raise QueryError("no fields")
            return value or {}
    raise NotInSubset("a deep spread")


def _array_comprehension(node, scope):
    items = [evaluate(node.item, inner) for inner in turns(node.loops, scope, evaluate)]
    if not node.distinct:
        return items
    found = []
    for item in items:
        if not any(equal(item, other) for other in found):
            found.append(item)
    return found


def _object_comprehension(node, scope):
    return {
        text_of(evaluate(node.key, inner)): evaluate(node.value, inner)
        for inner in turns(node.loops, scope, evaluate)
    }


def _f_string(node, scope):
    texts = []
    for part in node.parts:
        if isinstance(part, ast.Text):
            texts.append(part.text)
        else:
            texts.append(formatted(evaluate(part.value, scope), part.spec))
    return "".join(texts)


RULES = {
    ast.Literal: _literal,
    ast.Root: _root,
    ast.Current: _current,
    ast.Name: _name,
    ast.Path: _path,
    ast.Call: _call,
    ast.Negate: _negate,
    ast.Binary: _binary,
    ast.Compare: _compare,
    ast.Not: lambda node, scope: not truthy(evaluate(node.operand, scope)),
    ast.And: _and,
    ast.Or: _or,
    ast.Coalesce: _coalesce,
    ast.Contains: _contains,
    ast.ContainsAll: _contains_all,
    ast.IsKind: _is_kind,
    ast.Cast: _cast,
    ast.Conditional: _conditional,
    ast.Try: _try,
    ast.Pipe: _pipe,
    ast.Let: _let,
    ast.Match: _match,
    ast.ArrayLiteral: _array,
    ast.ObjectLiteral: _object,
    ast.ArrayComprehension: _array_comprehension,
    ast.ObjectComprehension: _object_comprehension,
    ast.FString: _f_string,
    ast.Patch: lambda node, scope: patched(node, scope, evaluate),
}
