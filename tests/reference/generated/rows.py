"""Generated rows with the fields of generated queries, and files of them.

A row has numbers (`id`, `x`, `y`), a text (`s`), a bool (`ok`), null (`n`), an array
(`t`), an array of objects (`us`, of `id`, `g`, `v`), an object (`o`) and anything
(`z`); any of them may be missing, or be something else.
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

TEXTS = st.sampled_from(
    [
        "a",
        "b",
        "",
        "ab c",
        "B",
        "42",
        "-1.5",
        "é",
        "ß\n",
        "日本",
        "😀",
        "x" * 20,
        "null",
        " a ",
    ]
)
INTEGERS = st.one_of(
    st.integers(-3, 5),
    st.sampled_from(
        [2**53 + 1, 2**63 - 1, -(2**63), 2**63, 12345678901234567890, -(10**30)]
    ),
)
# Text, so that equal values occur in several spellings.
NUMBER_TEXTS = st.one_of(
    st.integers(-3, 5).map(str),
    st.integers(-3, 5).map(str),
    INTEGERS.map(str),
    st.sampled_from(
        ["0.5", "1.0", "1.50", "-0.0", "2.5", "1e3", "-1E-7", "1e21", "0.1"]
    ),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
)
KEYS = st.sampled_from(["a", "b", "c", "g", "id", "k", "v", "é"])


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def array(items):
    return st.lists(items, max_size=4).map(lambda found: "[" + ", ".join(found) + "]")


def object_of(fields):
    """Return objects of the JSON texts that strategies give for fields."""
    return fields.map(
        lambda found: (
            "{"
            + ",".join(f"{quoted(key)}: {text}" for key, text in found.items())
            + "}"
        )
    )


SCALARS = st.one_of(
    NUMBER_TEXTS, TEXTS.map(quoted), st.sampled_from(["null", "true", "false"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: array(inner) | object_of(st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


def mostly(usual):
    """Return usual values, and sometimes others."""
    return st.one_of(usual, usual, usual, usual, ANYTHING)


USERS = object_of(
    st.fixed_dictionaries(
        {},
        optional={
            "id": NUMBER_TEXTS,
            "g": mostly(st.sampled_from(["a", "b", "é", ""]).map(quoted)),
            "v": mostly(NUMBER_TEXTS),
        },
    )
)
INNER = object_of(
    st.fixed_dictionaries(
        {},
        optional={
            "a": mostly(NUMBER_TEXTS),
            "b": mostly(object_of(st.fixed_dictionaries({}, optional={"c": SCALARS}))),
            "k": mostly(TEXTS.map(quoted)),
        },
    )
)
FULL_ROWS = object_of(
    st.fixed_dictionaries(
        {"id": st.integers(-3, 5).map(str)},
        optional={
            "x": mostly(NUMBER_TEXTS),
            "y": st.integers(-9, 9).map(str),
            "s": mostly(TEXTS.map(quoted)),
            "ok": mostly(st.sampled_from(["true", "false"])),
            "n": st.just("null"),
            "t": mostly(array(SCALARS)),
            "us": mostly(array(USERS)),
            "o": mostly(INNER),
            "z": ANYTHING,
        },
    )
)


# A function, since the `repr` of this strategy, which hypothesis needs, is endless.
@st.composite
def rows(draw):
    """Make the JSON text of a row."""
    return draw(mostly(FULL_ROWS)).encode()


ROWS = rows()

BAD_LINES = st.sampled_from([b"{", b'{"id": }', b"[1, 2", b"nul", b'{"id": 1} 2'])
BLANK_LINES = st.sampled_from([b"", b" ", b"\t "])
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n"])


@st.composite
def files(draw, lines):
    """Make a file of few lines, some blank; the last line may be unterminated."""
    rows = draw(st.lists(lines, max_size=8))
    for blank in draw(st.lists(BLANK_LINES, max_size=2)):
        rows.insert(draw(st.integers(0, len(rows))), blank)
    ends = [draw(ENDS) for _ in rows]
    if rows and rows[-1] and draw(st.booleans()):
        ends[-1] = b""
    return b"".join(map(bytes.__add__, rows, ends))


@st.composite
def large_files(draw, size):
    """Make a file of more than `size` bytes of few different lines, long or short."""
    rows = draw(
        st.lists(
            st.one_of(FULL_ROWS.map(str.encode), BLANK_LINES), min_size=2, max_size=6
        )
    )
    if draw(st.booleans()):
        # A long line needs more than one read at any position.
        rows.append(b'{"id": 7, "pad": "' + b"x" * draw(st.integers(1, 90_000)) + b'"}')
    if draw(st.booleans()):
        rows.append(draw(BAD_LINES))
    block = b"".join(row + b"\n" for row in rows)
    return block * (size // len(block) + 1)
