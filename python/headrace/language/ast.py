"""Syntax tree of a query.

An *expression* (`Node`) gives a value. A `Path` is an expression followed by
*steps*, kept as one flat tuple: ``$.a[0].b.map(c)`` is four steps on `Root`, and a
path in parentheses is the base of another one, which makes a difference where a step
applies to each element (`Each`). Chains of ``and``, ``or``, ``??`` and ``|`` are flat as
well, so the depth of a tree is the depth a reader sees.

Different spellings give the same tree: ``.f`` is ``@.f``, ``["f"]`` is
``.f``, ``lambda x: e`` is ``x => e``, ``x in xs`` is ``xs has x``, ``has(k)`` and
``missing(k)`` are ``@.has(k)`` and ``@.missing(k)``, and right after a pipe ``f(a)``
is ``@.f(a)``. A name is only a name here: name resolution decides whether it is a variable,
a field or a builtin.

All parts are frozen and compare by their meaning; `span`, their position in the text, is never
compared. Comparing, hashing and pickling use Python's recursion: for trees of any depth,
compare or send the text.
"""

from __future__ import annotations

from typing import TypeAlias, TypeGuard, get_args

from headrace.language.literals import (
    NOWHERE,
    AnyValue,
    ArrayPattern,
    BinaryOperator,
    Capture,
    CastType,
    CompareOperator,
    Equals,
    FieldPattern,
    InRange,
    Kind,
    Literal,
    Located,
    Number,
    ObjectPattern,
    OfKind,
    OneOf,
    Pattern,
    Rest,
    Scalar,
    Span,
)
from headrace.record import record

__all__ = [
    "NOWHERE", "And", "AnyValue", "Arg", "Arm", "ArrayComprehension", "ArrayLiteral", "ArrayPattern",
    "Binary", "BinaryOperator", "Bind", "Binding", "Call", "Capture", "Cast", "CastType", "Coalesce",
    "Compare", "CompareOperator", "Computed", "ComputedEntry", "Conditional", "Contains", "ContainsAll",
    "Current", "DeepMatch", "DeepMethod", "Delete", "Descend", "Each", "Entry", "Equals", "ExactlyOne",
    "FString", "Field", "FieldPattern", "Fields", "For", "InRange", "Index", "InlineFilter", "Interpolation",
    "IsKind", "Items", "Kind", "Lambda", "Let", "Literal", "Located", "Match", "Method", "Name", "Negate",
    "Node", "Not", "Number", "ObjectComprehension", "ObjectLiteral", "ObjectPattern", "OfKind", "OneOf", "Or",
    "Patch", "Path", "Pattern", "Pipe", "Rest", "Root", "Scalar", "Shorthand", "Slice", "Source", "Span",
    "Spread", "Step", "Text", "Try", "Variable", "Write", "is_node",
]  # fmt: skip

# Leaves


@record
class Root(Located):
    """``$``: the document, the row, or in stream mode all rows."""


@record
class Current(Located):
    """``@``: the current value of the innermost argument, stage or filter."""


@record
class Source(Located):
    """``@name``: all rows of the source with this name; the name ``$`` is the main source."""

    name: str


@record
class Name(Located):
    """A bare word: the innermost variable of that name, else a field of `@`.

    As a stage of a pipe, a builtin's name is that method without arguments.
    """

    name: str


@record
class Delete(Located):
    """``DELETE``: as the value of a write, removes the field or element."""


# Paths and calls


@record
class Path(Located):
    """The value of `base`, taken through the steps one after the other."""

    base: Node
    steps: tuple[Step, ...]


@record
class Arg(Located):
    """One argument; `name` if it was given by name."""

    value: Node
    name: str | None = None


@record
class Call(Located):
    """A function called without a receiver, as ``range(3)`` or ``len(xs)``."""

    name: str
    args: tuple[Arg, ...] = ()


@record
class Field(Located):
    """The value under a key. `optional`: written with ``?``."""

    name: str
    optional: bool = False


@record
class Index(Located):
    """The element at a position; a negative one counts from the end."""

    index: int


