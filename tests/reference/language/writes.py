"""Writes: ``patch``, and chains from ``$`` that end in a write.

In a change, ``@`` is the old value, and a bare name is a field of the object that holds the
place: of the element, or of the whole value, where no object holds it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from headrace.language import ast
from tests.reference.language.methods.objects import merged
from tests.reference.language.scope import Closure, bound
from tests.reference.language.values import NotInSubset, QueryError, truthy

GONE = object()
"""What a place has in it that is not there, or is to go."""

KEPT = object()
"""What a place is to be that stays as it is, also if it is not there."""

WRITES = {"set", "modify", "delete", "unset", "merge", "update"}
PLACES = (ast.Field, ast.Index, ast.Computed, ast.Descend)


def is_write(node):
    """Whether an expression is the whole document with a change."""
    if not isinstance(node, ast.Path) or not isinstance(node.base, ast.Root):
        return False
    *before, last = node.steps
    if not _changes_document(last):
        return False
    for place, step in enumerate(before):
        if _changes_document(step):
            raise NotInSubset("a write after a write")
        if not _is_place(step):
            if any(map(_changes_document, before[place:])):
                raise NotInSubset("a write in the midst of a path")
            raise QueryError("a write through what is no place")
    return True


def after_first_write(node):
    """Return the path up to its first write, and the later steps on the document.

    None if no step changes the document, or only the last one does.
    """
    if not isinstance(node, ast.Path) or not isinstance(node.base, ast.Root):
        return None
    for place, step in enumerate(node.steps[:-1]):
        if _changes_document(step):
            behind = node.steps[place + 1 :]
            if any(map(_changes_document, behind)):
                raise NotInSubset("a write after a write")
            return replace(node, steps=node.steps[: place + 1]), behind
        if not _is_place(step):
            return None
    return None


def changes(step):
    """Whether a step is a write, of the document or of a value."""
    return isinstance(step, ast.Method) and step.name in WRITES | {"deep_merge"}


def ends_in_write(node):
    """Whether an expression is a chain that ends in a write."""
    return isinstance(node, ast.Path) and changes(node.steps[-1])


def begins_at_field(node, scope):
    """Whether a write to a document begins at one of its fields."""
    if not isinstance(node, ast.Path):
        return False
    *path, last = node.steps
    if not (isinstance(last, ast.Method) and last.name in {"set", "modify", "delete"}):
        return False
    if not all(map(_is_place, path)):
        return False
    match node.base:
        case ast.Name(name):
            return name not in scope.variables
        case ast.Current():
            return bool(path)
    return False


def _changes_document(step):
    if not changes(step):
        return False
    # An update by a function is an ordinary method.
    return step.name != "update" or is_update(step)


def is_update(step):
    """Whether an update names the places that it changes."""
    return (
        isinstance(step, ast.Method)
        and step.name == "update"
        and bool(step.args)
        and isinstance(step.args[0].value, ast.ObjectLiteral | ast.Literal)
    )


def _is_place(step):
    if isinstance(step, ast.Each):
        return step.body is None
    return isinstance(step, PLACES) and step != ast.Descend()


def written(node, scope, document, evaluate):
    """Return `document` with the changes of a chain of `is_write`."""
    *path, method = node.steps
    return changed(document, path, method, scope, evaluate)


def changed(document, path, method, scope, evaluate):
    """Return a value with the changes of a method at the places of a path."""
    if any(arg.name is not None for arg in method.args):
        raise NotInSubset("an argument by name")
    edits = _edits(list(path), method)
    return _edited(document, edits, scope, evaluate)


def patched(node, scope, evaluate):
    """Return the value of ``patch target {…}``."""
    edits = [
        Edit(list(write.path), write.value, write.condition) for write in node.writes
    ]
    return _edited(evaluate(node.target, scope), edits, scope, evaluate)


@dataclass
class Edit:
    """A new value for all places of a path where a condition holds."""

    path: list[Any]
    value: ast.Node
    condition: ast.Node | None = None


def _edits(path, method):
    values = [arg.value for arg in method.args]
    match method.name, values:
        case ("set" | "modify" | "merge" as name, [value]):
            return [Edit(path, Merged(value) if name == "merge" else value)]
        case ("delete", []):
            return [Edit(path, ast.Delete())]
        case ("unset", [_, *_]):
            keys = [
                key.name if isinstance(key, ast.Name) else key.value for key in values
            ]
            return [Edit([*path, ast.Field(key)], ast.Delete()) for key in keys]
        case ("update", [ast.ObjectLiteral(entries)]):
            return [
                Edit([*path, *_quoted(entry.key)], entry.value, entry.condition)
                for entry in entries
            ]
        case ("update", [ast.Literal(str(quoted)), value]):
            return [Edit([*path, *_quoted(quoted)], value)]
    raise NotInSubset(method.name)


@dataclass(frozen=True)
class Merged:
    """The old object, extended by the fields of another one."""

    other: ast.Node


def _quoted(path):
    """Return the steps of a path in a text, such as ``a.b[0]``."""
    steps = []
    for name, index, every in re.findall(r"([^.\[\]]+)|\[(-?\d+)\]|\[(\*)\]", path):
        if name:
            steps.append(ast.Field(name))
        elif index:
            steps.append(ast.Index(int(index)))
        elif every:
            steps.append(ast.Each())
    return steps


def _edited(before, edits, scope, evaluate):
    """Apply edits in turn; their values are computed from the value before all edits."""
    for place, edit in enumerate(edits):
        if isinstance(edit.value, ast.Delete) and any(
            _may_meet(edit.path, later.path) for later in edits[place + 1 :]
        ):
            raise NotInSubset("a change where something was deleted")
    now = before
    for edit in edits:
        path = [_fixed(step, scope, evaluate) for step in edit.path]
        made = Places(edit, scope, evaluate).at(now, before, before, path)
        if made is not KEPT:
            now = None if made is GONE else made
    return now


def _fixed(step, scope, evaluate):
    """Return a step with a known key; a computed key is evaluated outside of the path."""
    if not isinstance(step, ast.Computed):
        return step
    key = evaluate(step.key, scope)
    if isinstance(key, str):
        return ast.Field(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return ast.Index(key)
    raise QueryError("neither a key nor a position")


def _may_meet(deleted, path):
    """Whether a path may meet a deleted place."""
    is_field = bool(deleted) and isinstance(deleted[-1], ast.Field)
    return (
        not is_field
        or any(isinstance(step, ast.Descend) for step in path)
        or path[: len(deleted)] == deleted
    )


class Places:
    """Traversal of the places of a path, in the changed value and in the old one.

    Each method returns the new value, or `KEPT` if nothing in it is changed.
    """

    def __init__(self, edit, scope, evaluate):
        self.edit = edit
        self.scope = scope
        self.evaluate = evaluate
        self.creates = not isinstance(edit.value, ast.Delete)

    def at(self, now, old, holder, path):
        """Take the next step; `old` is the old value, in the object `holder`."""
        if not path:
            return self.made(old, holder)
        step, *rest = path
        match step:
            case ast.Field(name):
                return self.in_field(now, old, name, rest)
            case ast.Index(index):
                return self.in_element(now, old, index, rest)
            case ast.Each(condition, body=None):
                return self.in_each(now, old, condition, rest)
            case ast.Descend(str() as key):
                return self.anywhere(now, old, key, rest)
        raise NotInSubset(type(step).__name__)

    def made(self, old, holder):
        """Return the new value of a place."""
        scope = self.scope.changing(old, holder, written_as_they_are(self.edit.value))
        condition = self.edit.condition
        if condition is not None and not truthy(self.evaluate(condition, scope)):
            return KEPT
        match self.edit.value:
            case ast.Delete():
                return GONE
            case Merged(other):
                other = self.evaluate(other, scope)
                return merged({} if old is None else old, other)
            case ast.Name(name) if isinstance(scope.variables.get(name), Closure):
                raise NotInSubset("a function by name")
            case ast.Lambda((param,), body):
                return self.evaluate(body, scope.knowing(bound(param, old)))
            case value:
                return self.evaluate(value, scope)

    def in_field(self, now, old, name, rest):
        if isinstance(now, list):
            raise QueryError("a field of an array")
        if not isinstance(now, dict) and now is not None:
            if self.creates:
                raise QueryError("a field of what is no object")
            return KEPT
        there = now is not None and name in now
        if not self.creates and not there:
            return KEPT
        before = old.get(name) if isinstance(old, dict) else None
        made = self.at(now[name] if there else None, before, old, rest)
        if made is KEPT:
            return KEPT
        if made is GONE:
            return {key: item for key, item in now.items() if key != name}
        return {**(now or {}), name: made}

    def in_element(self, now, old, index, rest):
        if not isinstance(now, list):
            if isinstance(now, dict) or (now is not None and self.creates):
                raise QueryError("an element of what is no array")
            return KEPT
        if not -len(now) <= index < len(now):
            return KEPT
        before = element_of(old, index % len(now))
        made = self.at(now[index], before, before, rest)
        if made is KEPT:
            return KEPT
        elements = list(now)
        elements[index] = made
        return [element for element in elements if element is not GONE]

    def in_each(self, now, old, condition, rest):
        if now is None:
            return KEPT
        if not isinstance(now, list):
            raise QueryError("[*] of what is no array")
        made = []
        for place, element in enumerate(now):
            before = element_of(old, place)
            if condition is None or truthy(
                self.evaluate(condition, self.scope.at(before))
            ):
                made.append(self.at(element, before, before, rest))
            else:
                made.append(KEPT)
        if all(each is KEPT for each in made):
            return KEPT
        both = zip(made, now, strict=True)
        elements = [element if each is KEPT else each for each, element in both]
        return [element for element in elements if element is not GONE]

    def anywhere(self, now, old, key, rest):
        """Change the values of a key at any depth, the inner ones first."""
        if isinstance(now, list):
            made = [
                self.anywhere(element, element_of(old, place), key, rest)
                for place, element in enumerate(now)
            ]
            if all(each is KEPT for each in made):
                return KEPT
            both = zip(made, now, strict=True)
            return [element if each is KEPT else each for each, element in both]
        if not isinstance(now, dict):
            return KEPT
        before = old if isinstance(old, dict) else {}
        inner = {
            name: self.anywhere(item, before.get(name), key, rest)
            for name, item in now.items()
        }
        changed = {
            name: item if inner[name] is KEPT else inner[name]
            for name, item in now.items()
        }
        made = self.in_field(changed, old, key, rest) if key in now else KEPT
        if made is not KEPT:
            return made
        return KEPT if all(each is KEPT for each in inner.values()) else changed


def element_of(value, place):
    """Return an element of an array, or None."""
    return value[place] if isinstance(value, list) and place < len(value) else None


def written_as_they_are(value):
    """Return the names in a change that must exist, since their values are stored unchanged."""
    return frozenset(map(id, _must_be_there(value)))


def _must_be_there(node):
    match node:
        case ast.Name() | ast.Shorthand():
            return [node]
        case ast.Path(ast.Name() as name, (ast.Method("or"), *_)):
            return []
        case ast.Path(ast.Name() as name):
            return [name]
        case ast.ObjectLiteral(entries):
            parts = [
                entry
                if isinstance(entry, ast.Shorthand)
                else None
                if isinstance(entry, ast.Spread) or getattr(entry, "optional", False)
                else entry.value
                for entry in entries
            ]
        case ast.ArrayLiteral(items):
            parts = [item for item in items if not isinstance(item, ast.Spread)]
        case ast.Conditional(_, then, otherwise) | ast.Try(then, otherwise):
            parts = [then, otherwise]
        case ast.Let(_, body) | ast.Lambda(_, body):
            parts = [body]
        case ast.Match(_, arms):
            parts = [arm.body for arm in arms]
        case ast.Coalesce(operands) | ast.Or(operands):
            parts = [operands[-1]]
        case _:
            parts = []
    return [name for part in parts for name in _must_be_there(part)]
