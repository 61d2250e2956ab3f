"""Chains from ``$`` that end in a write: the document with some places changed."""

from __future__ import annotations

from headrace.language import ast
from tests.reference.language.arguments import Arguments
from tests.reference.language.methods.objects import merged
from tests.reference.language.values import NotInSubset, QueryError, truthy

GONE = object()
"""What a place has in it that is not there, or is to go."""

TERMINALS = {"set", "modify", "delete", "merge", "update"}
OTHER_TERMINALS = {"deep_merge", "unset"}
PATH_STEPS = (ast.Field, ast.Index, ast.Each, ast.Descend)


def is_write(node):
    """Tell whether an expression is the whole document with a change."""
    if not isinstance(node, ast.Path) or not isinstance(node.base, ast.Root):
        return False
    *before, last = node.steps
    if not changes(last) or not all(isinstance(step, PATH_STEPS) for step in before):
        return False
    # Only with fields to be changed is an update about the document.
    return last.name != "update" or (
        len(last.args) == 1 and isinstance(last.args[0].value, ast.ObjectLiteral)
    )


def changes(step):
    """Tell whether a step is a write, of the document or of a value."""
    return isinstance(step, ast.Method) and step.name in TERMINALS | OTHER_TERMINALS


def ends_in_write(node):
    """Tell whether an expression is a chain from anywhere that ends in a write."""
    return isinstance(node, ast.Path) and changes(node.steps[-1])


def written(node, scope, document, evaluate):
    """Return `document` with what a chain of `is_write` changes."""
    *path, method = node.steps
    if method.name not in TERMINALS:
        raise NotInSubset(method.name)
    arguments = Arguments(method.args, scope, evaluate)
    change = CHANGES[method.name](arguments)
    changed = Places(scope, evaluate, creates=method.name != "delete").changed(
        document, path, change
    )
    return None if changed is GONE else changed


class Places:
    """Going to the places of a path; missing objects are made if it `creates`."""

    def __init__(self, scope, evaluate, *, creates):
        self.scope = scope
        self.evaluate = evaluate
        self.creates = creates

    def changed(self, value, path, change):
        if not path:
            return change(value)
        step, *rest = path
        match step:
            case ast.Field(name):
                return self.in_field(value, name, rest, change)
            case ast.Index(index):
                return self.in_element(value, index, rest, change)
            case ast.Each(condition, body=None):
                return self.in_each(value, condition, rest, change)
            case ast.Descend(str() as key):
                return self.anywhere(value, key, rest, change)
        raise NotInSubset(type(step).__name__)

    def in_field(self, value, name, rest, change):
        if not isinstance(value, dict):
            if not self.creates:
                return value
            if isinstance(value, list):
                raise NotInSubset("a field of an array to be written")
            value = {}
        if name not in value and not self.creates:
            return value
        inner = self.changed(value.get(name), rest, change)
        if inner is GONE:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: inner}

    def in_element(self, value, index, rest, change):
        if not isinstance(value, list):
            raise NotInSubset("an element of what is no array to be written")
        if not -len(value) <= index < len(value):
            return value
        elements = list(value)
        elements[index] = self.changed(elements[index], rest, change)
        return [element for element in elements if element is not GONE]

    def in_each(self, value, condition, rest, change):
        if not isinstance(value, list):
            raise QueryError("[*] of what is no array")
        elements = [
            self.changed(element, rest, change)
            if condition is None
            or truthy(self.evaluate(condition, self.scope.at(element)))
            else element
            for element in value
        ]
        return [element for element in elements if element is not GONE]

    def anywhere(self, value, key, rest, change):
        if isinstance(value, list):
            return [self.anywhere(element, key, rest, change) for element in value]
        if not isinstance(value, dict):
            return value
        made = {
            name: self.anywhere(item, key, rest, change) for name, item in value.items()
        }
        return self.in_field(made, key, rest, change) if key in made else made


def _set(arguments):
    arguments.check(1)
    if isinstance(arguments.args[0].value, ast.Delete):
        return lambda _old: GONE
    value = arguments.value(0)
    return lambda _old: value


def _modify(arguments):
    arguments.check(1)
    return arguments.each(0)


def _delete(arguments):
    arguments.check(0)
    return lambda _old: GONE


def _merge(arguments):
    arguments.check(1)
    other = arguments.value(0)
    return lambda old: merged({} if old is None else old, other)


def _update(arguments):
    arguments.check(1)
    node = arguments.args[0].value

    def change(old):
        made = dict(old) if isinstance(old, dict) else {}
        for entry in node.entries:
            if not isinstance(entry, ast.Entry) or entry.condition or entry.optional:
                raise NotInSubset("an update of another form")
            if not entry.key.isidentifier():
                raise NotInSubset("an update by a quoted path")
            if isinstance(entry.value, ast.Delete):
                made.pop(entry.key, None)
                continue
            scope = arguments.scope.at(old)
            made[entry.key] = arguments.evaluate(entry.value, scope)
        return made

    return change


CHANGES = {
    "set": _set,
    "modify": _modify,
    "delete": _delete,
    "merge": _merge,
    "update": _update,
}