@record
class Slice(Located):
    """The elements from `start` up to `stop`, as Python counts them."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None


@record
class Computed(Located):
    """The field or element under a computed key.

    A literal key is a `Field` or an `Index` instead.
    """

    key: Node


@record
class Each(Located):
    """The elements for which `condition` holds, if there is one.

    With a `body`, its value for each of them (`@` is the element), and no step
    follows. Without, all steps that follow in this path apply to each element.
    """

    condition: Node | None = None
    body: Node | None = None


@record
class InlineFilter(Located):
    """The elements for which `predicate` holds, as a value: nothing is mapped."""

    predicate: Node


@record
class Descend(Located):
    """Every value under `key` at any depth; without a key, every node."""

    key: str | None = None


@record
class Method(Located):
    """A method called on the value. `optional`: null gives null, no error."""

    name: str
    args: tuple[Arg, ...] = ()
    optional: bool = False


@record
class DeepMethod(Located):
    """A search through all nodes: ``..find(p)``, ``..shape({a})``, ``..like({a: 1})``."""

    name: str
    args: tuple[Arg, ...] = ()


@record
class DeepMatch(Located):
    """The truthy results of the arms for every node; `first`: only the first one."""

    arms: tuple[Arm, ...]
    first: bool = False


@record
class ExactlyOne(Located):
    """``!``: the only element of an array, an error if there are more or none."""


# Operators


@record
class Negate(Located):
    """The number with the other sign; as a sort key, the other direction."""

    operand: Node


@record
class Binary(Located):
    """Arithmetic on two values."""

    operator: BinaryOperator
    left: Node
    right: Node


@record
class Compare(Located):
    """Comparison of two values."""

    operator: CompareOperator
    left: Node
    right: Node


@record
class Not(Located):
    """False if the operand is truthy, else true."""

    operand: Node


@record
class And(Located):
    """Whether all of two or more operands are truthy; stops at the first that is not."""

    operands: tuple[Node, ...]


@record
class Or(Located):
    """The first truthy value of two or more operands, else the last value."""

    operands: tuple[Node, ...]


@record
class Coalesce(Located):
    """The first value of two or more operands that is not null, else null."""

    operands: tuple[Node, ...]


@record
class Contains(Located):
    """Whether `container` includes `item`: an element, a key, a part of a string.

    Of an array behind `has`, it must include every element; with `single`, as `in` is
    written, the array is one element itself.
    """

    container: Node
    item: Node
    single: bool = False


@record
class ContainsAll(Located):
    """Whether `container` includes every one of the literals (here also negative)."""

    container: Node
    items: tuple[Literal, ...]


@record
class IsKind(Located):
    """Whether a value is of this kind, or with `negated` is not."""

    operand: Node
    kind: Kind
    negated: bool = False


@record
class Cast(Located):
    """Conversion of a value, an error where it is impossible."""

    operand: Node
    to: CastType


# Control flow and variables


@record
class Conditional(Located):
    """`then` if `test` is truthy, else `otherwise`; only one of them is evaluated."""

    test: Node
    then: Node
    otherwise: Node


@record
class Try(Located):
    """`body`, or `otherwise` where `body` is null or fails."""

    body: Node
    otherwise: Node


@record
class Variable(Located):
    """Gives the whole value one name."""

    name: str


@record
class Items(Located):
    """Gives the elements of an array names by position, `rest` what remains."""

    names: tuple[str, ...]
    rest: str | None = None


@record
class Fields(Located):
    """Gives the fields of an object their own names, `rest` the remaining ones."""

    names: tuple[str, ...]
    rest: str | None = None


@record
class Bind(Located):
    """A stage that names its input for the later stages and passes it on."""

    target: Variable | Items | Fields


@record
class Pipe(Located):
    """`first`, then every stage with `@` as the value of the one before."""

    first: Node
    stages: tuple[Node | Bind, ...]


@record
class Binding(Located):
    """A value under one name, or its elements under several (no rest)."""

    target: Variable | Items
    value: Node


@record
class Let(Located):
    """`body` with the bindings in sight; each sees those before it."""

    bindings: tuple[Binding, ...]
    body: Node


@record
class Lambda(Located):
    """A function as an argument: its parameters and its body; not a value by itself."""

    params: tuple[Variable | Items, ...]
    body: Node


@record
class Arm(Located):
    """`body`, for a value that fits `pattern` and makes `guard` truthy."""

    pattern: Pattern
    body: Node
    guard: Node | None = None


@record
class Match(Located):
    """The first arm that takes the value of `subject`; an error if none does."""

    subject: Node
    arms: tuple[Arm, ...]


# Construction


@record
class Spread(Located):
    """The elements or fields of a value, in place of the value.

    `deep`, in objects only: nested objects are merged, arrays joined.
    """

    value: Node
    deep: bool = False


@record
class ArrayLiteral(Located):
    """A new array."""

    items: tuple[Node | Spread, ...]


@record
class Entry(Located):
    """A field of a new object.

    Left out if there is a `condition` that does not hold, or if it is `optional`
    and the value null.
    """

    key: str
    value: Node
    optional: bool = False
    condition: Node | None = None


@record
class ComputedEntry(Located):
    """A field whose key is the text of a value."""

    key: Node
    value: Node
    condition: Node | None = None


@record
class Shorthand(Located):
    """A field with the key `name` and the value of `Name(name)`; left out if null."""

    name: str


@record
class ObjectLiteral(Located):
    """A new object; of equal keys the last wins, at the place of the first."""

    entries: tuple[Entry | ComputedEntry | Shorthand | Spread, ...]


@record
class For(Located):
    """One loop of a comprehension: one or two names; all conditions must hold."""

    names: tuple[str, ...]
    source: Node
    conditions: tuple[Node, ...] = ()


@record
class ArrayComprehension(Located):
    """A value for each turn of the loops, the last one innermost.

    `distinct`: of equal values only the first.
    """

    item: Node
    loops: tuple[For, ...]
    distinct: bool = False


@record
class ObjectComprehension(Located):
    """A field for each turn of the loops; of equal keys the last wins."""

    key: Node
    value: Node
    loops: tuple[For, ...]


@record
class Text(Located):
    """The fixed part of an f-string, braces no longer doubled."""

    text: str


@record
class Interpolation(Located):
    """A value as text, formatted by `spec` (the text behind the colon)."""

    value: Node
    spec: str | None = None


@record
class FString(Located):
    """Text with values in it; no two `Text` are neighbours, none is empty."""

    parts: tuple[Text | Interpolation, ...]


# Writes


@record
class Write(Located):
    """A new value at `path`, whose first step is a `Field`.

    In `value`, `@` is the old one. `condition` is about the whole target.
    """

    path: tuple[Field | Index | Each | Descend, ...]
    value: Node
    condition: Node | None = None


@record
class Patch(Located):
    """`target` with all writes made; each of them reads it as it was before."""

    target: Node
    writes: tuple[Write, ...]


Step: TypeAlias = (
    Field
    | Index
    | Slice
    | Computed
    | Each
    | InlineFilter
    | Descend
    | Method
    | DeepMethod
    | DeepMatch
    | ExactlyOne
)

Node: TypeAlias = (
    Literal
    | Root
    | Current
    | Source
    | Name
    | Delete
    | Path
    | Call
    | Negate
    | Binary
    | Compare
    | Not
    | And
    | Or
    | Coalesce
    | Contains
    | ContainsAll
    | IsKind
    | Cast
    | Conditional
    | Try
    | Pipe
    | Let
    | Lambda
    | Match
    | ArrayLiteral
    | ObjectLiteral
    | ArrayComprehension
    | ObjectComprehension
    | FString
    | Patch
)

_NODES = frozenset(get_args(Node))


def is_node(thing: object) -> TypeGuard[Node]:
    """Whether a part of the tree is an expression, not a step, argument, entry or pattern."""
    return type(thing) in _NODES
