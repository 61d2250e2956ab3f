"""Mistakes of users of jq, SQL, Python and JavaScript: each error has a place and a hint."""

import pytest

from headrace.api.results import prepare
from headrace.errors import HeadraceError, QuerySyntaxError
from headrace.logical.encode.compiler import unknown_source
from headrace.suggestion import nearest

MISTAKES = [
    # The query, the column, and what to write instead.
    ("a = 1", 3, "compare with =="),
    ("a === 1", 3, "compare with =="),
    ("a !== 1", 3, "compare with !="),
    ("a <> 1", 3, "compare with !="),
    ("a && b", 3, "write `and`"),
    ("a || b", 3, "write `or`"),
    ("!a", 1, "write `not x`"),
    ("a // b", 3, "write ??"),
    ("a AND b", 3, "keywords are written small: and"),
    ("if a then b", 1, "value if test else other"),
    ("v ? 1 : 2", 5, "value if test else other"),
    (".", 2, "write $ or @ for the value itself"),
    (".[]", 2, "without a dot before the bracket"),
    (".t[]", 4, "write [*] for all elements"),
    ("$name", 1, ""),
    ('"a', 1, "close it with the same quote"),
    ("f(a", 4, ""),
    ('f"{"', 3, "write {{"),
    ("f'{k}'", 2, "f-strings take double quotes"),
    ("{a.b}", 2, "key: value"),
    ("1 < x < 3", 7, "a < b and b < c"),
    ("k IS NULL", 3, "is"),
    ("1 not in xs", 3, "not x in xs"),
    ("a; b", 2, "one expression"),
    ("2 ** 3", 4, "write x * x"),
    ("2 ^ 3", 3, "write x * x"),
    ("us.count(*)", 10, "count() for all"),
    ("us.sort(v desc)", 11, "sort(-v)"),
    ("us.sort(v DESC)", 11, "sort(-v)"),
    ('name LIKE "a%"', 6, "text ~= part"),
    ("x BETWEEN 1 AND 2", 3, "a <= x and x <= b"),
    ("SELECT a FROM b", 8, "{a, b} where test"),
    ("where x > 1", 7, "{a, b} where test"),
    ("CASE WHEN a", 6, "value if test else other"),
    (".v as $x", 7, "value -> name"),
    ("match a {1 -> 'x'}", 15, "match value with {"),
    ("match a {x -> y}", 17, "match value with {"),
    ("def f(x): x", 9, "def f(x, y) = x + y in f(1, 2)"),
    ("sum(x for x in xs)", 7, "f([x for x in xs])"),
    ("us.join(@o, on=id)", 15, "on: …"),
    ("name.lenght()", 5, "did you mean len?"),
    ("name.length()", 5, "did you mean len?"),
    ("xs.size()", 3, "did you mean len?"),
    ("name.uper()", 5, "did you mean upper?"),
    ("name.toUpperCase()", 5, "did you mean upper?"),
    ("name.startswith('a')", 5, "did you mean starts_with?"),
    ("name.startsWith('a')", 5, "did you mean starts_with?"),
    ("us.average(v)", 3, "did you mean avg?"),
    ("us.mean(v)", 3, "did you mean avg?"),
    ("us.where(v)", 3, "did you mean filter?"),
    (".a | select(.b)", 6, "did you mean filter?"),
    ("us.limit(3)", 3, "did you mean take?"),
    ("us.groupby(k)", 3, "did you mean group_by?"),
    ("us.order_by(k)", 3, "did you mean sort?"),
    ("xs.push(1)", 3, ".append(x)"),
    ("xs.insert(0, 1)", 3, ".append(x) or .prepend(x)"),
    ("xs.head(3)", 3, ".first(3) or .take(3)"),
    ("xs.tail(3)", 3, ".last(3)"),
    ("s.sub('a', 'b')", 2, ".replace_re(pattern, text)"),
    ("s.like('a%')", 2, "text ~= part"),
    ("us.unique(k)", 11, ".unique_by(k)"),
    ("us.distinct(k)", 13, ".unique_by(k)"),
    ("us.group_by(k, v)", 16, "[k, v]"),
    ("us.count_by(k, v)", 16, "[k, v]"),
    ("rows().count()", 1, "write $.rows()"),
    ("@.rows()", 2, "write $.rows()"),
    ("o.pick(o.p)", 8, 'quote it: "o.p"'),
    ("o.omit(.p.q)", 8, 'quote it: "p.q"'),
    ("us.join(@o, how: left)", 3, ""),
    ("us.join(@o)", 3, "on: id"),
    ("@nope.count()", 1, "--name nope=FILE"),
    ("xs.fold(0)", 3, "(total, x) => total + x"),
    ("k == True", 6, "write true"),
    ("k != None", 6, "write null"),
    ("us.sum('v')", 8, "write v"),
    ("us.sort(v, reverse: true)", 12, "sort(-key)"),
    ('f"{v:5q}"', 6, "{x:08.2f}"),
    ("$.total = 5", 9, "$.x.set(1)"),
    ("x = 5", 3, "let x = 1 in"),
    ("{id = 1}", 5, "key: value"),
    ("{a: 1, id = 1}", 11, "key: value"),
    ("{user-id}", 2, '"user-id": $."user-id"'),
    ("id in (1, 2)", 9, "x in [1, 2]"),
    ('v in ("x")', 6, 'in ["x"]'),
    ("v in (1)", 6, "in [1]"),
    ("filter(id > 1, $)", 8, "xs.filter(…)"),
    ("count(id > 1, @p)", 7, "xs.count(…)"),
    ("$.count(total > @.total)", 9, "write $.name for the row"),
    ("us.filter(x => x.a[0] == x.a[0])", 16, "name the other value first"),
    ("let t = a in t < t", 14, "name the other value first"),
    ('t.format_time("YYYY-MM")', 15, ""),
    ("xs.take(-1)", 9, ".last(1)"),
    ("xs.first(-2)", 10, ".last(2)"),
    ("xs.last(count: -2)", 16, ".first(2)"),
    ("$.rows().skip(-1)", 15, "[:-1]"),
    ("xs.drop(-3)", 9, "[:-3]"),
    ("xs.lag(-1)", 8, ".lead(1)"),
    ("xs.lead(-1)", 9, ".lag(1)"),
    ("k is missing", 6, "write missing(field)"),
    ("k is not missing", 10, "write missing(field)"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "column", "cure"), MISTAKES)
