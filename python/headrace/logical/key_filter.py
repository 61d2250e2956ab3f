"""Key filters: the values that fields of a row must have to pass the first filters of a query, or a join.

A key filter may accept too many rows, never too few: the filters of the query drop every row
without one of the values, and cannot fail on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.kernel.values import DEEPEST, parse
from headrace.language import ast
from headrace.logical.totality import cannot_fail
from headrace.store.rows.demand import KeyFilter, KeySet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.logical.stream_plan import JoinStage, StreamPlan
    from headrace.store.rows.demand import KeyValue

_Bound: TypeAlias = "tuple[str, tuple[KeyValue, ...]]"

_EXACT = 1 << 63
"""From here on, two different keys can be equal as numbers."""


def of_stream(plan: StreamPlan) -> KeyFilter | None:
    """Return the key filter of a plan: rows without these values are skipped.

    >>> from headrace.language.parser import parse
    >>> from headrace.logical.stream_planner import plan_stream
    >>> of_stream(plan_stream(parse("$.filter(a == 1 and b > 2).take(3)"), whole=True))
    KeyFilter(fields=(('a', (1,)),))
    """
    from headrace.logical.stream_plan import StreamStage

    match plan.stages:
        case (
            StreamStage("each", ast.Path(ast.ArrayLiteral((ast.Root(),)), steps)),
            *_,
        ):
            return _filter(_leading_conditions(steps))
        case _:
            return None


def of_condition(tree: ast.Node) -> KeyFilter | None:
    """Return the key filter of a condition on rows.

    >>> from headrace.language.parser import parse
    >>> of_condition(parse('level in ["warn", "error"] and $.code == 7'))
    KeyFilter(fields=(('level', ('warn', 'error')), ('code', (7,))))
    >>> of_condition(parse("id == 1 or ms > 2"))
    """
    return _filter([(None, tree)])


class JoinKey(NamedTuple):
    """Fields of the key of a join; `is_array`: the key is the array of their values."""

    names: tuple[str, ...]
    is_array: bool


def of_join(stage: JoinStage) -> JoinKey | None:
    """Return the fields of the key of right rows; None if it is computed in another way.

    >>> from headrace.language.parser import parse
    >>> from headrace.logical.stream_planner import plan_stream
    >>> def of(on):
    ...     plan = plan_stream(parse(f"$.join(@o, on: {on})"), whole=True)
    ...     return of_join(plan.stages[0])
    >>> of("user == id"), of("[.a, b]")
    (JoinKey(names=('id',), is_array=False), JoinKey(names=('a', 'b'), is_array=True))
    >>> of("a.b")
    """
    if stage.right.stages or stage.right.reduction != "lines":
        return None
    match stage.right_key:
        case ast.ArrayLiteral(items):
            names = [_element_field(item) for item in items]
            if not names or None in names or len(set(names)) < len(names):
                return None
            return JoinKey(tuple(name for name in names if name), is_array=True)
        case key:
            name = _element_field(key)
            return None if name is None else JoinKey((name,), is_array=False)


def _element_field(tree: ast.Node | ast.Spread) -> str | None:
    match tree:
        case ast.Let((ast.Binding(ast.Variable(row), ast.Root()),), body):
            return _field(body, row)
        case ast.Spread():
            return None
        case _:
            return _field(tree, None)


def keys_of(key: JoinKey, texts: Iterable[bytes]) -> KeySet | None:
    """Return the key set of keys, each as JSON; None if an index cannot find all their rows.

    >>> keys_of(JoinKey(("id",), is_array=False), [b"1", b'"a"'])
    KeySet(names=('id',), values=((1,), ('a',)))
    >>> keys_of(JoinKey(("id",), is_array=False), [b"[1]"])
    """
    found = []
    for text in texts:
        parts = parse(text, DEEPEST)
        if not key.is_array:
            parts = [parts]
        elif not isinstance(parts, list) or len(parts) != len(key.names):
            # It equals no key of the other side.
            continue
        if not all(map(_is_key, parts)):
            return None
        found.append(tuple(parts))
    return KeySet(key.names, tuple(found))


def _is_key(value: object) -> bool:
    if isinstance(value, int | float):
        return abs(value) < _EXACT
    return isinstance(value, str)


def _leading_conditions(
    steps: Sequence[ast.Step],
) -> Iterator[tuple[str | None, ast.Node]]:
    """Yield the conditions that rows must pass, with the name of the row in each."""
    for step in steps:
        match step:
            case ast.Method("filter" | "find_all", (ast.Arg(condition, None),)):
                pass
            case ast.InlineFilter(condition):
                pass
            case ast.Each(ast.Located() as condition):
                pass
            case _:
                return
        match condition:
            case ast.Name():
                # Of a value that is no object it may be a method.
                return
            case ast.Lambda((ast.Variable(name),), body):
                yield name, body
            case ast.Lambda():
                return
            case _:
                yield None, condition
        if isinstance(step, ast.Each):
            return


def _filter(conditions: Iterable[tuple[str | None, ast.Node]]) -> KeyFilter | None:
    found: dict[str, tuple[KeyValue, ...]] = {}
    for row, condition in conditions:
        for conjunct in _conjuncts(condition):
            bound = _bound(conjunct, row)
            if bound is not None:
                found.setdefault(*bound)
            elif not cannot_fail(conjunct):
                return KeyFilter(tuple(found.items())) if found else None
    return KeyFilter(tuple(found.items())) if found else None


def _conjuncts(tree: ast.Node) -> Iterator[ast.Node]:
    """Yield the operands of ``and``, in the order in which they are evaluated."""
    if isinstance(tree, ast.And):
        for operand in tree.operands:
            yield from _conjuncts(operand)
    else:
        yield tree


def _bound(tree: ast.Node, row: str | None) -> _Bound | None:
    """Return the field of a condition and the values that it allows."""
    match tree:
        case ast.Compare(ast.CompareOperator.EQUAL, left, right):
            return _one_of(left, (right,), row) or _one_of(right, (left,), row)
        case ast.Contains(ast.ArrayLiteral(items), item):
            return _one_of(item, items, row)
        case ast.Path(
            ast.ArrayLiteral(items),
            (ast.Method("includes" | "contains", (ast.Arg(item, None),)),),
        ):
            return _one_of(item, items, row)
        case ast.Or(operands):
            several = [_bound(operand, row) for operand in operands]
            first = several[0]
            if first is None or any(
                one is None or one[0] != first[0] for one in several
            ):
                return None
            values = tuple(value for one in several if one for value in one[1])
            return first[0], values
        case _:
            return None


def _one_of(
    tree: ast.Node, items: Sequence[ast.Node | ast.Spread], row: str | None
) -> _Bound | None:
    name = _field(tree, row)
    values = [_value(item) for item in items]
    if name is None or not values or None in values:
        return None
    return name, tuple(value for value in values if value is not None)


def _field(tree: ast.Node, row: str | None) -> str | None:
    """Return the field of the row that an expression is; None if it is no field."""
    match tree:
        case ast.Name(name) if name != row:
            return name
        case ast.Path(ast.Root() | ast.Current(), (ast.Field(name),)):
            return name
        case ast.Path(ast.Name(base), (ast.Field(name),)) if base == row:
            return name
        case _:
            return None


def _value(tree: ast.Node | ast.Spread) -> KeyValue | None:
    """Return the constant that an expression is, if it can be a key."""
    match tree:
        case ast.Literal(str() | bool() as value):
            return value
        case ast.Literal(int() | float() as number) if number < _EXACT:
            return _with_all_digits(number)
        case ast.Negate(ast.Literal(int() | float() as number)) if (
            not isinstance(number, bool) and number < _EXACT
        ):
            return _with_all_digits(-number)
        case _:
            return None


def _with_all_digits(number: float) -> KeyValue:
    """Return a number as in its key: an integer, if it is whole.

    >>> _with_all_digits(1234567890123450112.0), _with_all_digits(0.5)
    (1234567890123450112, 0.5)
    """
    return int(number) if number == int(number) else number
