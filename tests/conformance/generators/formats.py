"""Formats of f-strings, computed with Python's `format`."""

from __future__ import annotations

from typing import Any

from tests.conformance.generators.made import Case, fails, gives

SPECS: dict[str, list[Any]] = {
    "5": [7, "ab", 1.5],
    "<5": [7, "ab", 1.5],
    ">5": [7, "ab"],
    "^6": [42, "ab"],
    "*^7": [42, "abc"],
    "05": [42, -42],
    "+": [5, -5, 2.5, 1e22, -1e-7],
    "d": [0, 12345, -7],
    ",": [
        1234567,
        12,
        1234.5,
        123456789012345678901,
        1e16,
        1e20,
        -1.5e20,
        0.0001,
        1e-7,
    ],
    "_": [1234567, 1.5e-9],
    "012,": [1e-7],
    "x": [255, 0],
    "#x": [255],
    "X": [48879],
    "b": [10],
    "#b": [5],
    "o": [8],
    ".0f": [2.5, 3.5, 7],
    ".2f": [1.005, 2, -0.004, 1234.5],
    ",.2f": [1234567.891],
    "8.3f": [3.14159],
    "08.2f": [-3.14159],
    ".3e": [12345.678, 0.00012],
    ".2E": [12345.678],
    ".1%": [0.256, 1],
    "%": [0.5],
    "+.1f": [2.25, -2.25],
    "10s": ["left"],
    ">10s": ["right"],
    ".3s": ["abcdef"],
    "\u2026^9": ["mid"],
}


def cases() -> list[Case]:
    """Return all cases of formats."""
    made = []
    for spec, values in SPECS.items():
        for value in values:
            answer = f"<{format(value, spec)}>"
            # A text stands on the left, a number on the right, as in Python.
            made.append(gives("format", f'f"<{{v:{spec}}}>"', {"v": value}, answer))
    for spec, value, reason in (
        (".2f", "a", "the format needs a number, not string a"),
        (".1%", None, "the format needs a number"),
        ("x", "ff", "the format needs a number"),
    ):
        made.append(fails("format", f'f"{{v:{spec}}}"', {"v": value}, reason))
    for value, text in (
        (None, "null"),
        (True, "true"),
        (1.0, "1"),
        (-2, "-2"),
        ("", ""),
        ([1, "a"], '[1,"a"]'),
        ({"k": None}, '{"k":null}'),
    ):
        made.append(gives("text", 'f"[{v}]"', {"v": value}, f"[{text}]"))
    written = [
        ('f""', ""),
        ('f"no values"', "no values"),
        ('f"{{{n}}}"', "{3}"),
        ('f"{n + 1}{n * 2}"', "46"),
        ('f"{s|upper}-{s|len}"', "ABC-3"),
        ("f\"{xs.join(', ')}\"", "1, 2"),
        ('f"{o.k}"', "v"),
        ('f"{no}"', "null"),
        ('f"{n if n > 2 else 0:03}"', "003"),
        # An f-string has no escapes.
        (r'f"tab\t{n}\n"', r"tab\t3\n"),
        ('f"é {s}"', "é abc"),
    ]
    document = {"n": 3, "s": "abc", "xs": [1, 2], "o": {"k": "v"}}
    made += [gives("text", query, document, answer) for query, answer in written]
    return made
