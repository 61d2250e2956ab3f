"""Positions and slices of arrays and texts, as Python counts them."""

from __future__ import annotations

from tests.conformance.generators.made import Case, fails, gives

XS = [5, 3, 8, 1]
TEXT = "naïve 😀"

SLICES = [
    "1:",
    ":2",
    "1:3",
    ":",
    "-2:",
    ":-1",
    "-3:-1",
    "2:1",
    "0:99",
    "-99:2",
    "4:",
    "::2",
    "1::2",
    "::-1",
    "3:0:-1",
    "::3",
    "-1:-4:-2",
]


def sliced(things, written):
    """Take a slice in Python."""
    bounds = [int(each) if each else None for each in written.split(":")]
    return things[slice(*bounds)]


def cases() -> list[Case]:
    """Return all cases of positions."""
    made = []
    for written in SLICES:
        document = {"xs": XS, "s": TEXT}
        made += [
            gives("slice", f"xs[{written}]", document, sliced(XS, written)),
            gives("slice-text", f"s[{written}]", document, sliced(TEXT, written)),
            gives("slice-root", f"$[{written}]", XS, sliced(XS, written)),
        ]
    for position in (0, 1, 3, 4, -1, -4, -5):
        there = -4 <= position < 4
        document = {"xs": XS, "s": "añ😀d", "i": position}
        element = XS[position] if there else None
        character = "añ😀d"[position] if there else None
        made += [
            gives("index", f"xs[{position}]", document, element),
            gives("index-computed", "xs[i]", document, element),
            gives("nth", "xs.nth($.i)", document, element),
            gives("index-text", "s[i]", document, character),
        ]
    made += [
        gives("index-computed", "xs[1 + 1]", {"xs": XS}, 8),
        gives("index-computed", "xs[xs.len() - 1]", {"xs": XS}, 1),
        gives("index-computed", "xs[4 / 2]", {"xs": XS}, 8),
        gives("index-computed", "xs[no]", {"xs": XS}, None),
        fails(
            "index-computed", "xs[0.5]", {"xs": XS}, "a position must be a whole number"
        ),
        fails(
            "index-computed",
            "xs[b]",
            {"xs": XS, "b": True},
            "a position must be a whole",
        ),
        gives("index-other", "[a[0], b[0], c[0]]", {"a": {"0": 1}, "b": 7}, [None] * 3),
        gives("slice-other", "[a[1:], b[:1]]", {"a": {"k": 1}, "b": 7}, [None, None]),
    ]
    for start, end in ((1, 3), (-2, None), (0, 0), (2, -1), (9, None), (-9, 2)):
        written = str(start) if end is None else f"{start}, {end}"
        answer = XS[start:end]
        made += [
            gives("slice-method", f"xs.slice({written})", {"xs": XS}, answer),
            gives(
                "slice-method",
                f"s.slice({written})",
                {"s": "añ😀d"},
                "añ😀d"[start:end],
            ),
        ]
    return made