def test_a_mistake_has_a_place_and_a_cure(query, column, cure):
    with pytest.raises(HeadraceError) as caught:
        prepare(query)
    error = caught.value
    assert isinstance(error, QuerySyntaxError)
    assert error.column == column
    assert cure in (error.hint or error.reason)
    assert error.hint or not cure


@pytest.mark.parametrize(
    ("call", "column"),
    [
        ("chunk(-1)", 9),
        ("window(-2)", 10),
        ("flatten(-1)", 11),
        ("rolling_avg(-1)", 15),
        ("pad_left(-5)", 12),
        ("center(-5, '-')", 10),
        ("indent(-1)", 10),
        ("repeat(-1.0)", 10),
    ],
)
def test_a_count_below_zero_is_refused(call, column):
    with pytest.raises(
        QuerySyntaxError, match="takes a count of 0 or more, not -"
    ) as caught:
        prepare(f"v.{call}")
    assert caught.value.column == column


def test_there_are_seventy_mistakes():
    assert len(MISTAKES) >= 70


def test_a_misspelt_source_is_named():
    error = unknown_source("@peple", "peple", 0, ["people", "other"])
    assert error.hint == "did you mean @people?"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("startsWith", "starts_with"),
        ("UPPER", "upper"),
        ("group-by", "group_by"),
        ("fliter", "filter"),
        ("nmae", "name"),
        ("aeg", "age"),
        ("ga", None),
        ("qqq", None),
    ],
)
def test_the_nearest_name(name, wanted):
    names = ["starts_with", "upper", "group_by", "filter", "same", "name", "age", "ag"]
    assert nearest(name, names) == wanted
