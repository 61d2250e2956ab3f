"""Queries without a meaning are refused before any row is read, with a place and a hint."""

import pytest

from headrace.api.results import evaluate, prepare
from headrace.errors import HeadraceError, QuerySyntaxError


def refusal(query):
    with pytest.raises(QuerySyntaxError) as caught:
        prepare(query)
    return caught.value


@pytest.mark.parametrize(
    ("query", "column", "reason", "hint"),
    [
        ("us.sort(v, reverse: true)", 12, "sort has no argument reverse; there is key", "write sort(-key)"),
        ("us.filter(k: 'y')", 11, "filter has no argument k; there is condition", "k == …"),
        ("xs.len(a: 1)", 8, "len has no argument a; it takes none by name", ""),
        ("xs.zip_streams(ys, long: true)", 20, "zip_streams has no argument long; there are other and longest", ""),
        ("s.replace(with: 'x', 'a')", 22, "an argument without a name follows one with a name", "in front"),
        ("s.replace('a', part: 'b')", 16, "replace is given part twice", ""),
        ("s.replace(with: 'a', with: 'b')", 22, "replace is given with twice", ""),
        ("s.slice(end: 1)", 9, "slice needs start as well", ""),
        ("slice(s, start: 1, stop: 2)", 20, "slice has no argument stop; there are start and end", ""),
        ("us.omit(a: b)", 9, "omit has no argument a; there is keys", ""),
        ("us.join(@o, on: id, on: k)", 3, "join is given on: twice", ""),
        ("us.join(on: id, @o)", 3, "an argument without a name follows one with a name", ""),
        ("us.join(@o, how: left)", 3, "join has no argument how; there are on:, right_on: and as:", ""),
    ],
)  # fmt: skip
def test_wrong_named_arguments_are_refused(query, column, reason, hint):
    error = refusal(query)
    assert reason in error.reason
    assert error.column == column
    assert hint in error.hint


@pytest.mark.parametrize(
    ("query", "column", "what", "hint"),
    [
        ('us.sum("v")', 8, "expression", 'write v, or x => "v"'),
        ('us.map("v")', 8, "expression", "write v"),
        ('us.max(f"v")', 8, "expression", ""),
        ('us.sort("-v")', 9, "key", "write -v"),
        ('us.sort(-"v")', 9, "key", "write -v"),
        ('us.sort(["a", "b"])', 9, "key", "[a, b]"),
        ('us.group_by("k")', 13, "key", "write k"),
        ("us.group_by(1)", 13, "key", ""),
        ('us.unique_by("two words")', 14, "key", 'write @["two words"]'),
        ('us.filter("v > 1")', 11, "condition", "write v > 1"),
        ('xs.any("b")', 8, "condition", 'write b, or @ == "b"'),
        ("xs.find(3)", 9, "condition", "@ == …"),
        ('xs.count("b")', 10, "condition", 'write b, or @ == "b"'),
        ('us{"k"}', 4, "condition", "write k"),
        ('us[* if "k"].v', 9, "condition", "write k"),
        ('count(us, "k")', 11, "condition", "write k"),
        ('$..find("k")', 9, "condition", "write k"),
    ],
)
def test_constants_for_each_element(query, column, what, hint):
    error = refusal(query)
    assert f" {what} about each element" in error.reason
    assert error.column == column
    assert hint in error.hint


@pytest.mark.parametrize(
    "on", ["id > id", "id >= id", "id != id", "a == b and c > d", "a or b", "not a", "true", "3", "a is number"]
)  # fmt: skip
def test_a_join_is_on_an_equality(on):
    error = refusal(f"us.join(@o, on: {on})")
    assert "on: is a key or left == right" in error.reason
    assert error.column == 13


@pytest.mark.parametrize(
    "query",
    [
        *("us.pick('a')", "us.omit('a')", "us.pivot('a', 'b')", "us.explode('a')"),
        *("us.has('a')", "xs.index('a')", "xs.includes('a')", "xs.remove('a')"),
        *("us.filter(true)", "us.count(true)", "us.sum(1)", "us.map(0)"),
        *("us.map(x => 'a')", "o.transform_values('a')", "$.a.modify('a')"),
        *("us.join(xs, on: 'id')", "us.equi_join(xs, 'a', 'b')", "xs.join(separator: '-')"),
        *("us.pick(a: b, c)", "o.zip_shape(a: b)", "xs.zip_longest([1], fill: 0)"),
    ],
)  # fmt: skip
def test_values_and_names_may_be_constants(query):
    assert prepare(query)


@pytest.mark.parametrize(
    ("query", "column", "reason"),
    [
        ("xs.fold(0)", 3, "fold needs a step"),
        ("xs.reduce(@ + 1)", 3, "reduce needs a step"),
        ("xs.fold(0, @ + 1)", 12, "fold needs a step"),
        ("xs.accumulate(0, x => x)", 18, "accumulate needs a step"),
        ("let f = x => x in xs.fold(0, f)", 30, "fold needs a step"),
    ],
)
def test_a_fold_has_a_step(query, column, reason):
    error = refusal(query)
    assert reason in error.reason
    assert error.column == column
    assert "(total, x) => total + x" in error.hint


