"""Deep and long queries: our limits, and time in proportion to the length."""

import sys
from contextlib import suppress

import pytest

from headrace.api.results import evaluate, prepare
from headrace.errors import HeadraceError, QuerySyntaxError
from headrace.language import traversal
from headrace.language.parser import MAX_DEPTH, MOST_TERMS, parse
from headrace.language.unparse import unparse
from headrace.physical.explain import explain
from headrace.physical.query_plan import plan_query

# The text that opens a level, the innermost text, the text that closes a level.
NESTED = {
    "parentheses": ("(", "a", ")"),
    "arrays": ("[", "a", "]"),
    "objects": ("{a: ", "a", "}"),
    "computed keys": ("{a, [", "a", "]: 1}"),
    "sets": ("{", "a", " for a in b}"),
    "comprehensions": ("[a for a in ", "b", " if c]"),
    "generators": ("(a for a in b if ", "b", ")"),
    "keys of comprehensions": ("{", "a", ": b for a in c}"),
    "calls": ("f(", "a", ")"),
    "methods": ("a.f(b, ", "a", ")"),
    "filters": ("a{", "b", "}"),
    "indexes": ("a[", "b", "]"),
    "conditions": ("a[* if ", "b", "]"),
    "bodies": ("a[*] => ", "b", ""),
    "arrows": ("(a, b) => ", "a", ""),
    "lambdas": ("lambda [a, b]: ", "a", ""),
    "lets": ("let a = ", "b", " in a"),
    "let bodies": ("let a = b in ", "a", ""),
    "conditionals": ("a if b else ", "c", ""),
    "tests": ("a if (", "b", ") else c"),
    "tries": ("try a else ", "b", ""),
    "signs": ("-", "a", ""),
    "negations": ("not ", "a", ""),
    "matches": ("match ", "a", " with { _ -> b }"),
    "arms": ("match a with { _ -> ", "b", " }"),
    "guards": ("match a with { _ when ", "b", " -> c }"),
    "patches": ("patch ", "a", " {b.c[0]: 1}"),
    "writes": ("patch a {b: ", "c", "}"),
    "deep matches": ("a..match { _ -> ", "b", " }"),
}
PATTERNS = {
    "array patterns": ("[", "a", "]"),
    "object patterns": ("{a: ", "a", "}"),
    "alternatives": ("(", "a", " | a)"),
}
LONG = {
    "sums": ("a", " + a"),
    "ors": ("a", " or a"),
    "steps": ("a", ".b[0]"),
    "pipes": ("a", " | f(a)"),
    "items": ("[a", ", a", "]"),
    "conditions": ("[a for a in b", " if a", "]"),
    "loops": ("[a for a in b", " for a in b", "]"),
    "arms": ("match a with { 1 -> a", ", {a: 1 | 2} -> a", "}"),
    "alternatives": ("match a with { a", " | a", " -> a }"),
    "interpolations": ('f"', "{a[0]:>6}", '"'),
    "writes": ("patch a { b: 1", ", b.c[* if a].d: 1", "}"),
    "filters of a target": ("patch a", "{a.b.c > 1}", " {b: 1}"),
}


def nested(opening, middle, closing, levels):
    return opening * levels + middle + closing * levels


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_nested_up_to_the_limit(shape):
    tree = parse(nested(*shape, MAX_DEPTH))
    assert unparse(parse(unparse(tree))) == unparse(tree)
    assert parse(nested(*shape, 1000), max_depth=1000)


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_nested_beyond_the_limit(shape):
    with pytest.raises(QuerySyntaxError, match="nested more than 256 levels deep"):
        parse(nested(*shape, 300))
    with pytest.raises(QuerySyntaxError, match="nested more than 1000 levels deep"):
        parse(nested(*shape, 1100), max_depth=1000)


def test_operators_of_every_level_in_each_parenthesis():
    operators = ("a ?? b or c and d has e == f + g * (", "h", ")")
    assert parse(nested(*operators, 100), max_depth=1000)
    with pytest.raises(QuerySyntaxError, match="nested more than 1000 levels deep"):
        parse(nested(*operators, 999), max_depth=1000)


@pytest.mark.parametrize("sign", ["(", "[", "-"])
def test_nested_absurdly_deep(sign):
    with pytest.raises(QuerySyntaxError, match="nested more than 256 levels"):
        parse(sign * 30_000)


@pytest.mark.parametrize("shape", PATTERNS.values(), ids=PATTERNS)
def test_patterns_nested_up_to_the_limit(shape):
    for levels in (100, 10_000):
        query = f"match a with {{ {nested(*shape, levels)} -> a }}"
        if levels < MAX_DEPTH:
            assert unparse(parse(query))
        else:
            with pytest.raises(QuerySyntaxError, match="nested more than 256"):
                parse(query)


