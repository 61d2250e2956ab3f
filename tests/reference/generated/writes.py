"""Generated documents and writes: chains from ``$``, ``patch`` and ``update``.

There are few keys, so that paths exist, and some paths cross every kind of value.
"""

from __future__ import annotations

import re

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "k", "v"])
SCALARS = st.sampled_from([None, True, 0, 1, 2, 5, "x", "a", ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)
USERS = st.lists(
    st.fixed_dictionaries({}, optional={"k": SCALARS, "v": VALUES, "a": VALUES}), max_size=3
)  # fmt: skip
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "a": VALUES, "b": VALUES, "k": SCALARS, "v": SCALARS,
        "us": st.one_of(USERS, USERS, VALUES),
        "xs": st.one_of(st.lists(SCALARS, max_size=4), SCALARS),
        "o": st.one_of(st.dictionaries(KEYS, VALUES, max_size=3), SCALARS),
    },
)  # fmt: skip
ROWS = st.one_of(DOCUMENTS, DOCUMENTS, DOCUMENTS, VALUES)

FIELDS = [".a", ".b", ".k", ".v", ".us", ".xs", ".o"]
TESTS = ["v > 1", "k", "@ > 1", "has(v)", "true", "k == 'x'", "@ is object", "$.k"]
PLACES = [
    *FIELDS, *FIELDS, '["a"]', "[0]", "[-1]", "[1]", "[*]", "[*]", "[* if TEST]", "..k", "..v", "..a",
]  # fmt: skip
COMPUTED = ["[k]", "[$.k]", "[@.v]"]
NO_PLACES = [
    "[1:]",
    "[:1]",
    "{TEST}",
    ".first()",
    ".filter(TEST)",
    ".keys()",
    "!",
    ".find(TEST)",
]
CHANGES = [
    "0", "'new'", "null", "@", "@", "k", "v", "a", "[k]", "{k}", "{a: k, b: @}", "{a?: k}",
    "k ?? 0", "a.b", "a?.b", "v if k else @", "try k else 1", "$.k", "$.us", "{...a, b: 1}", "@.k",
    "v == 1", "has(k)", "missing(a)", "us.map(v)", "us.map(@.v)", "[x for x in xs]", ".k",
    "[k for x in xs]", "(k | [@])", "(@ | {k})", "match @ with {number -> k, _ -> @}", "k or 1",
    "let n = k in [n, v]", "a.or(3)", "@ + 1", 'f"{k}"', "(patch @ {a: v, k: @})",
    "@.update({a: k})", "a.b.c", "[@, v]", "{n: {m: k}}",
]  # fmt: skip
FUNCTIONS = ["x => [x, v]", "lambda x: x", "x => k", "x => {x, k}"]
TEXT_PATHS = ["a", "a.b", "us[*].v", "us[0].k", "xs[-1]", "o.k", "us.v", "k.a"]


class WriteMaker:
    """Generator of writes."""

    def __init__(self, draw):
        self.draw = draw

    def one_of(self, *choices):
        """Choose one of several texts, or of functions that make texts."""
        chosen = self.draw(st.sampled_from(choices))
        return chosen if isinstance(chosen, str) else chosen()

    def path(self, steps, least=0):
        made = [self.one_of(*steps) for _ in range(self.draw(st.integers(least, 3)))]
        return "".join(made).replace("TEST", self.one_of(*TESTS))

    def place(self):
        """Make a path, nearly always one of places."""
        rare = self.draw(st.integers(0, 5))
        return self.path(
            PLACES + (NO_PLACES * 2 if rare == 5 else COMPUTED if rare == 4 else [])
        )

    def entries(self):
        keys = ["a", "b", "k", "v", *(f'"{path}"' for path in TEXT_PATHS)]
        count = self.draw(st.integers(1, 3))
        return ", ".join(f"{self.one_of(*keys)}: {self.new()}" for _ in range(count))

    def new(self):
        test = (
            f" when {self.one_of(*TESTS)}" if self.draw(st.integers(0, 4)) == 4 else ""
        )
        return self.one_of(*CHANGES, "DELETE") + test

    def change(self):
        return self.one_of(
            lambda: f"set({self.one_of(*CHANGES)})",
            lambda: f"set({self.one_of(*CHANGES)})",
            lambda: f"modify({self.one_of(*CHANGES, *FUNCTIONS)})",
            "delete()",
            lambda: f"unset({self.one_of('k', 'a, v', 'v')})",
            lambda: (
                f"merge({self.one_of('{b: 1}', '{a: k}', '{v}', '$.o', 'null', '@')})"
            ),
            lambda: f"update({{{self.entries()}}})",
            lambda: (
                f'update("{self.one_of(*TEXT_PATHS)}", {self.one_of(*CHANGES, *FUNCTIONS)})'
            ),
        )

    def chain(self):
        return f"${self.place()}.{self.change()}"

    def chain_of_rows(self):
        first = self.one_of(
            "[0]", "[-1]", "[*]", "[*]", "[* if v > 1]", "[* if k]", "..v"
        )
        made = f"${first}{self.place()}.{self.change()}"
        # The array of all rows has no fields.
        return re.sub(r"\$\.(?!\.)", "$[0].", made)

    def patch(self, target):
        written = [
            f"{self.one_of('a', 'k', 'us', 'xs', 'o')}{self.path(PLACES)}: {self.new()}"
            for _ in range(self.draw(st.integers(1, 3)))
        ]
        return f"patch {target} {{{', '.join(written)}}}"

    def query(self):
        return self.one_of(
            self.chain,
            self.chain,
            self.chain,
            lambda: f"{self.chain()} | {self.chain()}",
            lambda: self.patch("$"),
            lambda: self.patch("$"),
            lambda: f"us.map({self.patch('@')})",
            lambda: f"us.map($.a.{self.change()})",
            lambda: f"o.update({{{self.entries()}}})",
            lambda: f"[x.v for x in us.map(@.update({{{self.entries()}}}))]",
            lambda: f"k{self.path(FIELDS)}.set(1)",
            lambda: f"@{self.path(FIELDS, 1)}.delete()",
        )


@st.composite
def write_queries(draw):
    """Make a write to a document."""
    return WriteMaker(draw).query()


@st.composite
def stream_writes(draw):
    """Make a write to the array of all rows."""
    return WriteMaker(draw).chain_of_rows()
