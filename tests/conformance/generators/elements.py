"""Methods of elements: choosing, transforming, cutting and combining arrays."""

from __future__ import annotations

from itertools import accumulate, dropwhile, pairwise, product, takewhile, zip_longest
from typing import TYPE_CHECKING, Any

from tests.conformance.generators.made import Case, fails, gives

if TYPE_CHECKING:
    from collections.abc import Callable

ARRAYS: list[list[Any]] = [[], [4], [3, 1, 2, 3, 0, 5], [2, 2, 2], [-1, 7, 0, -3]]
MIXED: list[Any] = [1, None, "a", 0, [2], None, 1.0, "a", False]
OBJECTS: list[dict[str, Any]] = [
    {"id": 1, "k": "x", "v": 4},
    {"id": 2, "k": "y", "v": None},
    {"id": 3, "k": "x", "v": 1, "t": [1, 2]},
    {"id": 4, "v": 9, "t": []},
]


def cut(xs: list[Any], size: int) -> list[Any]:
    """Cut into arrays of one size, the last of the remaining elements."""
    return [xs[at : at + size] for at in range(0, len(xs), size)]


def once(xs: list[Any]) -> list[Any]:
    """Keep the first of equal elements; True is not 1."""
    kept: list[Any] = []
    for x in xs:
        if not any(x == y and isinstance(x, bool) is isinstance(y, bool) for y in kept):
            kept.append(x)
    return kept


