"""Aggregates of groups, ranks in an order, and statistics of numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from headrace.language import ast, traversal
from tests.reference.language.methods.reducers import REDUCERS, rounded, total
from tests.reference.language.methods.streams import elements
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    exact,
    finite,
    identity,
    in_order,
    is_number,
    kind_of,
)

# Groups


def _about_group(node):
    """Return an aggregate with ``@`` before its functions of elements."""
    if isinstance(node, ast.Call) and node.name in REDUCERS.keys() | STATISTICS.keys():
        return ast.Path(ast.Current(), (ast.Method(node.name, node.args),))
    if isinstance(node, ast.Path):
        return replace(node, base=_about_group(node.base))
    if isinstance(node, ast.Call | ast.Lambda | ast.Pipe | ast.ArrayComprehension):
        raise NotInSubset("an aggregate that is made of others by a call")
    return traversal.rebuilt(node, _about_group)


def _made(arguments, group):
    shape = arguments.args[-1].value
    if not isinstance(shape, ast.ObjectLiteral):
        raise QueryError("aggregates are an object")
    scope = arguments.scope.at(group)
    return arguments.evaluate(_about_group(shape), scope)


def _key(arguments, place):
    """Return the name of a key, and the key as a function of an element."""
    arg = arguments.args[place]
    match arg.value:
        case _ if arg.name:
            name = arg.name
        case ast.Name(name) | ast.Path(_, (*_, ast.Field(name))):
            pass
        case _:
            raise QueryError("a key without a name")
    return name, arguments.each(place)


def _group(receiver, arguments):
    keys = [_key(arguments, place) for place in range(len(arguments) - 1)]
    groups = {}
    for element in elements(receiver):
        values = [key(element) for _name, key in keys]
        groups.setdefault(identity(values), (values, []))[1].append(element)
    names = [name for name, _key in keys]
    return [
        {**dict(zip(names, values, strict=True)), **_made(arguments, group)}
        for values, group in groups.values()
    ]


def _aggregate(receiver, arguments):
    if len(arguments) != 1:
        raise QueryError("aggregate has no keys")
    return _made(arguments, list(elements(receiver)))


# Ranks


def _ranking(kind):
    def method(receiver, arguments):
        named = {arg.name: arg.value for arg in arguments.args}
        field = named.get("as", ast.Literal(kind))
        field = field.name if isinstance(field, ast.Name) else field.value
        places = [p for p, arg in enumerate(arguments.args) if arg.name is None]
        by = [p for p, arg in enumerate(arguments.args) if arg.name == "by"]
        found = list(elements(receiver))
        if not all(isinstance(element, dict) for element in found):
            raise QueryError("places of what is no object")
        groups = {}
        for number, element in enumerate(found):
            key = arguments.each(by[0])(element) if by else None
            order = [_falling(arguments, place, element) for place in places]
            groups.setdefault(identity(key), []).append((order, number))
        ranks = {}
        for group in groups.values():
            orders = sorted(order for order, _number in group)
            for order, number in group:
                if kind == "row_number":
                    rank = sorted(group, key=lambda pair: pair[0]).index(
                        (order, number)
                    )
                elif kind == "rank":
                    rank = orders.index(order)
                else:
                    rank = len({id(o) for o in _different(orders) if o < order})
                ranks[number] = rank + 1
        return [{**element, field: ranks[n]} for n, element in enumerate(found)]

    return method


def _different(orders):
    return [order for place, order in enumerate(orders) if orders.index(order) == place]


class _Downwards:
    """A key in descending order."""

    def __init__(self, key):
        self.key = key

    def __lt__(self, other):
        return other.key < self.key

    def __eq__(self, other):
        return self.key == other.key

    def __hash__(self):
        raise NotImplementedError


def _falling(arguments, place, element):
    node = arguments.args[place].value
    if not isinstance(node, ast.Negate):
        return in_order(arguments.each(place)(element))
    upwards = replace(arguments, args=(ast.Arg(node.operand),))
    return _Downwards(in_order(upwards.each(0)(element)))


# Statistics


def _numbers(receiver, arguments, parameters=0):
    """Return the numbers, and the arguments after the expression."""
    found = elements(receiver)
    if len(arguments) > parameters:
        found = map(arguments.each(0), found)
    found = [value for value in found if value is not None]
    if not all(map(is_number, found)):
        raise QueryError("neither number nor null")
    for number in found:
        finite(number)
    return found, [arguments.value(len(arguments) - 1)] if parameters else []


def _at(numbers, part):
    """Return the quantile of sorted numbers."""
    numbers = sorted(numbers, key=exact)
    if not numbers:
        return None
    place = part * (len(numbers) - 1)
    low = numbers[math.floor(place)]
    beyond = place - math.floor(place)
    if beyond == 0:
        return low
    low, high = float(low), float(numbers[math.floor(place) + 1])
    if math.isfinite(high - low):
        return finite(low + (high - low) * beyond)
    return finite(low * (1 - beyond) + high * beyond)


def _median(receiver, arguments):
    return _at(_numbers(receiver, arguments)[0], 0.5)


def _quantile(receiver, arguments):
    numbers, (part,) = _numbers(receiver, arguments, 1)
    if not is_number(part) or not 0 <= part <= 1:
        raise QueryError("no part of 1")
    return _at(numbers, float(part))


def _spread(less, root):
    def method(receiver, arguments):
        numbers, _ = _numbers(receiver, arguments)
        if len(numbers) <= less:
            return None
        mean = rounded(total(numbers)) / len(numbers)
        distances = [float(number) - mean for number in numbers]
        squares = [finite(distance * distance) for distance in distances]
        variance = finite(rounded(total(squares)) / (len(numbers) - less))
        return math.sqrt(variance) if root else variance

    return method


def _values(receiver, arguments):
    found = elements(receiver)
    if arguments:
        found = map(arguments.each(0), found)
    return [value for value in found if value is not None]


def _mode(receiver, arguments):
    found = _values(receiver, arguments)
    same = [identity(value) for value in found]
    return max(found, default=None, key=lambda value: same.count(identity(value)))


def _count_distinct(receiver, arguments):
    return len(set(map(identity, _values(receiver, arguments))))


def _histogram(receiver, arguments):
    numbers, (buckets,) = _numbers(receiver, arguments, 1)
    if isinstance(buckets, list):
        if not buckets or not all(map(is_number, buckets)):
            raise QueryError("no edges")
        edges = [exact(edge) for edge in buckets]
        if sorted(set(edges)) != edges:
            raise QueryError("edges that do not rise")
        return [
            {
                "from": low,
                "to": high,
                "count": sum(
                    (low is None or exact(low) <= exact(number))
                    and (high is None or exact(number) < exact(high))
                    for number in numbers
                ),
            }
            for low, high in zip([None, *buckets], [*buckets, None], strict=True)
        ]
    if not is_number(buckets) or buckets <= 0:
        raise QueryError(f"no width but {kind_of(buckets)}")
    return _of_width(numbers, buckets)


def _of_width(numbers, width):
    whole = isinstance(width, int) and all(isinstance(n, int) for n in numbers)
    if not whole:
        numbers, width = [float(number) for number in numbers], float(width)

    def place_of(number):
        if not whole and abs(number / width) >= 2**53:
            raise QueryError("too narrow")
        place = math.floor(Fraction(number) / Fraction(width))
        return next(
            p
            for p in range(place - 2, place + 3)
            if p * width <= number < (p + 1) * width
        )

    places = [place_of(number) for number in numbers]
    if not places:
        return []
    if max(places) - min(places) >= 100_000:
        raise QueryError("too many buckets")
    return [
        {"from": p * width, "to": (p + 1) * width, "count": places.count(p)}
        for p in range(min(places), max(places) + 1)
    ]


STATISTICS = {
    "median": _median,
    "quantile": _quantile,
    "variance": _spread(1, root=False),
    "var_pop": _spread(0, root=False),
    "stddev": _spread(1, root=True),
    "stddev_pop": _spread(0, root=True),
    "mode": _mode,
    "count_distinct": _count_distinct,
    "histogram": _histogram,
}

STATISTICS["percentile"] = STATISTICS["quantile"]
STATISTICS["stdev"] = STATISTICS["stddev"]

AGGREGATES = {
    **STATISTICS,
    "group": _group,
    "aggregate": _aggregate,
    "row_number": _ranking("row_number"),
    "rank": _ranking("rank"),
    "dense_rank": _ranking("dense_rank"),
}