@pytest.mark.parametrize(
    ("query", "column", "reason"),
    [
        ('f"{v:5q}"', 6, "there is no type q"),
        ('f"a{v}{v:.f}"', 10, "a point needs digits"),
        ('f"{v:.2d}"', 6, "d writes a whole number"),
        ('f"{v:,x}"', 6, "grouped with _"),
        ('f"{v:+s}"', 6, "for numbers, not for s"),
        ('f"{v:99999}"', 6, "at most 10000"),
        ('f"{v:05.2f5}"', 6, "means nothing here"),
        ("f\"{o['a:b']:é}\"", 13, "there is no type é"),
    ],
)
def test_invalid_formats_are_refused(query, column, reason):
    error = refusal(query)
    assert reason in error.reason
    assert error.column == column
    assert "{x:08.2f}" in error.hint


@pytest.mark.parametrize(
    ("query", "column", "group", "hint"),
    [
        (r'$.replace_re("(\d+)-(\d+)", "$2_$1")', 29, "2_", "write ${2}_"),
        (r'$.replace_all_re("(a)", "$2")', 25, "2", "$$"),
        (r'$.replace_re("(?<year>a)", "${month}")', 28, "month", "$$"),
        (r'replace_re(s, "a", with: "$1")', 26, "1", "$$"),
    ],
)
def test_groups_of_templates(query, column, group, hint):
    error = refusal(query)
    assert error.reason == f"the pattern has no group {group}"
    assert error.column == column
    assert hint in error.hint


def test_groups_of_templates_that_are_not_known_beforehand():
    with pytest.raises(HeadraceError, match="the pattern has no group 2"):
        evaluate('$.replace_re("(a)", "$" + "2")', b'"a"')
    assert evaluate('$.replace_re("(?<y>a)", "${y}$$0$0" + "")', b'"a"') == b'"a$0a"'


@pytest.mark.parametrize(
    ("query", "column", "reason", "hint"),
    [
        ("match a with {x -> 1, _ -> 2}", 23, "the one at column 15 takes all", "put it last"),
        ("match a with {_ -> 1, 2 -> 2}", 23, "no value reaches this arm", "a guard"),
        ("match a with {1 | x -> 1, 2 -> 2}", None, "", ""),
        ("$..match {x -> 1, _ -> 2}", 19, "the one at column 11 takes all", ""),
        ("match a with {int -> 1, _ -> 2}", 15, "int is no kind", "write number"),
        ("match a with {1 | str -> 1}", None, "", ""),
        ("match a with {{v: text} -> 1}", 19, "text is no kind", "write string"),
        ("match a with {[list, ...] -> 1}", 16, "list is no kind", "write array"),
        *[(f"match a with {{{name} -> 1}}", 15, f"{name} is no kind", "for the kind") for name in ("float", "dict", "boolean", "integer")],
    ],
)  # fmt: skip
def test_arms_of_match(query, column, reason, hint):
    error = refusal(query)
    assert reason in error.reason
    assert column is None or error.column == column
    assert hint in error.hint


def test_arms_that_can_be_reached():
    assert prepare(
        "match a with {x when x > 1 -> 1, {text} -> text, {text: text} -> 2, y -> y}"
    )


@pytest.mark.parametrize(
    ("query", "column", "reason"),
    [
        ("def f(x) = f(x) in f(1)", 12, "f calls itself"),
        ("def f(x) = x.map(f) in f(1)", 18, "f calls itself"),
        ("def f(x) = x in f(1, 2)", 17, "f(x) takes 1 argument, not 2"),
        ("def f(x, y) = x in f(1)", 20, "f(x, y) takes 2 arguments, not 1"),
        ("def f(x) = x in f(y: 1)", 19, "f(x) has no parameter y"),
        ("def f(x) = x in f(1, x: 1)", 22, "f(x) is given x twice"),
        ("def f(x, y) = x in f(y: 1, 2)", 28, "an argument without a name follows"),
        ("def f(x) = x in f", 17, "f is a function"),
        ("x => x", 1, "a lambda can only be an argument"),
        ("def f(x) = x + x in def g(x) = f(f(f(f(x)))) in def h(x) = g(g(g(g(x)))) in def i(x) = h(h(h(h(x)))) in def j(x) = i(i(i(i(x)))) in def k(x) = j(j(j(j(x)))) in def l(x) = k(k(k(k(x)))) in def m(x) = l(l(l(l(x)))) in m(1)", None, "over 10000 times"),
    ],
)  # fmt: skip
def test_functions_of_the_query(query, column, reason):
    error = refusal(query)
    assert reason in error.reason
    assert column is None or error.column == column
