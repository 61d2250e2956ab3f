"""Unparser: from the tree of a query to its text.

``parse(unparse(tree)) == tree`` for every tree that `parse` can give, with no more
parentheses than needed. Other trees may have no text, because of a name with a space in it or a
quote in an f-string, for example: these raise a `ValueError`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from headrace.language import ast
from headrace.language.literals import SIGN_OPERATORS, Level
from headrace.language.tokens import KEYWORDS
from headrace.language.traversal import deep

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.language.ast import Node

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CALL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\(")
_SPECIAL = re.compile(r"[\\\"'\x00-\x1f\x7f]")

_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}

_KINDS = frozenset(ast.Kind)


@deep()
def unparse(node: Node) -> str:
    """Write a query.

    >>> from headrace.language.parser import parse
    >>> unparse(parse("((.price)*(2+n))  in  xs"))
    '(@.price * (2 + n) in xs)'
    """
    return _Writer().expression(node)


class _Writer:
    def __init__(self) -> None:
        self._in_f_string = False

    def expression(self, node: Node, minimum: Level = Level.EXPRESSION) -> str:
        """Write `node`, in parentheses if it binds less tightly than `minimum`."""
        text = self._bare(node)
        return f"({text})" if _level(node) < minimum else text

    def _before_word(self, node: Node, minimum: Level = Level.EXPRESSION) -> str:
        """Write `node` so that a word can follow."""
        text = self.expression(node, minimum)
        # After `..` the word would be a key.
        return f"({text})" if text.endswith("..") else text

    def _bare(self, node: Node) -> str:  # noqa: C901, a table of kinds
        level = _level(node)
        match node:
            case ast.Literal():
                return self._literal(node)
            case ast.Root() | ast.Source("$"):
                return "$"
            case ast.Current():
                return "@"
            case ast.Source(name):
                return f"@{_name(name)}"
            case ast.Name(name):
                return _name(name)
            case ast.Delete():
                return "DELETE"
            case ast.Path(base, steps):
                text = self.expression(base, Level.PRIMARY)
                for step in steps:
                    following = self._step(step)
                    space = " " * (text.endswith("..") and following.startswith("."))
                    text += f"{space}{following}"
                return text
            case ast.Call(name, args):
                return self._call(name, args)
            case ast.Negate(operand):
                return f"-{self.expression(operand, level)}"
            case ast.Not(operand):
                return f"not {self.expression(operand, level)}"
            case ast.Binary(operator, left, right):
                after = self.expression(right, level.tighter)
                return f"{self.expression(left, level)} {operator} {after}"
            case ast.Compare(operator, left, right):
                after = self.expression(right, Level.SUM)
                return f"{self.expression(left, Level.SUM)} {operator} {after}"
            case ast.And(operands) | ast.Or(operands) | ast.Coalesce(operands):
                texts = [self._before_word(each, level.tighter) for each in operands]
                return f" {_CHAINS[type(node)]} ".join(texts)
            case ast.Contains(container, item, single):
                text = self._before_word(item, Level.COMPARE)
                of = self._before_word(container, Level.COMPARE)
                if single:
                    # In parentheses: behind `let name = value`, `in` is another word.
                    return f"({text} in {of})"
                # A bare list after `has` means all of its items.
                bare = isinstance(item, ast.ArrayLiteral)
                return f"{of} has ({text})" if bare else f"{of} has {text}"
            case ast.ContainsAll(container, items):
                text = ", ".join(map(self._literal, items))
                return f"{self._before_word(container, Level.COMPARE)} has [{text}]"
            case ast.IsKind(operand, kind, negated):
                text = self._before_word(operand, Level.MEMBER)
                return f"{text} is {'not ' * negated}{kind}"
            case ast.Cast(operand, to):
                return f"{self._before_word(operand, level)} as {to}"
            case ast.Conditional(test, then, otherwise):
                text = self._before_word(then, Level.PIPE)
                condition = self._before_word(test, Level.PIPE)
                return f"{text} if {condition} else {self.expression(otherwise)}"
            case ast.Try(body, otherwise):
                text = self._before_word(body, Level.PIPE)
                return f"try {text} else {self.expression(otherwise)}"
            case ast.Pipe(first, stages):
                texts = [self.expression(first, Level.COALESCE)]
                return "".join([*texts, *map(self._stage, stages)])
            case ast.Let(bindings, body):
                text = ", ".join(map(self._binding, bindings))
                return f"let {text} in {self.expression(body)}"
            case ast.Lambda((ast.Variable(name),), body):
                return f"{_name(name)} => {self.expression(body)}"
            case ast.Lambda(params, body):
                text = ", ".join(map(_target, params))
                return f"({text}) => {self.expression(body)}"
            case ast.Match(subject, arms):
                text = self._before_word(subject)
                return f"match {text} with {{ {self._arms(arms)} }}"
            case ast.ArrayLiteral(items):
                return f"[{', '.join(map(self._entry, items))}]"
            case ast.ObjectLiteral(entries):
                return f"{{{', '.join(map(self._entry, entries))}}}"
            case ast.ArrayComprehension(item, loops, distinct):
                text = self._before_word(item) + self._loops(loops)
                return f"{{{text}}}" if distinct else f"[{text}]"
            case ast.ObjectComprehension(key, value, loops):
                text = self._before_word(value) + self._loops(loops)
                return f"{{{self.expression(key)}: {text}}}"
            case ast.FString(parts):
                return self._f_string(parts)
            case ast.Patch(target, writes):
                text = ", ".join(map(self._write, writes))
                return f"patch {self.expression(target, Level.COALESCE)} {{{text}}}"

    # Texts

    def _quoted(self, text: str) -> str:
        # In an f-string the other quote would end it, even in a string.
        quote, other = ("'", '"') if self._in_f_string else ('"', "")

        def escape(found: re.Match[str]) -> str:
            sign = found[0]
            if sign == quote:
                return "\\" + sign
            if sign in "\"'" and sign != other:
                return sign
            return _ESCAPES.get(sign, f"\\x{ord(sign):02x}")

        return quote + _SPECIAL.sub(escape, text) + quote

    def _key(self, key: str) -> str:
        return key if _NAME.fullmatch(key) else self._quoted(key)

    def _literal(self, node: ast.Literal) -> str:
        if isinstance(node.value, str):
            return self._quoted(node.value)
        if node.value is None or isinstance(node.value, bool):
            return _WORDS[node.value]
        return str(node.value)

    def _f_string(self, parts: Iterable[ast.Text | ast.Interpolation]) -> str:
        if self._in_f_string:
            raise ValueError("an f-string cannot stand inside an f-string")
        text = ""
        for part in parts:
            match part:
                case ast.Text(fixed):
                    text += fixed.replace("{", "{{").replace("}", "}}")
                case ast.Interpolation(value, spec):
                    self._in_f_string = True
                    inner = self.expression(value)
                    self._in_f_string = False
                    # Two braces would be text.
                    space = " " * inner.startswith("{")
                    text += f"{{{space}{inner}{'' if spec is None else ':' + spec}}}"
        if '"' in text:
            raise ValueError('an f-string cannot hold a "')
        return f'f"{text}"'

    # Steps

    def _step(self, step: ast.Step) -> str:  # noqa: C901, a table of kinds
        match step:
            case ast.Field(name, optional):
                plain = _NAME.fullmatch(name)
                text = f".{name}" if plain else f"[{self._quoted(name)}]"
                return text + "?" * optional
            case ast.Index(index):
                return f"[{index}]"
            case ast.Slice(start, stop, by):
                bounds = [start, stop] if by is None else [start, stop, by]
                texts = ("" if bound is None else str(bound) for bound in bounds)
                return f"[{':'.join(texts)}]"
            case ast.Computed(key):
                return f"[{self.expression(key)}]"
            case ast.Each(condition, body):
                text = ""
                if condition is not None:
                    text = f" if {self.expression(condition)}"
                then = "" if body is None else f" => {self.expression(body)}"
                return f"[*{text}]{then}"
            case ast.InlineFilter(predicate):
                return f"{{{self.expression(predicate)}}}"
            case ast.Descend(key):
                # Without the mark, which has no meaning here, a brace could follow `match`.
                text = "" if key is None else self._key(key)
                return f"..{text}" + "?" * (key == "match")
            case ast.Method(name, args, optional):
                return f".{self._call(_word(name), args)}" + "?" * optional
            case ast.DeepMethod(name, args):
                return f"..{self._call(_word(name), args)}"
            case ast.DeepMatch(arms, is_first):
                return f"..match{'!' * is_first} {{ {self._arms(arms)} }}"
            case ast.ExactlyOne():
                return "!"

    def _call(self, name: str, args: Iterable[ast.Arg]) -> str:
        return f"{name}({', '.join(map(self._argument, args))})"

    def _argument(self, arg: ast.Arg) -> str:
        value = self.expression(arg.value)
        return value if arg.name is None else f"{_word(arg.name)}: {value}"

    # Parts of expressions

    def _stage(self, stage: Node | ast.Bind) -> str:
        if isinstance(stage, ast.Bind):
            return f" -> {_target(stage.target)}"
        text = self.expression(stage, Level.COALESCE)
        # Right after a pipe, a call is a method of the value before it.
        return f" | ({text})" if _CALL.match(text) else f" | {text}"

    def _binding(self, binding: ast.Binding) -> str:
        target = _target(binding.target)
        if isinstance(binding.target, ast.Items):
            target = f"({_names(binding.target.names)})"
        return f"{target} = {self._before_word(binding.value)}"

    def _arms(self, arms: Iterable[ast.Arm]) -> str:
        return ", ".join(map(self._arm, arms))

    def _arm(self, arm: ast.Arm) -> str:
        text = self._pattern(arm.pattern)
        if arm.guard is not None:
            # At this level, no arrow in the guard can be taken for that of the arm.
            text += f" when {self.expression(arm.guard, Level.COALESCE)}"
        return f"{text} -> {self.expression(arm.body)}"

    def _loops(self, loops: Iterable[ast.For]) -> str:
        text = ""
        for loop in loops:
            # Below a pipe, no `if` of these can be taken for one of the loop.
            source = self._before_word(loop.source, Level.PIPE)
            text += f" for {_names(loop.names)} in {source}"
            for condition in loop.conditions:
                text += f" if {self._before_word(condition, Level.PIPE)}"
        return text

    def _entry(
        self, entry: Node | ast.Entry | ast.ComputedEntry | ast.Shorthand | ast.Spread
    ) -> str:
        match entry:
            case ast.Entry(key, _, optional):
                return self._keyed(f"{self._key(key)}{'?' * optional}", entry)
            case ast.ComputedEntry(key):
                return self._keyed(f"[{self.expression(key)}]", entry)
            case ast.Shorthand(name):
                plain = _NAME.fullmatch(name) and name not in KEYWORDS
                return name if plain else f"{self._key(name)}?"
            case ast.Spread(value, is_deep):
                return f"...{'**' * is_deep}{self.expression(value)}"
            case _:
                return self.expression(entry)

    def _keyed(self, key: str, entry: ast.Entry | ast.ComputedEntry | ast.Write) -> str:
        if entry.condition is None:
            return f"{key}: {self.expression(entry.value)}"
        value = self._before_word(entry.value)
        return f"{key}: {value} when {self.expression(entry.condition)}"

    def _write(self, write: ast.Write) -> str:
        first, *others = write.path
        if not isinstance(first, ast.Field):
            raise TypeError("the path of a write begins with a field")
        path = _word(first.name)
        for step in others:
            if isinstance(step, ast.Descend):
                path += f"..{self._key(step.key or '')}"
            else:
                path += self._step(step)
        return self._keyed(path, write)

    # Patterns

    def _pattern(self, pattern: ast.Pattern) -> str:
        match pattern:
            case ast.AnyValue():
                return "_"
            case ast.Equals(literal):
                return self._literal(literal)
            case ast.InRange(low, high, inclusive):
                return f"{low}..{'=' * inclusive}{high}"
            case ast.OfKind(ast.Kind.NULL, None):
                return "_: null"
            case ast.OfKind(kind, name):
                return kind.value if name is None else f"{_capture(name)}: {kind}"
            case ast.Capture(name):
                return _capture(name)
            case ast.ObjectPattern(fields, rest):
                inner = ", ".join(map(self._field_pattern, fields))
                return f"{{{_with_rest(inner, rest, '...*')}}}"
            case ast.ArrayPattern(items, rest):
                inner = ", ".join(map(self._pattern, items))
                return f"[{_with_rest(inner, rest, '...')}]"
            case ast.OneOf(alternatives):
                texts = [
                    f"({self._pattern(each)})"
                    if isinstance(each, ast.OneOf)
                    else self._pattern(each)
                    for each in alternatives
                ]
                return " | ".join(texts)

    def _field_pattern(self, field: ast.FieldPattern) -> str:
        match field:
            case ast.FieldPattern(key, ast.Capture(name)) if key == name:
                return _name(name)
            case _:
                return f"{self._key(field.key)}: {self._pattern(field.pattern)}"


def _level(node: Node) -> Level:
    match node:
        case ast.Path(_, (*_, ast.Each(body=body))) if body is not None:
            return Level.EXPRESSION
        case ast.Binary():
            return SIGN_OPERATORS[node.operator]
        case ast.Literal(int() | float() | Decimal() as value) if value < 0:
            return Level.NEGATE
        case _:
            return _LEVELS.get(type(node), Level.PRIMARY)


def _with_rest(inner: str, rest: ast.Rest | None, dots: str) -> str:
    if rest is None:
        return inner
    text = "..." if rest.name is None else f"{dots}{_name(rest.name)}"
    return f"{inner}, {text}" if inner else text


def _target(target: ast.Variable | ast.Items | ast.Fields) -> str:
    match target:
        case ast.Variable(name):
            return _name(name)
        case ast.Items(names, rest):
            return f"[{_names(names, rest)}]"
        case ast.Fields(names, rest):
            return f"{{{_names(names, rest)}}}"


def _names(names: Iterable[str], rest: str | None = None) -> str:
    texts = [_name(name) for name in names]
    return ", ".join(texts if rest is None else [*texts, f"...{_name(rest)}"])


def _capture(name: str) -> str:
    if name in _KINDS or name == "_":
        raise ValueError(f"a pattern cannot bind the name {name}")
    return _name(name)


def _name(name: str) -> str:
    if not _NAME.fullmatch(name) or name in KEYWORDS:
        raise ValueError(f"not a name: {name!r}")
    return name


def _word(word: str) -> str:
    if not _NAME.fullmatch(word):
        raise ValueError(f"not a word: {word!r}")
    return word


_WORDS = {None: "null", True: "true", False: "false"}

_CHAINS = {ast.And: "and", ast.Or: "or", ast.Coalesce: "??"}

_LEVELS: dict[type, Level] = {
    ast.Path: Level.POSTFIX,
    ast.Negate: Level.NEGATE,
    ast.Cast: Level.CAST,
    ast.Compare: Level.COMPARE,
    ast.Contains: Level.MEMBER,
    ast.ContainsAll: Level.MEMBER,
    ast.IsKind: Level.KIND,
    ast.Not: Level.NOT,
    ast.And: Level.AND,
    ast.Or: Level.OR,
    ast.Coalesce: Level.COALESCE,
    ast.Pipe: Level.PIPE,
    ast.Conditional: Level.EXPRESSION,
    ast.Try: Level.EXPRESSION,
    ast.Let: Level.EXPRESSION,
    ast.Lambda: Level.EXPRESSION,
}