def test_the_limit_counts_expressions_inside_each_other():
    assert parse("[[1]]", max_depth=2)
    with pytest.raises(QuerySyntaxError) as caught:
        parse("[[[1]]]", max_depth=2)
    assert caught.value.offset == 3
    assert parse("1 + (1 + 1)", max_depth=2)
    with pytest.raises(QuerySyntaxError):
        parse("1 + (1 + (1 + 1))", max_depth=2)


def test_flat_chains_are_not_deep():
    names = ["a"] * 10_000
    for sign in [" and ", " or ", " ?? ", " | ", "."]:
        parse(sign.join(names))
    assert parse("1 - 1 + 1 * 1 + 1", max_depth=2)
    for query in ("a" + " - b" * MOST_TERMS, "a" + " | b" * 10_000):
        assert unparse(parse(query)) == query


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("1" + " + 1" * 2500, b"2501"),
        ("1" + " - 1 + 2" * 1000, b"1001"),
        ("0" + " or 0" * 2500 + " or 7", b"7"),
        ("7" + " or 1 / 0" * 2500, b"7"),
        ("1" + " and 1" * 2500 + " and 0", b"false"),
        ("null" + " ?? null" * 2500 + " ?? 7", b"7"),
        ("' a '" + ".trim()" * 2500, b'"a"'),
        ("$" + ".p" * 2500, b"null"),
        ("1" + " | @ + 1" * 2500, b"2501"),
        ("[[1]][*]" + ".take(1)" * 1000, b"[[1]]"),
    ],
    ids=["sum", "signs", "or", "first or", "and", "??", "methods", "fields", "pipe", "[*]"],
)  # fmt: skip
def test_a_long_flat_chain_is_computed(query, answer):
    assert evaluate(query, b"null") == answer


def test_a_chain_has_an_end():
    with pytest.raises(QuerySyntaxError, match="more than 3,000 terms"):
        parse("1" + " + 1" * 5_000)


def test_a_tree_of_the_greatest_depth_can_be_walked():
    tree = parse(nested("[", "1", "]", 1000), max_depth=1000)
    assert sum(1 for _ in traversal.walk(tree)) == 1001


def steps(query):
    """Count the calls that parsing makes."""
    count = 0

    def on_event(_frame, event, _argument):
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(on_event)
    try:
        parse(query, max_depth=1000)
    except QuerySyntaxError:
        pass
    finally:
        sys.setprofile(None)
    return count


def assert_linear(make):
    once, twice, four_times = (steps(make(levels)) for levels in (60, 120, 240))
    assert once > 1000
    assert twice < 2.1 * once
    assert four_times < 2.1 * twice


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_work_grows_with_the_length_of_nested_queries(shape):
    opening, middle, closing = shape
    assert_linear(lambda levels: nested(opening, middle, closing, levels))
    assert_linear(lambda levels: nested(opening, middle, "", levels))
    assert_linear(lambda levels: nested(opening, middle + " 1", closing, levels))


@pytest.mark.parametrize("shape", PATTERNS.values(), ids=PATTERNS)
def test_work_grows_with_the_length_of_nested_patterns(shape):
    assert_linear(lambda levels: f"match a with {{{nested(*shape, levels)} -> a}}")


@pytest.mark.parametrize("shape", LONG.values(), ids=LONG)
def test_work_grows_with_the_length_of_long_queries(shape):
    start, middle, *end = shape
    assert_linear(lambda times: start + middle * times + "".join(end))


@pytest.mark.parametrize(
    "around",
    [
        pytest.param("{}", marks=pytest.mark.sweep),
        "$.rows().map({})",
        pytest.param("@other.map({})", marks=pytest.mark.sweep),
    ],
)
@pytest.mark.parametrize("name", NESTED)
def test_a_query_of_the_greatest_depth_is_planned(name, around):
    opening, inner, closing = NESTED[name]
    limit = sys.getrecursionlimit()
    for depth in (120, MAX_DEPTH - 3):
        query = around.format(opening * depth + inner + closing * depth)
        for ask in (plan_query, explain, lambda query, stream: prepare(query)):
            # Some have no meaning, such as a lambda by itself; none may crash the process.
            with suppress(HeadraceError):
                ask(query, stream=True)
    assert sys.getrecursionlimit() == limit


def test_the_deepest_queries_have_plans():
    for opening, inner, closing in (NESTED["arrays"], ("$.map(", "1", ")")):
        query = opening * (MAX_DEPTH - 3) + inner + closing * (MAX_DEPTH - 3)
        assert plan_query(query).main
        assert explain(query)
