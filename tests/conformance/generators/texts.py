"""Methods of texts, patterns and codecs, computed with Python's `str`, `re` and standard library."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import textwrap
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_plus

from tests.conformance.generators.made import Case, fails, gives

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = ["", "banana", "  Two words ", "naïve Café", "a-b_c d", "x1y22z", "😀 ok"]

METHODS: dict[str, Callable[[str], Any]] = {
    "len()": len,
    "upper()": str.upper,
    "lower()": str.lower,
    "trim()": str.strip,
    "trim_left()": str.lstrip,
    "lstrip()": str.lstrip,
    "trim_right()": str.rstrip,
    "rstrip()": str.rstrip,
    "capitalize()": lambda s: s[:1].upper() + s[1:].lower(),
    "strip_prefix('ba')": lambda s: s.removeprefix("ba"),
    "strip_suffix('na')": lambda s: s.removesuffix("na"),
    "pad_left(8)": lambda s: s.rjust(8),
    "pad_left(9, '*')": lambda s: s.rjust(9, "*"),
    "pad_right(8)": lambda s: s.ljust(8),
    "pad_right(9, '.')": lambda s: s.ljust(9, "."),
    "center(10, '-')": lambda s: "-" * ((10 - len(s)) // 2) + s + "-" * (10 - len(s) - (10 - len(s)) // 2)
    if len(s) < 10
    else s,
    "repeat(2)": lambda s: s * 2,
    "repeat_str(3)": lambda s: s * 3,
    "repeat(0)": lambda s: "",
    "replace('a', 'o')": lambda s: s.replace("a", "o", 1),
    "replace_all('a', 'oo')": lambda s: s.replace("a", "oo"),
    "replace(with: '', part: 'an')": lambda s: s.replace("an", "", 1),
    "split('a')": lambda s: s.split("a"),
    "split(' ')": lambda s: s.split(" "),
    "words()": str.split,
    "chars()": list,
    "chars_of()": list,
    "bytes()": lambda s: list(s.encode()),
    "byte_len()": lambda s: len(s.encode()),
    "reverse()": lambda s: s[::-1],
    "reverse_str()": lambda s: s[::-1],
    "starts_with('ba')": lambda s: s.startswith("ba"),
    "ends_with('na')": lambda s: s.endswith("na"),
    "matches('an')": lambda s: "an" in s,
    "contains('an')": lambda s: "an" in s,
    "includes('é')": lambda s: "é" in s,
    "contains_any(['x', 'w'])": lambda s: "x" in s or "w" in s,
    "contains_all(['a', 'n'])": lambda s: "a" in s and "n" in s,
    "index_of('a')": lambda s: s.find("a"),
    "last_index_of('a')": lambda s: s.rfind("a"),
    "index('n')": lambda s: s.find("n") if "n" in s else None,
    "scan('a')": lambda s: ["a"] * s.count("a"),
    "is_blank()": lambda s: not s.strip(),
    "is_numeric()": lambda s: re.fullmatch("[0-9]+", s) is not None,
    "is_alpha()": str.isalpha,
    "is_ascii()": str.isascii,
    "indent()": lambda s: textwrap.indent(s, "  ", lambda _line: True),
    "first_char": lambda s: s[:1],
    "to_base64()": lambda s: base64.b64encode(s.encode()).decode(),
    "to_base64().from_base64()": lambda s: s,
    "url_encode()": lambda s: quote(s, safe="-._~"),
    "url_encode().url_decode()": lambda s: s,
    "html_escape().html_unescape()": lambda s: s,
    "sha256()": lambda s: hashlib.sha256(s.encode()).hexdigest(),
    "to_json().from_json()": lambda s: s,
    "to_string()": lambda s: s,
    "type()": lambda s: "string",
    r"re_match('\d')": lambda s: re.search(r"\d", s) is not None,
    r"re_match('^[a-z]+$')": lambda s: re.search(r"^[a-z]+\Z", s) is not None,
    r"match_first('[a-z]+')": lambda s: found.group() if (found := re.search("[a-z]+", s)) else None,
    r"match_all('[a-z]+')": lambda s: re.findall("[a-z]+", s),
    r"match_all('\d')": lambda s: re.findall(r"\d", s),
    r"captures('([a-z])([0-9])?')": lambda s: [found.group(), *found.groups()]
    if (found := re.search("([a-z])([0-9])?", s))
    else None,
    r"captures_all('([a-z])(\d+)')": lambda s: [[m.group(), *m.groups()] for m in re.finditer(r"([a-z])(\d+)", s)],
    r"captures_named('(?P<letter>[a-z])(?P<digit>\d)?')": lambda s: found.groupdict()
    if (found := re.search(r"(?P<letter>[a-z])(?P<digit>\d)?", s))
    else None,
    r"named_captures('(?<d>\d+)')": lambda s: found.groupdict() if (found := re.search(r"(?P<d>\d+)", s)) else None,
    r"replace_re('[an]+', '<$0>')": lambda s: re.sub("[an]+", r"<\g<0>>", s, count=1),
    r"replace_all_re('([a-z])(\d)', '$2$1')": lambda s: re.sub(r"([a-z])(\d)", r"\2\1", s),
    r"replace_all_re('[aeiou]', '')": lambda s: re.sub("[aeiou]", "", s),
    r"split_re('\s+')": lambda s: re.split(r"\s+", s),
    r"split_re('[-_ ]')": lambda s: re.split("[-_ ]", s),
}  # fmt: skip

CODECS: list[tuple[str, str, Any]] = [
    ("from_base64()", base64.b64encode("ü & ß".encode()).decode(), "ü & ß"),
    ("from_base64()", "YQ", "a"),
    ("from_base64()", "?", None),
    ("from_base64()", "/w==", None),
    ("url_decode()", "a%2Fb+%C3%A9", unquote_plus("a%2Fb+%C3%A9")),
    ("url_encode()", "/?&=é~", quote("/?&=é~", safe="-._~")),
    ("html_escape()", '<a href="x">&\'', "&lt;a href=&quot;x&quot;&gt;&amp;&#39;"),
    (
        "html_unescape()",
        "&lt;&amp;gt;&#233;&#x41;",
        html.unescape("&lt;&amp;gt;&#233;&#x41;"),
    ),
    ("lines()", "a\nb\r\n\nc", ["a", "b", "", "c"]),
    ("lines()", "a\n", ["a"]),
    ("dedent()", "  a\n    b\n  c", textwrap.dedent("  a\n    b\n  c")),
    ("indent(4)", "a\nb", "    a\n    b"),
    ("indent('> ')", "a\nb", "> a\n> b"),
    ("title_case()", "the qUICK fox", "The Quick Fox"),
    ("snake_case()", "someName here", "some_name_here"),
    ("snake_case()", "kebab-case-id", "kebab_case_id"),
    ("kebab_case()", "someName_here", "some-name-here"),
    ("camel_case()", "some name-here", "someNameHere"),
    ("pascal_case()", "some_name here", "SomeNameHere"),
    ("from_json()", '{"a": [1, null]}', {"a": [1, None]}),
    ("from_json()", ' "x" ', "x"),
    ("to_number()", "-12", -12),
    ("to_number()", "1.25e2", 125.0),
    ("to_number()", "12 apples", None),
    ("to_bool()", "true", True),
    ("to_bool()", "false", False),
    ("to_bool()", "TRUE", None),
    ("parse_bool()", " YES ", True),
    ("parse_bool()", "no", False),
    ("parse_bool()", "0", False),
    ("parse_bool()", "maybe", None),
    ("parse_float()", " 2.50 ", 2.5),
    ("parse_float()", "7", 7.0),
    ("parse_float()", "", None),
]
CODECS += [
    (f"parse_int({radix})", text, int(text, radix))
    for text, radix in (
        ("42", 10),
        ("-7", 10),
        ("ff", 16),
        ("0xFF", 16),
        ("777", 8),
        ("1010", 2),
        ("zz", 36),
    )
]
CODECS += [("parse_int()", text, None) for text in ("4.5", "", "x", "1 2")]


NUMBERS: list[tuple[str, Any, Any]] = [
    ("abs()", -3, 3),
    ("abs()", -2.5, 2.5),
    ("abs()", 0, 0),
    ("ceil()", 1.2, 2),
    ("ceil()", -1.8, -1),
    ("ceil()", 5, 5),
    ("floor()", 1.8, 1),
    ("floor()", -1.2, -2),
    ("round()", 2.5, 3),
    ("round()", 3.5, 4),
    ("round()", -0.5, -1),
    ("round()", 0.49, 0),
    ("sqrt()", 2, 2**0.5),
    ("sqrt()", 144, 12.0),
    ("pow(3)", 5, 125),
    ("pow(0)", 7, 1),
    ("power(-2)", 2, 0.25),
    ("pow(0.5)", 2.25, 1.5),
    ("exp()", 0, 1.0),
    ("exp()", 1, 2.718281828459045),
    ("log()", 1, 0.0),
    ("log(10)", 100, 2.0),
    ("log(2)", 1024, 10.0),
    ("floor_div(3)", 10, 10 // 3),
    ("floor_div(3)", -10, -10 // 3),
    ("floor_div(-3)", 10, 10 // -3),
    ("sign()", 17, 1),
    ("sign()", -0.1, -1),
    ("sign()", 0, 0),
    ("clamp(0, 10)", 15, 10),
    ("clamp(0, 10)", -4, 0),
    ("clamp(0, 10)", 7, 7),
    ("to_string()", 2.0, "2"),
    ("to_string()", -0.25, "-0.25"),
    ("to_string()", 1e21, "1000000000000000000000"),
    ("to_number()", 2.5, 2.5),
    ("type()", 1, "number"),
]

FAILING: list[tuple[str, Any, str]] = [
    ("sqrt()", -1, "there is no such number"),
    ("log()", 0, "too large"),
    ("log()", -2, "there is no such number"),
    ("exp()", 1000, "too large"),
    ("pow(-1)", 0, "too large"),
    ("floor_div(0)", 7, "division by zero"),
    ("clamp(5, 0)", 3, "clamp"),
    ("abs()", "3", "takes a number, not string 3"),
    ("ceil()", True, "takes a number, not bool true"),
    ("floor()", "1", "takes a number, not string 1"),
    ("round()", [1], "takes a number, not array"),
    ("sqrt()", "4", "takes a number, not string 4"),
    ("sign()", "x", "takes a number, not string x"),
    ("sha256()", 5, "sha256"),
    ("from_json()", "{", "JSON"),
    ("re_match('(')", "x", "bad pattern"),
    ("match_all('[')", "x", "bad pattern"),
    ("captures('a{2,1}')", "x", "bad pattern"),
    ("replace_re('(a)', '$3')", "a", "the pattern has no group 3"),
    ("repeat(1e12)", "ab", "more than 256 MiB"),
    ("pad_left(1e12)", "ab", "more than 256 MiB"),
    ("len()", 5, "len"),
    ("len()", True, "len"),
]

LENIENT = [
    "upper()", "lower()", "trim()", "capitalize()", "title_case()", "replace('a', 'b')", "replace_all('a', 'b')",
    "strip_prefix('a')", "pad_left(3)", "snake_case()", "reverse_str()", "replace_re('a', 'b')", "html_escape()",
]  # fmt: skip
"""Methods that leave a value that is no text as it is."""

TESTS = [
    "starts_with('a')",
    "ends_with('a')",
    "re_match('a')",
    "is_blank()",
    "matches('a')",
]
"""Methods that are false for a value that is no text."""


def cases() -> list[Case]:
    """Return all cases of texts and numbers."""
    made = []
    for method, in_python in METHODS.items():
        topic = method.partition("(")[0]
        query = "s[0:1]" if method == "first_char" else f"s.{method}"
        made += [gives(topic, query, {"s": text}, in_python(text)) for text in TEXTS]
    made += [
        gives(method.partition("(")[0], f"s.{method}", {"s": text}, answer)
        for method, text, answer in CODECS
    ]
    made += [
        gives(method.partition("(")[0], f"n.{method}", {"n": number}, answer)
        for method, number, answer in NUMBERS
    ]
    made += [
        fails(method.partition("(")[0], f"v.{method}", {"v": value}, reason)
        for method, value, reason in FAILING
    ]
    made += [
        gives("lenient", f"v.map(@.{method})", {"v": [5, None, True]}, [5, None, True])
        for method in LENIENT
    ]
    for method in TESTS:
        made.append(
            gives(
                "lenient-test", f"v.map(@.{method})", {"v": [5, True]}, [False, False]
            )
        )
        made.append(gives("null-test", f"v.{method}", {}, None))
    for method in (
        "upper()",
        "split(',')",
        "words()",
        "sqrt()",
        "abs()",
        "match_all('a')",
        "from_json()",
        "year()",
    ):
        made.append(gives("null", f"v.{method}", {"v": None}, None))
        made.append(gives("null", f"v.{method}", {}, None))
    return made
