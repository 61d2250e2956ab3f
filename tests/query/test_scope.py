"""Meaning of names and ``@`` inside lambdas, comprehensions and functions of the query."""

import json

import pytest

from headrace.api.results import evaluate

DOCUMENT = {
    "id": 1,
    "k": 10,
    "xs": [3, 1, 2],
    "us": [{"id": 7, "k": 1, "xs": [1, 2]}, {"id": 8, "k": 2, "xs": [5]}],
}


def answer(query):
    return json.loads(evaluate(query, json.dumps(DOCUMENT).encode()))


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        # A lambda with a parameter leaves ``@`` and bare names alone.
        ("xs.filter(x => x > id)", [3, 2]),
        ("xs.filter(lambda x: x > @.id)", [3, 2]),
        ("[x for x in xs if x > id]", [3, 2]),
        ("[x + y for x in xs for y in xs].len()", 9),
        ("{x.to_string(): k for x in xs}", {"3": 10, "1": 10, "2": 10}),
        ("[{x, k} for x in xs if x == 1]", [{"x": 1, "k": 10}]),
        ("xs.map(x => len()) == [4, 4, 4]", True),
        ("us.map(u => u.k + k)", [11, 12]),
        ("match k with {n: number -> xs.map(x => n), _ -> 0}", [10, 10, 10]),
        ("xs.fold(0, (total, x) => total + x * k)", 60),
        # In an argument without a parameter, ``@`` is the element, also in nested expressions.
        ("us.map(xs.map(x => x * k))", [[1, 2], [10]]),
        ("us.map([x * k for x in xs])", [[1, 2], [10]]),
        ("us.map(u => xs.map(x => x + u.k))", [[4, 2, 3], [5, 3, 4]]),
        ("us.map(u => u.xs.filter(@ > u.k))", [[2], [5]]),
        ("us[*].xs.map(x => x + k)", [[11, 12], [15]]),
        ("us.filter(xs.any(x => x > k)).map(id)", [7, 8]),
        ("us.sort(-xs.map(x => x + k).sum()).map(id)", [8, 7]),
        ("$.us.map(k) | @.map(x => x + $.k)", [11, 12]),
        ("us | @.map(u => @.len())", [2, 2]),
        ("match xs with { [a, ...r] -> r.map(x => x + a + k) }", [14, 15]),
        ("us.map(let _k = 5 in xs.map(x => x + _k + k))", [[7, 8], [12]]),
        # Functions of the query.
        ("let f = x => x * 2 in f(3)", 6),
        ("def f(x) = x * 2 in f(3) + f(x: 1)", 8),
        ("def f(x) = x + k in us.map(f(k))", [11, 12]),
        ("def f(u) = u.xs.sum() in us.map(f)", [3, 5]),
        ("def f([a, b]) = a - b in f([3, 1])", 2),
        ("def f(x, y) = x - y in f(y: 1, x: 3)", 2),
        ("def f(x) = x + 1 in def g(x) = f(x) * f(2) in g(1)", 6),
        ("let x = 5 in def f(y) = x + y in let x = 1 in f(x)", 6),
        ("def len(x) = 'mine' in [len(1), xs.len()]", ["mine", 3]),
        ("def f() = k in f()", 10),
    ],
)
def test_names_in_nested_scopes(query, wanted):
    assert answer(query) == wanted
