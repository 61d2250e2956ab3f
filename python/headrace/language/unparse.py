"""Unparser: from the tree of a query to its text.

``parse(unparse(tree)) == tree`` for every tree that `parse` can give, with no more
parentheses than needed. Other trees may have no text, because of a name with a space in it or a
quote in an f-string, for example: these raise a `ValueError`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.language import ast
from headrace.language.literals import SIGN_OPERATORS, Level
from headrace.language.tokens import KEYWORDS
from headrace.language.traversal import Routine, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.language.ast import Node

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CALL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\(")
_SPECIAL = re.compile(r"[\\\"'\x00-\x1f\x7f]")

_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}

_KINDS = frozenset(ast.Kind)


def unparse(node: Node) -> str:
    """Write a query.

    >>> from headrace.language.parser import parse
    >>> unparse(parse("((.price)*(2+n))  in  xs"))
    '(@.price * (2 + n) in xs)'
    """
    return run(_Writer().expression(node))


class _Writer:
    def __init__(self) -> None:
        self.in_f_string = False

    def expression(self, node: Node, minimum: Level = Level.EXPRESSION) -> Routine[str]:
        """Write `node`, in parentheses if it binds less tightly than `minimum`."""
        text: str = yield _WRITERS[type(node)](self, node)
        return f"({text})" if _level(node) < minimum else text

    def before_word(
        self, node: Node, minimum: Level = Level.EXPRESSION
    ) -> Routine[str]:
        """Write `node` so that a word can follow."""
        text: str = yield self.expression(node, minimum)
        # After `..` the word would be a key.
        return f"({text})" if text.endswith("..") else text

    def listed(
        self,
        parts: Iterable[Any],
        write: Callable[[Any], Routine[str] | str],
        separator: str = ", ",
    ) -> Routine[str]:
        texts: list[str] = []
        for part in parts:
            text: str = yield write(part)
            texts.append(text)
        return separator.join(texts)

    def quoted(self, text: str) -> str:
        # In an f-string the other quote would end it, even in a string.
        quote, other = ("'", '"') if self.in_f_string else ('"', "")

        def escape(found: re.Match[str]) -> str:
            sign = found[0]
            if sign == quote:
                return "\\" + sign
            if sign in "\"'" and sign != other:
                return sign
            return _ESCAPES.get(sign, f"\\x{ord(sign):02x}")

        return quote + _SPECIAL.sub(escape, text) + quote

    def key(self, key: str) -> str:
        return key if _NAME.fullmatch(key) else self.quoted(key)

    # Leaves

    def literal(self, node: ast.Literal) -> str:
        if isinstance(node.value, str):
            return self.quoted(node.value)
        if node.value is None or isinstance(node.value, bool):
            return _WORDS[node.value]
        return str(node.value)

    # Paths and calls

    def path(self, node: ast.Path) -> Routine[str]:
        text: str = yield self.expression(node.base, Level.PRIMARY)
        for step in node.steps:
            following: str = yield _STEPS[type(step)](self, step)
            if text.endswith("..") and following.startswith("."):
                text += " "
            text += following
        return text

    def call(self, node: ast.Call | ast.Method | ast.DeepMethod) -> Routine[str]:
        args: str = yield self.listed(node.args, self.argument)
        return f"{node.name}({args})"

    def argument(self, arg: ast.Arg) -> Routine[str]:
        value: str = yield self.expression(arg.value)
        return value if arg.name is None else f"{_word(arg.name)}: {value}"

    def field(self, step: ast.Field) -> str:
        plain = _NAME.fullmatch(step.name)
        text = f".{step.name}" if plain else f"[{self.quoted(step.name)}]"
        return text + "?" * step.optional

    def slice(self, step: ast.Slice) -> str:
        bounds = [step.start, step.stop]
        if step.step is not None:
            bounds.append(step.step)
        return f"[{':'.join('' if bound is None else str(bound) for bound in bounds)}]"

    def computed(self, step: ast.Computed) -> Routine[str]:
        key: str = yield self.expression(step.key)
        return f"[{key}]"

    def each(self, step: ast.Each) -> Routine[str]:
        text = "[*]"
        if step.condition is not None:
            condition: str = yield self.expression(step.condition)
            text = f"[* if {condition}]"
        if step.body is not None:
            body: str = yield self.expression(step.body)
            text += f" => {body}"
        return text

    def inline_filter(self, step: ast.InlineFilter) -> Routine[str]:
        predicate: str = yield self.expression(step.predicate)
        return f"{{{predicate}}}"

    def descend(self, step: ast.Descend) -> str:
        # Without the mark, which has no meaning here, a brace could follow `match`.
        key = "" if step.key is None else self.key(step.key)
        return f"..{key}" + "?" * (step.key == "match")

    def method(self, step: ast.Method) -> Routine[str]:
        _word(step.name)
        call: str = yield self.call(step)
        return f".{call}" + "?" * step.optional

    def deep_method(self, step: ast.DeepMethod) -> Routine[str]:
        _word(step.name)
        call: str = yield self.call(step)
        return f"..{call}"

    def deep_match(self, step: ast.DeepMatch) -> Routine[str]:
        arms: str = yield self.listed(step.arms, self.arm)
        return f"..match{'!' * step.first} {{ {arms} }}"

    # Operators

    def negate(self, node: ast.Negate) -> Routine[str]:
        operand: str = yield self.expression(node.operand, Level.NEGATE)
        return f"-{operand}"

    def not_(self, node: ast.Not) -> Routine[str]:
        operand: str = yield self.expression(node.operand, Level.NOT)
        return f"not {operand}"

    def binary(self, node: ast.Binary) -> Routine[str]:
        level = _level(node)
        left: str = yield self.expression(node.left, level)
        right: str = yield self.expression(node.right, level.tighter)
        return f"{left} {node.operator} {right}"

    def compare(self, node: ast.Compare) -> Routine[str]:
        left: str = yield self.expression(node.left, Level.SUM)
        right: str = yield self.expression(node.right, Level.SUM)
        return f"{left} {node.operator} {right}"

    def chain(self, node: ast.And | ast.Or | ast.Coalesce) -> Routine[str]:
        level = _level(node).tighter
        return self.listed(
            node.operands,
            lambda operand: self.before_word(operand, level),
            f" {_CHAINS[type(node)]} ",
        )

    def contains(self, node: ast.Contains) -> Routine[str]:
        container: str = yield self.before_word(node.container, Level.COMPARE)
        item: str = yield self.before_word(node.item, Level.COMPARE)
        if node.single:
            # In parentheses: behind `let name = value`, `in` is another word.
            return f"({item} in {container})"
        # A bare list after `has` means all of its items.
        bare = isinstance(node.item, ast.ArrayLiteral)
        return f"{container} has ({item})" if bare else f"{container} has {item}"

    def contains_all(self, node: ast.ContainsAll) -> Routine[str]:
        container: str = yield self.before_word(node.container, Level.COMPARE)
        items = ", ".join(self.literal(item) for item in node.items)
        return f"{container} has [{items}]"

    def is_kind(self, node: ast.IsKind) -> Routine[str]:
        operand: str = yield self.before_word(node.operand, Level.MEMBER)
        return f"{operand} is {'not ' * node.negated}{node.kind}"

    def cast(self, node: ast.Cast) -> Routine[str]:
        operand: str = yield self.before_word(node.operand, Level.CAST)
        return f"{operand} as {node.to}"

    # Control flow and variables

    def conditional(self, node: ast.Conditional) -> Routine[str]:
        then: str = yield self.before_word(node.then, Level.PIPE)
        test: str = yield self.before_word(node.test, Level.PIPE)
        otherwise: str = yield self.expression(node.otherwise)
        return f"{then} if {test} else {otherwise}"

    def try_(self, node: ast.Try) -> Routine[str]:
        body: str = yield self.before_word(node.body, Level.PIPE)
        otherwise: str = yield self.expression(node.otherwise)
        return f"try {body} else {otherwise}"

    def pipe(self, node: ast.Pipe) -> Routine[str]:
        text: str = yield self.expression(node.first, Level.COALESCE)
        for stage in node.stages:
            if isinstance(stage, ast.Bind):
                text += f" -> {_target(stage.target)}"
                continue
            following: str = yield self.expression(stage, Level.COALESCE)
            # Right after a pipe, a call is a method of the value before it.
            text += f" | ({following})" if _CALL.match(following) else f" | {following}"
        return text

    def let(self, node: ast.Let) -> Routine[str]:
        bindings: str = yield self.listed(node.bindings, self.binding)
        body: str = yield self.expression(node.body)
        return f"let {bindings} in {body}"

    def binding(self, binding: ast.Binding) -> Routine[str]:
        target = _target(binding.target)
        if isinstance(binding.target, ast.Items):
            target = f"({_names(binding.target.names)})"
        value: str = yield self.before_word(binding.value)
        return f"{target} = {value}"

    def lambda_(self, node: ast.Lambda) -> Routine[str]:
        body: str = yield self.expression(node.body)
        match node.params:
            case (ast.Variable(name),):
                return f"{_name(name)} => {body}"
            case params:
                return f"({', '.join(map(_target, params))}) => {body}"

    def match(self, node: ast.Match) -> Routine[str]:
        subject: str = yield self.before_word(node.subject)
        arms: str = yield self.listed(node.arms, self.arm)
        return f"match {subject} with {{ {arms} }}"

    def arm(self, arm: ast.Arm) -> Routine[str]:
        text: str = yield self.pattern(arm.pattern)
        if arm.guard is not None:
            # At this level, no arrow in the guard can be taken for that of the arm.
            guard: str = yield self.expression(arm.guard, Level.COALESCE)
            text += f" when {guard}"
        body: str = yield self.expression(arm.body)
        return f"{text} -> {body}"

    # Construction

    def array(self, node: ast.ArrayLiteral) -> Routine[str]:
        items: str = yield self.listed(node.items, self.item)
        return f"[{items}]"

    def item(self, item: Node | ast.Spread) -> Routine[str]:
        if isinstance(item, ast.Spread):
            return self.spread(item)
        return self.expression(item)

    def spread(self, spread: ast.Spread) -> Routine[str]:
        value: str = yield self.expression(spread.value)
        return f"...{'**' * spread.deep}{value}"

    def object(self, node: ast.ObjectLiteral) -> Routine[str]:
        entries: str = yield self.listed(
            node.entries, lambda entry: _ENTRIES[type(entry)](self, entry)
        )
        return f"{{{entries}}}"

    def entry(self, entry: ast.Entry) -> Routine[str]:
        mark = "?" * entry.optional
        return self.keyed(f"{self.key(entry.key)}{mark}", entry)

    def computed_entry(self, entry: ast.ComputedEntry) -> Routine[str]:
        key: str = yield self.expression(entry.key)
        text: str = yield self.keyed(f"[{key}]", entry)
        return text

    def shorthand(self, entry: ast.Shorthand) -> str:
        plain = _NAME.fullmatch(entry.name) and entry.name not in KEYWORDS
        return entry.name if plain else f"{self.key(entry.name)}?"

    def keyed(
        self, key: str, entry: ast.Entry | ast.ComputedEntry | ast.Write
    ) -> Routine[str]:
        if entry.condition is None:
            value: str = yield self.expression(entry.value)
            return f"{key}: {value}"
        value = yield self.before_word(entry.value)
        condition: str = yield self.expression(entry.condition)
        return f"{key}: {value} when {condition}"

    def array_comprehension(self, node: ast.ArrayComprehension) -> Routine[str]:
        item: str = yield self.before_word(node.item)
        loops: str = yield self.loops(node.loops)
        return f"{{{item}{loops}}}" if node.distinct else f"[{item}{loops}]"

    def object_comprehension(self, node: ast.ObjectComprehension) -> Routine[str]:
        key: str = yield self.expression(node.key)
        value: str = yield self.before_word(node.value)
        loops: str = yield self.loops(node.loops)
        return f"{{{key}: {value}{loops}}}"

    def loops(self, loops: tuple[ast.For, ...]) -> Routine[str]:
        text = ""
        for loop in loops:
            # Below a pipe, no `if` of these can be taken for one of the loop.
            source: str = yield self.before_word(loop.source, Level.PIPE)
            text += f" for {_names(loop.names)} in {source}"
            for node in loop.conditions:
                condition: str = yield self.before_word(node, Level.PIPE)
                text += f" if {condition}"
        return text

    def f_string(self, node: ast.FString) -> Routine[str]:
        if self.in_f_string:
            raise ValueError("an f-string cannot stand inside an f-string")
        text = ""
        for part in node.parts:
            match part:
                case ast.Text(fixed):
                    text += fixed.replace("{", "{{").replace("}", "}}")
                case ast.Interpolation(value, spec):
                    self.in_f_string = True
                    inner: str = yield self.expression(value)
                    self.in_f_string = False
                    # Two braces would be text.
                    space = " " * inner.startswith("{")
                    text += f"{{{space}{inner}{'' if spec is None else ':' + spec}}}"
        if '"' in text:
            raise ValueError('an f-string cannot hold a "')
        return f'f"{text}"'

    # Writes

    def patch(self, node: ast.Patch) -> Routine[str]:
        target: str = yield self.expression(node.target, Level.COALESCE)
        writes: str = yield self.listed(node.writes, self.write)
        return f"patch {target} {{{writes}}}"

    def write(self, write: ast.Write) -> Routine[str]:
        first, *others = write.path
        if not isinstance(first, ast.Field):
            raise TypeError("the path of a write begins with a field")
        path = _word(first.name)
        for step in others:
            if isinstance(step, ast.Descend):
                path += f"..{self.key(step.key or '')}"
            else:
                path += yield _STEPS[type(step)](self, step)
        text: str = yield self.keyed(path, write)
        return text

    # Patterns

    def pattern(self, pattern: ast.Pattern) -> Routine[str] | str:
        match pattern:
            case ast.AnyValue():
                return "_"
            case ast.Equals(literal):
                return self.literal(literal)
            case ast.InRange(low, high, inclusive):
                return f"{low}..{'=' * inclusive}{high}"
            case ast.OfKind(ast.Kind.NULL, None):
                return "_: null"
            case ast.OfKind(kind, name):
                return kind.value if name is None else f"{_capture(name)}: {kind}"
            case ast.Capture(name):
                return _capture(name)
            case ast.ObjectPattern() | ast.ArrayPattern() | ast.OneOf():
                return self.compound_pattern(pattern)

    def compound_pattern(
        self, pattern: ast.ObjectPattern | ast.ArrayPattern | ast.OneOf
    ) -> Routine[str]:
        match pattern:
            case ast.ObjectPattern(fields, rest):
                inner: str = yield self.listed(fields, self.field_pattern)
                return f"{{{_with_rest(inner, rest, '...*')}}}"
            case ast.ArrayPattern(items, rest):
                inner = yield self.listed(items, self.pattern)
                return f"[{_with_rest(inner, rest, '...')}]"
            case ast.OneOf(alternatives):
                texts: list[str] = []
                for each in alternatives:
                    text: str = yield self.pattern(each)
                    texts.append(f"({text})" if isinstance(each, ast.OneOf) else text)
                return " | ".join(texts)

    def field_pattern(self, field: ast.FieldPattern) -> Routine[str]:
        match field:
            case ast.FieldPattern(key, ast.Capture(name)) if key == name:
                return _name(name)
        inner: str = yield self.pattern(field.pattern)
        return f"{self.key(field.key)}: {inner}"


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

_Write: TypeAlias = "Callable[[_Writer, Any], Routine[str] | str]"

_STEPS: dict[type, _Write] = {
    ast.Field: _Writer.field,
    ast.Index: lambda _, step: f"[{step.index}]",
    ast.Slice: _Writer.slice,
    ast.Computed: _Writer.computed,
    ast.Each: _Writer.each,
    ast.InlineFilter: _Writer.inline_filter,
    ast.Descend: _Writer.descend,
    ast.Method: _Writer.method,
    ast.DeepMethod: _Writer.deep_method,
    ast.DeepMatch: _Writer.deep_match,
    ast.ExactlyOne: lambda _, __: "!",
}

_ENTRIES: dict[type, _Write] = {
    ast.Entry: _Writer.entry,
    ast.ComputedEntry: _Writer.computed_entry,
    ast.Shorthand: _Writer.shorthand,
    ast.Spread: _Writer.spread,
}

_WRITERS: dict[type, _Write] = {
    ast.Literal: _Writer.literal,
    ast.Root: lambda _, __: "$",
    ast.Current: lambda _, __: "@",
    ast.Source: lambda _, node: (
        node.name if node.name == "$" else f"@{_name(node.name)}"
    ),
    ast.Name: lambda _, node: _name(node.name),
    ast.Delete: lambda _, __: "DELETE",
    ast.Path: _Writer.path,
    ast.Call: _Writer.call,
    ast.Negate: _Writer.negate,
    ast.Binary: _Writer.binary,
    ast.Compare: _Writer.compare,
    ast.Not: _Writer.not_,
    ast.And: _Writer.chain,
    ast.Or: _Writer.chain,
    ast.Coalesce: _Writer.chain,
    ast.Contains: _Writer.contains,
    ast.ContainsAll: _Writer.contains_all,
    ast.IsKind: _Writer.is_kind,
    ast.Cast: _Writer.cast,
    ast.Conditional: _Writer.conditional,
    ast.Try: _Writer.try_,
    ast.Pipe: _Writer.pipe,
    ast.Let: _Writer.let,
    ast.Lambda: _Writer.lambda_,
    ast.Match: _Writer.match,
    ast.ArrayLiteral: _Writer.array,
    ast.ObjectLiteral: _Writer.object,
    ast.ArrayComprehension: _Writer.array_comprehension,
    ast.ObjectComprehension: _Writer.object_comprehension,
    ast.FString: _Writer.f_string,
    ast.Patch: _Writer.patch,
}
