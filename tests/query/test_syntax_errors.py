"""Messages of syntax errors: position, excerpt and hint."""

import pickle

import pytest

from headrace.errors import HeadraceError, QuerySyntaxError
from headrace.language.parser import parse


def error_of(query):
    with pytest.raises(QuerySyntaxError) as caught:
        parse(query)
    return caught.value


@pytest.mark.parametrize(
    ("query", "offset", "reason"),
    [
        ("", 0, "the query is empty"),
        (" \n ", 3, "the query is empty"),
        ("1 +", 3, "a query cannot end here"),
        ("+3", 0, "unexpected +"),
        ("a b", 2, "unexpected b"),
        ("a)", 1, "unexpected )"),
        ("a = 1", 2, "unexpected ="),
        ("1 < 2 < 3", 6, "comparisons cannot be chained"),
        ("a == b != c", 7, "comparisons cannot be chained"),
        ("a has b has c", 8, "has cannot follow another such test"),
        ("a is number is bool", 12, "is cannot follow another such test"),
        ("a is number has b", 12, "unexpected has"),
        ("a is text", 5, "expected a kind after is, found text"),
        ("a is not", 8, "a query cannot end here: expected a kind after is not"),
        ("a as text", 5, "expected a type after as, found text"),
        ("xs has [a]", 8, "after has, a list holds only literals"),
        ("xs has [-true]", 8, "after has, a list holds only literals"),
        ("a + not b", 4, "unexpected not"),
        ("a + try b else c", 4, "unexpected try"),
        ("f(a", 3, "expected , or ) to close ( opened at column 2"),
        ("f(a]", 3, "expected , or ) to close ( opened at column 2, found ]"),
        ("a +\n (b", 7, "expected ) to close ( opened at column 2"),
        ("[1", 2, "expected , or ] to close [ opened at column 1"),
        ("{a", 2, "a query cannot end here: expected } to close the object"),
        ("{a, b", 5, "a query cannot end here: expected } to close the object"),
        ("{a: 1", 5, "expected , or } to close { opened at column 1"),
        ("{a: 1 b: 2}", 6, "expected , or } to close { opened at column 1, found b"),
        ("{a.b}", 1, "this entry has no key"),
        ("{a, b.c}", 4, "this entry has no key"),
        ("{a, 1: 2}", 4, "expected a key: a name, a string or […], found 1"),
        ("{a, kind}", 4, "kind is a keyword and cannot stand for key and value"),
        ("{a.b: 1}", 1, "a key is a name, a string, or an expression in […]"),
        ("f(a,)", 4, "unexpected )"),
        ("$.", 2, "a query cannot end here: expected a field after ."),
        ("$.1", 2, "expected a field after ., found 1"),
        ("xs[]", 3, "expected an index, found ]"),
        ("xs[a:b]", 3, "the bounds of a slice are whole numbers"),
        ("xs[1:b]", 5, "the bounds of a slice are whole numbers"),
        ("xs[1:1.5]", 5, "the bounds of a slice are whole numbers"),
        ("if a then b", 0, "unexpected if"),
        ("[x for x in xs where x]", 15, "a comprehension has no where"),
        ("def f x = 1 in f", 6, "expected the parameters in parentheses"),
        ("def f(x): x", 8, "expected = after the parameters, found :"),
        ("def f(x) = x; f(1)", 12, "unexpected ;"),
        ("def f(x) = x", 12, "expected in after the definition"),
        ("a if b if c else d", 7, "unexpected if"),
        ("try a", 5, "expected else after the expression to try"),
        ("let a = 1", 9, "expected in after the names of let"),
        ("let 1 = a in b", 4, "expected a name to give a value to, found 1"),
        ("let a == 1 in a", 6, "expected = after the name, found =="),
        ("lambda a", 8, "expected : after the parameters"),
        ("(a, 1) => b", 4, "expected a parameter"),
        ("a -> 1", 5, "expected a name, {…} or […] after ->, found 1"),
        ("[x for 1 in xs]", 7, "expected a name after for, found 1"),
        ("[x for x of xs]", 9, "expected in after the names of for, found of"),
        ("match a", 7, "expected with after the value to match"),
        ("match a with { 1 => 2 }", 17, "expected -> after the pattern, found =>"),
        ("match a with { a | 1 -> 2 }", 19, "must bind the same names"),
        ("match a with { x: 1 -> 2 }", 18, "expected a kind after x:"),
        ("match a with { 1..b -> 2 }", 18, "expected a number, found b"),
        ("match a with { b.c -> 2 }", 16, "expected -> after the pattern, found ."),
        ("match a with { }", 15, "expected a pattern, found }"),
        ("patch a", 7, "expected { after the value to patch"),
        ("patch a {'b': 1}", 9, "expected a path, found a string"),
        ("patch a {b = 1}", 11, "expected : after the path, found ="),
        ("patch a {b[c]: 1}", 11, "expected a position, *, or a string, found c"),
        ("patch a {b..: 1}", 12, "expected a key after .., found :"),
        ('f"{}"', 2, "there is nothing in these braces"),
        ('f"{a b}"', 5, "expected } to close { opened at column 3, found b"),
        ('f"{(a}"', 5, "expected ) to close ( opened at column 4, found }"),
    ],
)
def test_where_and_what(query, offset, reason):
    error = error_of(query)
    assert reason in error.reason
    assert error.offset == offset


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("a = 1", "compare with =="),
        ("a === 1", "compare with =="),
        ("a !== 1", "compare with !="),
        ("a <> 1", "compare with !="),
        ("a && b", "write `and`"),
        ("a & b", "write `and`"),
        ("a || b", "write `or`"),
        ("!a", "write `not x`"),
        ("a // b", "write ??"),
        ("a =~ 'b'", ".re_match"),
        ("a AND b", "keywords are written small: and"),
        ("NOT a", "keywords are written small: not"),
        ("a == not b", "put it in parentheses: (not x)"),
        ("x not in xs", "write: not x in xs"),
        ("if a then b else c end", "value if test else other"),
        ("$name", "write $.name"),
        ("@ name", "write @.name"),
        (".", "write $ or @ for the value itself"),
        (".[0]", "without a dot before the bracket"),
        ("..a", "write $.. or @.."),
        ("xs[]", "write [*] for all elements"),
        ("kind == 1", "write @.kind"),
        ("[k, v] => v", "([k, v]) => …"),
        ("def f(x): x", "def f(x, y) = x + y in f(1, 2)"),
        ("a; b", "one expression"),
        ("“a”", "write strings as"),
        ('"a', "close it with the same quote"),
        ("1 < 2 < 3", "a < b and b < c"),
        ('f"}"', "write }}"),
        ("@.naïve", 'write such a key as @["…"]'),
        ("[" * 300, "--max-depth"),
    ],
)
def test_hints_for_common_slips(query, hint):
    assert hint in error_of(query).hint


def test_the_line_the_caret_and_the_hint_are_shown():
    assert str(error_of("$.a\n  | b && c")).splitlines() == [
        "line 2, column 7: unexpected &&",
        "    | b && c",
        "        ^",
        "write `and`",
    ]


def test_tabs_and_line_ends_keep_the_caret_in_place():
    assert str(error_of("\ta b\r\nc")).splitlines()[1:3] == ["  \ta b ", "  \t  ^"]


@pytest.mark.parametrize("length", [0, 10, 100, 1000])
def test_only_a_part_of_a_long_line_is_shown(length):
    query = "a" * length + " ° " + "b" * length
    error = error_of(query)
    _, shown, caret, *_ = str(error).splitlines()
    assert len(shown) < 80
    assert shown[caret.index("^")] == "°"


def test_it_survives_pickling():
    error = error_of("a = 1")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.args == error.args == ("a = 1", 2, error.reason, error.hint)
    assert isinstance(error, HeadraceError)
