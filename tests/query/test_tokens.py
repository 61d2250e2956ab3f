"""Tokens of a query."""

from decimal import Decimal

import pytest

from headrace.errors import QuerySyntaxError
from headrace.language.tokens import TokenKind, tokenize


def texts(query):
    return [token.text for token in tokenize(query)[:-1]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("@.a-b", ["@", ".", "a", "-", "b"]),
        ("a-b", ["a", "-", "b"]),
        ("@.a - b", ["@", ".", "a", "-", "b"]),
        ("$..a-b", ["$", "..", "a", "-", "b"]),
        ("$ . a-1", ["$", ".", "a", "-", "1"]),
        ("a # b\n.c#", ["a", ".", "c"]),
        ('"#" # "', ['"#"']),
        ("$.user->x", ["$", ".", "user", "->", "x"]),
        ("1..10", ["1", "..", "10"]),
        ("1..=10", ["1", "..=", "10"]),
        ("0.0..5.0", ["0.0", "..", "5.0"]),
        ("1.5.type()", ["1.5", ".", "type", "(", ")"]),
        ("1.e5", ["1", ".", "e5"]),
        ("1e5e5", ["1e5", "e5"]),
        ("1else", ["1", "else"]),
        ("a??b?|c?|d", ["a", "??", "b", "?|", "c", "?|", "d"]),
        ("a?.b? | c", ["a", "?", ".", "b", "?", "|", "c"]),
        ("a!=b!", ["a", "!=", "b", "!"]),
        ("...**a...*b...c", ["...**", "a", "...*", "b", "...", "c"]),
        ("a|>b|c->d=>e", ["a", "|>", "b", "|", "c", "->", "d", "=>", "e"]),
        ("@name.x", ["@name", ".", "x"]),
        ("@if", ["@", "if"]),
        ("@ name", ["@", "name"]),
        ("\t1\r\n 2", ["1", "2"]),
        ('f "a"', ["f", '"a"']),
        ('xf"a"', ["xf", '"a"']),
    ],
)
def test_where_tokens_end(query, expected):
    assert texts(query) == expected


@pytest.mark.parametrize("word", ["if", "kind", "DELETE", "a"])
def test_a_word_after_a_dot_is_a_field(word):
    kinds = [token.kind for token in tokenize(f".{word} ..{word} {word}")]
    assert kinds[1] is kinds[3] is TokenKind.FIELD
    assert kinds[4] is TokenKind.WORD


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r'"\n\r\t\0\\\"\'"', "\n\r\t\0\\\"'"),
        (r"'\x41\xe9'", "Aé"),
        (r'"\u00e9\u20ac"', "é€"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\d+\.\/\b"', r"\d+\./\b"),
        (r'"\x4\u12"', r"\x4\u12"),
        ('"é😀"', "é😀"),
        ("'a\"b'", 'a"b'),
        ('"two\nlines"', "two\nlines"),
        ('""', ""),
        (r"'\\'", "\\"),
    ],
)
def test_strings(literal, value):
    token, _ = tokenize(literal)
    assert (token.kind, token.value) == (TokenKind.STRING, value)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("0", 0),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("9" * 640, int("9" * 640)),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("2e+2", 200.0),
        ("1e-400", 0.0),
        ("1e400", Decimal("1e400")),
    ],
)
def test_numbers(literal, value):
    token, _ = tokenize(literal)
    assert (token.kind, type(token.value)) == (TokenKind.NUMBER, type(value))
    assert token.value == value


def test_an_f_string_is_a_run_of_tokens():
    kind = TokenKind
    tokens = tokenize("""f"a{{ {x['}']:>6}}}{y}" """)
    assert [(token.kind, token.value or token.text) for token in tokens] == [
        (kind.F_START, 'f"'),
        (kind.F_TEXT, "a{ "),
        (kind.SIGN, "{"),
        (kind.WORD, "x"),
        (kind.SIGN, "["),
        (kind.STRING, "}"),
        (kind.SIGN, "]"),
        (kind.F_SPEC, ">6"),
        (kind.SIGN, "}"),
        (kind.F_TEXT, "}"),
        (kind.SIGN, "{"),
        (kind.WORD, "y"),
        (kind.SIGN, "}"),
        (kind.F_END, '"'),
        (kind.END, ""),
    ]


def test_tokens_have_positions():
    query = "$.a + f\"b{c}\" - 'd' @e"
    for token in tokenize(query):
        assert query[token.start : token.end] == token.text


@pytest.mark.parametrize(
    ("query", "offset", "reason"),
    [
        pytest.param('a + "b', 4, "not closed", id="string"),
        pytest.param("'a\\'", 0, "not closed", id="escaped quote"),
        pytest.param('f"a', 0, "not closed", id="f-string"),
        pytest.param('f"a{b"', 3, "not closed", id="brace in an f-string"),
        pytest.param('f"{\'a}"', 3, "not closed", id="string in an f-string"),
        pytest.param('f"a}"', 3, "closes nothing", id="lone brace"),
        pytest.param('"\\ud800"', 0, "surrogate", id="half a pair"),
        pytest.param("a \ud800", 2, "Unicode", id="not Unicode"),
        pytest.param("naïve", 2, "unexpected ï", id="letter"),
        pytest.param("a\u00a0b", 1, "unexpected U+00A0", id="no-break space"),
        pytest.param("1e99999999999999999999", 0, "exponent", id="exponent"),
        pytest.param("9" * 641, 0, "640", id="long number"),
    ],
)
def test_invalid_tokens(query, offset, reason):
    with pytest.raises(QuerySyntaxError) as caught:
        tokenize(query)
    assert caught.value.offset == offset
    assert reason in caught.value.reason
