"""Generated queries with sub-queries over all rows inside every construct.

Names of values equal names of fields, so that a confusion of both shows.
"""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = ["id", "v", "s", "n"]

ROW = st.fixed_dictionaries(
    {"id": st.integers(0, 4)},
    optional={
        "v": st.integers(-3, 5) | st.none(),
        "s": st.sampled_from(["a", "b", ""]),
        "n": st.integers(1, 3),
        "t": st.lists(st.integers(0, 2), max_size=2),
    },
)


class SubqueryMaker:
    """Generator of queries; `of_rows`: rows are reached by ``$.rows()``, else ``$`` is their array."""

    def __init__(self, draw, *, of_rows):
        self.draw = draw
        self.of_rows = of_rows
        self.named = []
        self.quoted = False
        self.rooted = False
        self.may_be_refused = False

    def one_of(self, *choices):
        chosen = self.draw(st.sampled_from(choices))
        return chosen if isinstance(chosen, str) else chosen()

    def rarely(self):
        return self.draw(st.integers(0, 7)) == 7

    # Of all rows

    def stream(self):
        """Make a sub-query that gives elements."""
        root = self.one_of("$", "$", *self.streams()) if self.named else "$"
        if root == "$" and self.of_rows:
            root = "$.rows().reverse()" if self.rarely() else "$.rows()"
        # After a name, ``$`` is beyond the reference.
        self.rooted = self.of_rows and root.startswith("$")
        for _ in range(self.draw(st.integers(0, 2))):
            root += "." + self.stage()
        return root

    def streams(self):
        return [name for name, kind in self.named if kind == "stream"]

    def stage(self):
        return self.one_of(
            lambda: f"filter({self.of_row()})",
            lambda: f"map({self.of_row()})",
            lambda: f"sort({self.of_row()})",
            lambda: f"unique_by({self.of_row()})",
            lambda: f"{self.one_of('take', 'skip')}({self.one_of('0', '1', '2')})",
            "flat_map(t)",
            "compact()",
        )

    def value(self):
        """Make a sub-query that gives one value."""
        stream = self.stream()
        reduced = self.one_of(
            "count()",
            "first()",
            lambda: (
                f"{self.one_of('max', 'min', 'sum')}({self.one_of('id', 'v', 'n')})"
            ),
            lambda: f"count({self.of_row()})",
            lambda: f"find({self.of_row()})",
            lambda: f"{self.one_of('any', 'all')}({self.of_row()})",
            lambda: f"{self.one_of('max_by', 'min_by')}({self.of_row()})",
            lambda: f"{self.one_of('count_by', 'group_by')}({self.one_of('s', 'id')})",
            "map(id)",
        )
        return f"{stream}.{reduced}"

    def of_row(self):
        """Make an argument for each element: its fields, and names of values."""
        names = [name for name, _kind in self.named]
        fields = ["id", "v", "n", "id", "@.id", "@.v"]
        if self.rooted:
            fields += ["$.id", "$.v"]

        def some():
            return self.one_of(*names) if names and not self.rarely() else self.field()

        return self.one_of(
            lambda: self.one_of(*fields),
            lambda: (
                f"{self.one_of(*fields)} {self.one_of('==', '>', '<', '!=')} {some()}"
            ),
            lambda: f"{self.one_of(*fields)} {self.one_of('+', '*', '/')} {some()}",
            lambda: f"[id, {some()}]",
            lambda: f"{{id, {self.one_of('s', 'n', *names)}}}",
            lambda: f"{{id, k: {{{self.one_of('s', *names)}}}}}",
            lambda: f"[{{{self.one_of('s', *names)}}}]",
            lambda: f"{{{self.one_of('s', *names)}?: {some()}}}",
            lambda: f"({some()} ?? 0)",
            lambda: f"({some()} if {self.one_of(*fields)} > 1 else 0)",
            lambda: f"try ({self.one_of(*fields)} / {some()}) else -1",
            lambda: self.by_name(some()),
            lambda: (
                f"(match {some()} with {{1 -> 'one', null -> 'none', _ -> {some()}}})"
            ),
            self.question_inside,
        )

    def by_name(self, other):
        # On the array of all rows, a field in a lambda is a field of all rows.
        self.may_be_refused = self.may_be_refused or not self.of_rows
        return f"e => e.id == {other}"

    def question_inside(self):
        # It is refused after rows().
        if self.of_rows:
            if not self.rarely():
                return "id"
            self.may_be_refused = True
        return f"v == {self.value()}"

    def field(self):
        return self.one_of("id", "v", "n", "s", "1", "2")

    # Expressions around sub-queries

    def around(self, depth):
        """Make an expression of sub-queries, names and constants."""
        if depth <= 0:
            return self.leaf()

        def inner():
            return self.around(depth - 1)

        return self.one_of(
            self.leaf,
            self.leaf,
            lambda: self.let(depth),
            lambda: self.let(depth),
            lambda: self.piped(depth),
            lambda: f"{{n: {inner()}, m: {inner()}}}",
            self.shorthand,
            lambda: f"[{inner()}, {inner()}]",
            lambda: f"({inner()} {self.one_of('+', '==', '/')} {inner()})",
            lambda: f"({inner()} ?? {inner()})",
            lambda: f"({inner()} if {inner()} else {inner()})",
            lambda: f"(try {inner()} else {inner()})",
            lambda: f"(match {inner()} with {{null -> 0, 1 | 2 -> {inner()}, x -> x}})",
            lambda: f"({inner()} | [@, {self.leaf()}])",
            lambda: f"[1, 2].map([@, {self.leaf()}])",
            self.text,
        )

    def leaf(self):
        names = [name for name, _kind in self.named]
        if names and not self.rarely() and self.draw(st.booleans()):
            return self.one_of(*names)
        return self.one_of(
            self.value,
            self.value,
            self.stream,
            "1",
            "null",
            "'a'",
            "(2 > 1)",
            # After rows(), a write would change a row.
            lambda: "3" if self.of_rows or not self.rarely() else self.write(),
            # A field without an object before it is refused.
            lambda: self.of_nothing() if self.rarely() and self.rarely() else "2",
        )

    def write(self):
        """Make a write to all rows."""
        place = self.one_of("[0].v", "[*].v", "[-1]", "[* if id > 1].n", "..v")
        change = self.one_of("set(0)", "set($.count())", "delete()", "modify(1)")
        return f"$.{change}" if self.rarely() else f"${place}.{change}"

    def of_nothing(self):
        self.may_be_refused = True
        return self.one_of("id", "{id}", "@" if self.of_rows else "$.id")

    def text(self):
        if self.quoted:
            return "'f'"
        self.quoted = True
        made = f'f"<{{{self.leaf()}}} {{{self.leaf()}}}>"'
        self.quoted = False
        return made

    def shorthand(self):
        names = [name for name, _kind in self.named]
        if not names:
            return f"{{n: {self.leaf()}}}"
        name = self.one_of(*names)
        return self.one_of(
            f"{{{name}}}",
            f"{{a: {{{name}}}}}",
            f"[{{{name}}}]",
            lambda: f"{{{name}, m: {self.leaf()}}}",
        )

    def bound(self):
        """Make a value for a name; return its kind as well."""
        kind = self.one_of("stream", "value", "value", "constant")
        if kind == "constant":
            return kind, self.one_of("1", "2", "1 + 1", "-1", "null", "[1, 2]", "'a'")
        if kind == "value":
            return kind, self.value()
        made = self.stream()
        return kind, f"{made}[*].id" if self.rarely() else made

    def let(self, depth):
        count = self.draw(st.integers(1, 2))
        bindings = []
        outer = list(self.named)
        for _ in range(count):
            name = self.one_of(*NAMES)
            kind, made = self.bound()
            bindings.append(f"{name} = {made}")
            self.name(name, kind)
        body = self.around(depth - 1)
        self.named = outer
        return f"(let {', '.join(bindings)} in {body})"

    def piped(self, depth):
        outer = list(self.named)
        kind, made = self.bound()
        name = self.one_of(*NAMES)
        self.name(name, kind)
        body = self.around(depth - 1)
        self.named = outer
        return f"({made} -> {name} | {body})"

    def name(self, name, kind):
        self.named = [each for each in self.named if each[0] != name] + [(name, kind)]


@st.composite
def subqueries(draw, *, of_rows, depth=2):
    """Make a stream query, and return whether it may be refused."""
    maker = SubqueryMaker(draw, of_rows=of_rows)
    made = maker.around(depth)
    if of_rows and "rows()" not in made:
        # It would be a row query.
        made = f"[{made}, $.rows().count()]"
    return made, maker.may_be_refused