def first_of_each(xs: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Keep the first element of each key."""
    kept: dict[Any, Any] = {}
    for x in xs:
        kept.setdefault(key(x), x)
    return list(kept.values())


def first(xs: list[Any]) -> Any:
    """Return the first element, None if there is none."""
    return next(iter(xs), None)


# A query about an array of integers, and the same in Python.
OF_INTEGERS = {
    "filter(@ > 1)": lambda xs: [x for x in xs if x > 1],
    "filter(@ > 0, @ < 4)": lambda xs: [x for x in xs if 0 < x < 4],
    "find_all(@ != 2)": lambda xs: [x for x in xs if x != 2],
    "filter(x => x % 2 == 0)": lambda xs: [x for x in xs if x % 2 == 0],
    "map(@ * 2)": lambda xs: [x * 2 for x in xs],
    "map(x => [x, x + 1])": lambda xs: [[x, x + 1] for x in xs],
    "map(lambda x: {n: x})": lambda xs: [{"n": x} for x in xs],
    "flat_map([@, @])": lambda xs: [y for x in xs for y in (x, x)],
    "flat_map(range(@))": lambda xs: [y for x in xs for y in range(x)],
    "take(2)": lambda xs: xs[:2],
    "take(0)": lambda xs: [],
    "skip(2)": lambda xs: xs[2:],
    "drop(1)": lambda xs: xs[1:],
    "skip(99)": lambda xs: [],
    "find(@ > 2)": lambda xs: first([x for x in xs if x > 2]),
    "find_first(@ < 2)": lambda xs: first([x for x in xs if x < 2]),
    "find_index(@ == 2)": lambda xs: xs.index(2) if 2 in xs else None,
    "indices_where(@ > 1)": lambda xs: [n for n, x in enumerate(xs) if x > 1],
    "any(@ > 4)": lambda xs: any(x > 4 for x in xs),
    "exists(@ == 0)": lambda xs: 0 in xs,
    "all(@ > 0)": lambda xs: all(x > 0 for x in xs),
    "take_while(@ > 1)": lambda xs: list(takewhile(lambda x: x > 1, xs)),
    "takewhile(@ != 2)": lambda xs: list(takewhile(lambda x: x != 2, xs)),
    "drop_while(@ > 1)": lambda xs: list(dropwhile(lambda x: x > 1, xs)),
    "dropwhile(@ != 2)": lambda xs: list(dropwhile(lambda x: x != 2, xs)),
    "first()": first,
    "first(2)": lambda xs: xs[:2],
    "last()": lambda xs: first(xs[::-1]),
    "last(2)": lambda xs: xs[-2:],
    "nth(1)": lambda xs: xs[1] if len(xs) > 1 else None,
    "remove(3)": lambda xs: [x for x in xs if x != 3],
    "remove(@ < 2)": lambda xs: [x for x in xs if x >= 2],
    "count()": len,
    "count(@ > 1)": lambda xs: sum(x > 1 for x in xs),
    "len()": len,
    "reverse()": lambda xs: xs[::-1],
    "unique()": once,
    "distinct()": once,
    "unique_by(@ * @ % 4)": lambda xs: first_of_each(xs, lambda x: x * x % 4),
    "partition(@ > 1)": lambda xs: [
        [x for x in xs if x > 1],
        [x for x in xs if x <= 1],
    ],
    "chunk(2)": lambda xs: cut(xs, 2),
    "batch(4)": lambda xs: cut(xs, 4),
    "window(2)": lambda xs: [list(pair) for pair in pairwise(xs)],
    "window(3)": lambda xs: [xs[at : at + 3] for at in range(len(xs) - 2)],
    "pairwise()": lambda xs: [list(pair) for pair in pairwise(xs)],
    "enumerate()": lambda xs: [{"index": n, "value": x} for n, x in enumerate(xs)],
    "append(9)": lambda xs: [*xs, 9],
    "prepend(9)": lambda xs: [9, *xs],
    "append([9])": lambda xs: [*xs, [9]],
    "diff([3, 9])": lambda xs: [x for x in xs if x not in (3, 9)],
    "intersect([2, 3])": lambda xs: [x for x in xs if x in (2, 3)],
    "union([3, 9, 9])": lambda xs: xs + [x for x in [3, 9] if x not in xs],
    "zip(['a', 'b'])": lambda xs: [list(pair) for pair in zip(xs, "ab", strict=False)],
    "zip_longest(['a', 'b'])": lambda xs: list(map(list, zip_longest(xs, "ab"))),
    "zip_longest(['a'], fill: 0)": lambda xs: list(
        map(list, zip_longest(xs, "a", fillvalue=0))
    ),
    "zip_streams([8, 7])": lambda xs: [
        list(pair) for pair in zip(xs, [8, 7], strict=False)
    ],
    "zip_streams([8], longest: true)": lambda xs: list(map(list, zip_longest(xs, [8]))),
    "fold(10, (a, x) => a + x)": lambda xs: 10 + sum(xs),
    "reduce('', (a, x) => a + to_string(x))": lambda xs: "".join(map(str, xs)),
    "fold((a, x) => a - x)": lambda xs: xs[0] - sum(xs[1:]) if xs else None,
    "accumulate((a, x) => a + x)": lambda xs: list(accumulate(xs)),
    "accumulate(100, (a, x) => a - x)": lambda xs: list(
        accumulate(xs, lambda a, x: a - x, initial=100)
    )[1:],
    "index(2)": lambda xs: xs.index(2) if 2 in xs else None,
    "index_of(3)": lambda xs: xs.index(3) if 3 in xs else -1,
    "last_index_of(3)": lambda xs: len(xs) - 1 - xs[::-1].index(3) if 3 in xs else -1,
    "indices_of(2)": lambda xs: [n for n, x in enumerate(xs) if x == 2],
    "join('-')": lambda xs: "-".join(map(str, xs)),
    "sort()": sorted,
    "sort(-@)": lambda xs: sorted(xs, reverse=True),
    "sort_by(@ * @, @)": lambda xs: sorted(xs, key=lambda x: (x * x, x)),
    "sort((a, b) => a > b)": lambda xs: sorted(xs, reverse=True),
    "sort().take(2)": lambda xs: sorted(xs)[:2],
    "min_by(-@)": lambda xs: max(xs, default=None),
    "max_by(@ * @)": lambda xs: max(xs, key=lambda x: x * x, default=None),
    "collect()": list,
    "to_json()": lambda xs: str(xs).replace(" ", ""),
    "map(@ + 1).filter(@ > 2).sum()": lambda xs: sum(x + 1 for x in xs if x > 1),
}

COUNTING = (
    *("take", "skip", "drop", "first", "last", "lag", "lead", "flatten"),
    *("chunk", "window", "rolling_sum"),
)

OF_MIXED = {
    "compact()": [x for x in MIXED if x is not None],
    "unique()": [1, None, "a", 0, [2], False],
    "filter(@)": [1, "a", [2], 1.0, "a"],
    "count(@)": 5,
    "find(@ is array)": [2],
    "find_index(@ == null)": 1,
    "indices_of('a')": [2, 7],
    "sort()": [None, None, False, 0, 1, 1.0, "a", "a", [2]],
    "map(@.type())": ["number", "null", "string", "number", "array", "null", "number", "string", "bool"],
    "flat_map(@)": [1, "a", 0, 2, 1.0, "a", False],
    "remove(0)": [1, None, "a", [2], None, 1.0, "a", False],
    "join('|')": "1|null|a|0|[2]|null|1|a|false",
    "partition(@ is string)": [["a", "a"], [1, None, 0, [2], None, 1.0, False]],
    "count_distinct()": 5,
    "any(@ == false)": True,
    "all(@ != 3)": True,
    "includes([2])": True,
    "take_while(@ != null)": [1],
}  # fmt: skip


def without(one: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return an object without some keys."""
    return {key: value for key, value in one.items() if key not in keys}


OF_OBJECTS: dict[str, Any] = {
    "map(id)": [1, 2, 3, 4],
    "map(.id)": [1, 2, 3, 4],
    "map(@.k)": ["x", "y", "x", None],
    "map({id, k})": [{"id": 1, "k": "x"}, {"id": 2, "k": "y"}, {"id": 3, "k": "x"}, {"id": 4}],
    "map({id, k: k})": [{"id": row["id"], "k": row.get("k")} for row in OBJECTS],
    "filter(k == 'x').map(id)": [1, 3],
    "filter(v).map(id)": [1, 3, 4],
    "filter(v > 1, id > 1).map(id)": [4],
    "find(k == 'y').id": 2,
    "find(id > 9)": None,
    "find_one(id == 3).v": 1,
    "count(v == null)": 1,
    "sort(-id).map(id)": [4, 3, 2, 1],
    "sort(v).map(id)": [2, 3, 1, 4],
    "sort(k, -v).map(id)": [4, 1, 3, 2],
    "unique_by(k).map(id)": [1, 2, 4],
    "distinct_by(k).map(id)": [1, 2, 4],
    "min_by(v).id": 2,
    "max_by(v).id": 4,
    "group_by(k).keys()": ["x", "y", "null"],
    "group_by(k).transform_values(@.map(id))": {"x": [1, 3], "y": [2], "null": [4]},
    "count_by(k)": {"x": 2, "y": 1, "null": 1},
    "index_by(id).transform_values(v)": {"1": 4, "2": None, "3": 1, "4": 9},
    "index_by(k).transform_values(id)": {"x": 3, "y": 2, "null": 4},
    "explode(t).map([id, t])": [[1, None], [2, None], [3, 1], [3, 2]],
    "flat_map(t)": [1, 2],
    "flat_map([k, id])": ["x", 1, "y", 2, "x", 3, None, 4],
    "pick(id).last()": {"id": 4},
    "omit(t, v)": [without(row, "t", "v") for row in OBJECTS],
    "merge({ok: true}).map(ok)": [True] * 4,
    "partition(k == 'x').map(@.map(id))": [[1, 3], [2, 4]],
    "group(k, {n: count(), total: sum(v)})": [
        {"k": "x", "n": 2, "total": 5},
        {"k": "y", "n": 1, "total": 0},
        {"k": None, "n": 1, "total": 9},
    ],
    "group(has_v: v != null, {ids: @.map(id)})": [
        {"has_v": True, "ids": [1, 3, 4]},
        {"has_v": False, "ids": [2]},
    ],
    "group(k, big: v > 3, {n: count()})": [
        {"k": "x", "big": True, "n": 1},
        {"k": "y", "big": False, "n": 1},
        {"k": "x", "big": False, "n": 1},
        {"k": None, "big": True, "n": 1},
    ],
    "aggregate({n: count(), top: max(v), low: min(v), mean: avg(v), all: sum(v)})": {
        "n": 4, "top": 9, "low": 1, "mean": 14 / 3, "all": 14,
    },
    "aggregate({d: count_distinct(k), m: mode(k), half: median(v)})": {"d": 2, "m": "x", "half": 4},
    "group_shape(k, @.len())": {"x": 2, "y": 1, "null": 1},
    "row_number(by: k, as: 'n').map(n)": [1, 1, 2, 1],
    "row_number(-id).map(row_number)": [4, 3, 2, 1],
    "rank(k).map(rank)": [2, 4, 2, 1],
    "dense_rank(k).map(dense_rank)": [2, 3, 2, 1],
    "rank(-v, by: k, as: 'p').map(p)": [1, 1, 2, 1],
    "pivot(k, id)": {"x": 3, "y": 2, "null": 4},
    "pivot('k', 'id', 'v')": {"x": {"1": 4, "3": 1}, "y": {"2": None}, "null": {"4": 9}},
    "map(t).count()": 4,
    "equi_join([{key: 'x', n: 7}], k, key).map([id, n])": [[1, 7], [3, 7]],
    "equi_join([{key: 'x', n: 7}], 'k', 'key', (l, r) => l.id + r.n)": [8, 10],
    "join([{k: 'x', n: 7}, {k: 'x', n: 8}], on: k).map([id, n])": [[1, 7], [1, 8], [3, 7], [3, 8]],
    "join([{key: 'y', id: 9}], on: k == key).map(id)": [9],
    "join([{id: 3, w: 1}], on: id, as: 'o').map([id, o.w])": [[3, 1]],
    "left_join([{k: 'x', n: 7}], on: k).map([id, n])": [[1, 7], [2, None], [3, 7], [4, None]],
    "lookup([{k: 'x', n: 7}, {k: 'x', n: 8}], on: k).map([id, n])": [[1, 7], [2, None], [3, 7], [4, None]],
    "diff([{k: 'x'}], on: k).map(id)": [2, 4],
    "intersect([{k: 'x'}, {k: 'x'}], on: k).map(id)": [1, 3],
    "diff([{id: 1}, {id: 2}], on: id).map(id)": [3, 4],
    "join([{a: 1, b: 'x', w: 5}], on: id == a and k == b).map(w)": [5],
    "implode(id).count()": 4,
    "map(@.omit(v, t)).implode(id)": [
        {"id": [1, 3], "k": "x"},
        {"id": [2], "k": "y"},
        {"id": [4]},
    ],
}  # fmt: skip


def cases() -> list[Case]:
    """Return all cases of elements."""
    made = [
        gives(name_of(method), f"$.{method}", xs, in_python(xs))
        for method, in_python in OF_INTEGERS.items()
        for xs in ARRAYS
    ]
    made += [
        gives(f"mixed-{name_of(method)}", f"$.{method}", MIXED, answer)
        for method, answer in OF_MIXED.items()
    ]
    made += [
        gives(f"objects-{name_of(method)}", f"$.{method}", OBJECTS, answer)
        for method, answer in OF_OBJECTS.items()
    ]
    return [*made, *others()]


def name_of(method: str) -> str:
    """Return the name of the first method of a query."""
    return method.partition("(")[0]


def others() -> list[Case]:
    """Return the cases that are not about a single array."""
    nested = [[1, [2, [3]]], [], 4]
    made = [
        gives("flatten", "$.flatten()", nested, [1, [2, [3]], 4]),
        gives("flatten", "$.flatten(2)", nested, [1, 2, [3], 4]),
        gives("flatten", "$.flatten(9)", nested, [1, 2, 3, 4]),
        gives("chain", "chain(a, b, 3)", {"a": [1], "b": None}, [1, 3]),
        gives("chain", "a.chain([0], [a])", {"a": [5]}, [5, 0, [5]]),
        gives("coalesce", "coalesce(a, b, c)", {"b": False, "c": 1}, False),
        gives("coalesce", "coalesce(a, b)", {}, None),
        fails("find_one", "$.find_one(@ > 1)", [1, 2, 3], "find_one wants exactly one"),
        fails("find_one", "$.find_one(@ > 9)", [1, 2], "find_one wants exactly one"),
        gives("find_one", "$.find_one(@ > 2)", [1, 2, 3], 3),
        gives("fanout", "n.fanout(@ + 1, @ * 2, @)", {"n": 5}, [6, 10, 5]),
        gives("to_csv", "$.to_csv()", [[1, None, "a,b"], ['q"q']], '1,,"a,b"\n"q""q"'),
        gives("to_csv", "$.to_csv(['a', 'b'])", [{"b": 1}, {"a": "x"}], "a,b\n,1\nx,"),
        gives("to_tsv", "$.to_tsv()", [{"a": 1, "b": "x"}, {"b": "y"}], "1\tx\n\ty"),
    ]
    for name in COUNTING:
        reason = "a count must be 0 or more, not number -1"
        made.append(fails("count", f"xs.{name}(n)", {"xs": [1], "n": -1}, reason))
    for part in ("chunk", "window"):
        reason = f"a {part} must have at least 1 element"
        made.append(fails("size", f"$.{part}(0)", [1, 2], reason))
    for left, right in (([1, 2], ["a", "b"]), ([], [1]), ([1], [2])):
        answer = [list(pair) for pair in product(left, right)]
        made.append(gives("product", "product(l, r)", {"l": left, "r": right}, answer))
    for bounds in ((3,), (0,), (2, 5), (5, 2), (0, 10, 3), (3, -3, -2), (-2, 2)):
        written = ", ".join(map(str, bounds))
        made.append(gives("range", f"range({written})", None, list(range(*bounds))))
    for method in (
        "filter(@)", "map(@)", "take(2)", "skip(1)", "compact()", "sort()", "unique()", "reverse()",
        "flat_map(@)", "window(2)", "pairwise()", "enumerate()", "chunk(2)", "take_while(@)",
        "collect()", "flatten()", "indices_where(@)", "accumulate((a, x) => a)",
    ):  # fmt: skip
        made.append(gives("of-null", f"v.{method}", {"v": None}, []))
        made.append(gives("of-null", f"v.{method}", {}, []))
    for method in (
        "filter(@)",
        "map(@)",
        "take(1)",
        "sum()",
        "count()",
        "sort()",
        "first()",
    ):
        made.append(
            fails("of-number", f"v.{method}", {"v": 5}, "number 5 has no elements")
        )
        made.append(
            fails(
                "of-object", f"v.{method}", {"v": {"a": 1}}, "an object has no elements"
            )
        )
    return made
