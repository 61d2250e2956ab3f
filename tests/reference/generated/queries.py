"""Generated queries of the core subset that fit generated rows.

Every part is requested by kind (`number`, `text`, `truth`, `array`, `record`), and
sometimes has another kind. `Maker` knows what ``@`` is: a row, one
of its `us`, or a scalar.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

from hypothesis import strategies as st

from headrace.api.results import prepare
from headrace.errors import HeadraceError, QueryMeaningError
from headrace.language import ast, traversal
from headrace.language.parser import parse

FIELDS = {
    "row": {
        "number": ["id", "x", "y", "o.a", "us[0].v", "t[0]", "t[-1]", "o.b.c"],
        "text": ["s", "o.k", "us[-1].g"],
        "truth": ["ok", "x", "n"],
        "array": [
            "t",
            "us[*].v",
            "us[*].id",
            "t[1:]",
            "t[::-1]",
            "z",
            "us[* if v > 0].g",
        ],
        "users": ["us", "us[:2]", "us[1:]"],
        "record": ["o", "us[0]", "o.b", "z"],
        "any": ["z", "n", "nope", "x", "o.b.c", "us", "t"],
    },
    "user": {
        "number": ["id", "v"],
        "text": ["g"],
        "truth": ["v", "g", "nope"],
        "array": ["v", "g"],
        "users": ["v"],
        "record": ["v", "g"],
        "any": ["id", "g", "v", "nope"],
    },
}
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "1.50",
    "(-1)",
    "(-2.5)",
    "10",
    "9007199254740993",
]
TEXTS = [r"'\n'", r"'\u00e9'", "'a'", "'b'", "''", "'é'", "'ab'", "' '", "'42'", "'B'"]
KINDS = ["number", "text", "truth", "array", "record"]
PATTERNS = [r"'\d+'", "'^a'", "'[a-c]'", "'(a)(b)?'", "'b$'", r"'(\w)=?(\d)'"]
KIND_WORDS = ["number", "string", "array", "object", "bool", "null"]
CASTS = ["int", "float", "number", "string", "bool", "array", "object", "null"]


def is_constant(text):
    """Whether an expression consists of literals only."""
    kinds = ast.Literal | ast.Negate | ast.ArrayLiteral
    return all(isinstance(node, kinds) for node in traversal.walk(parse(text)))


@dataclass(frozen=True)
class Here:
    """The kind of ``@``, and the text before its fields."""

    shape: str
    before: str


class Maker:
    """Generator of queries, part by part; `rooted`: ``$`` is a row."""

    def __init__(self, draw, here, *, rooted=True):
        self.draw = draw
        self.here = here
        self.outer = []
        self.rooted = rooted
        self.variables = []
        self.quoted = False

    def one_of(self, *choices):
        """Choose one of several texts, or of functions that make texts."""
        chosen = self.draw(st.sampled_from(choices))
        return chosen if isinstance(chosen, str) else chosen()

    def maybe(self):
        return self.draw(st.booleans())

    # Paths

    def field(self, kind):
        """Make a path to a value that is usually of a kind."""
        if self.rooted and self.draw(st.integers(0, 5)) == 5:
            return "$." + self.one_of(*FIELDS["row"][kind])
        if self.outer and self.draw(st.integers(0, 4)) == 4:
            # A lambda with a parameter and a loop leave ``@`` unchanged.
            here = self.draw(st.sampled_from(self.outer))
            return here.before + self.one_of(*FIELDS[here.shape][kind])
        names = [name for name, of in self.variables if of == kind]
        if names and self.maybe():
            return self.one_of(*names)
        if self.here.shape == "scalar":
            return self.here.before
        return self.here.before + self.one_of(*FIELDS[self.here.shape][kind])

    @contextmanager
    def inside(self, shape, before, *, named=False):
        """Change the kind of ``@`` in the block; `named`: the old fields stay visible."""
        here, outer = self.here, self.outer
        seen = [] if here.shape == "scalar" else [here]
        self.outer = [*seen, *outer] if named else []
        self.here = Here(shape, before)
        yield
        self.here, self.outer = here, outer

    def each(self, shape, make, *, outer=True):
        """Make an argument for each element, in one of its forms."""
        form = self.draw(st.sampled_from(["@", "bare", "dot", "arrow", "lambda"]))
        name = f"e{len(self.variables)}"
        if form in {"arrow", "lambda"}:
            before = name if shape == "scalar" else name + "."
            with (
                self.inside(shape, before, named=outer),
                self.knowing(name, "any"),
            ):
                body = make()
            return f"{name} => {body}" if form == "arrow" else f"lambda {name}: {body}"
        before = {"@": "@.", "bare": "", "dot": "."}[form]
        with self.inside(shape, "@" if shape == "scalar" else before):
            body = make()
        # A constant instead of a condition is refused, except in a lambda.
        return f"{name} => {body}" if is_constant(body) else body

    @contextmanager
    def knowing(self, name, kind):
        self.variables.append((name, kind))
        yield
        self.variables.pop()

    def part(self, kind, depth):
        """Make an expression of a kind, rarely of another kind."""
        if self.draw(st.integers(0, 11)) == 11:
            kind = self.draw(st.sampled_from(KINDS))
        if depth <= 0:
            return self.leaf(kind)
        return getattr(self, kind)(depth - 1)

    def leaf(self, kind):
        literals = {
            "number": NUMBERS,
            "text": TEXTS,
            "truth": ["true", "false"],
            "array": ["[]", "[1, 2, 2]", "['b', 'a', null]", "[[1], [2, [3]]]"],
            "users": ["[{id: 1, v: 2}]"],
            "record": ["{}", "{a: 1, k: 'b'}"],
            "any": ["null"],
        }[kind]
        return self.one_of(
            lambda: self.field(kind),
            lambda: self.field(kind),
            lambda: self.one_of(*literals),
            lambda: self.field("any"),
        )

    def anything(self, depth):
        return self.part(self.draw(st.sampled_from(KINDS)), depth)

    # Of each kind

    def number(self, depth):
        def part():
            return self.part("number", depth)

        def operation():
            return f"({part()} {self.one_of('+', '-', '*', '/', '%')} {part()})"

        def reduced():
            method = self.one_of("sum", "avg", "min", "max", "count", "len")
            return f"{self.part('array', depth)}.{method}()"

        def reduced_by():
            method = self.one_of("sum", "avg", "min", "max")
            value = self.each("user", lambda: self.part("number", depth - 1))
            return f"{self.part('users', depth)}.{method}({value})"

        return self.one_of(
            lambda: self.leaf("number"),
            operation,
            reduced,
            reduced_by,
            lambda: f"(-{part()})",
            lambda: (
                f"({self.one_of('len', 'sum', 'count')}({self.part('array', depth)}))"
            ),
            lambda: (
                f"{self.leaf('any')}.{self.one_of('round', 'len', 'count', 'sum')}()?"
            ),
            lambda: (
                f"({self.anything(depth)} as {self.one_of('int', 'float', 'number')})"
            ),
            lambda: f"({part()}).{self.one_of('round', 'floor', 'ceil', 'abs')}()",
            lambda: f"{self.part('text', depth)}.{self.one_of('len', 'to_number')}()",
            lambda: f"({self.anything(depth)}).{self.one_of('len', 'to_number')}()",
            lambda: f"{self.part('array', depth)}[{part()}]",
            lambda: (
                f"{self.part('users', depth)}.count({self.each('user', lambda: self.part('truth', depth - 1))})"
            ),
            lambda: self.choice("number", depth),
        )

    def text(self, depth):
        def part():
            return self.part("text", depth)

        def f_string():
            if self.quoted:
                return "'f'"
            self.quoted = True
            spec = self.one_of(
                *("", "", ":.2f", ":>6", ":<4", ":^5", ":05", ":d", ":8", "|upper"),
                *(":+.1e", ":x", ":08.2f", ":.3", ":.1%", ":_>+9,d", ":#b", ":=6g"),
            )
            made = f'f"<{{{self.leaf("number")}{spec}}} {{{self.leaf("text")}}}{{{{"'
            self.quoted = False
            return made

        return self.one_of(
            lambda: self.leaf("text"),
            lambda: f"({part()} + {part()})",
            f_string,
            lambda: (
                f"{part()}.{self.one_of('upper', 'lower', 'trim', 'reverse', 'to_json', 'to_string')}()"
            ),
            lambda: (
                f"{part()}.{self.one_of('replace', 'replace_all')}({self.one_of(*TEXTS)}, {self.one_of(*TEXTS)})"
            ),
            lambda: f"{part()}.slice({self.place()}, {self.place()})",
            lambda: f"{part()}[{self.place()}:]",
            lambda: f"{part()}[{self.place()}]",
            lambda: f"{part()}[{self.part('number', depth)}]",
            lambda: f"{self.part('users', depth)}.{self.one_of('min', 'max')}(g)",
            lambda: f"({self.anything(depth)} as string)",
            lambda: f"{self.part('array', depth)}.join({self.one_of(*TEXTS)})",
            lambda: (
                f"({self.anything(depth)}).{self.one_of('type', 'to_string', 'to_json')}()"
            ),
            lambda: f"{part()}.match_first({self.one_of(*PATTERNS)})",
            lambda: self.choice("text", depth),
        )

    def truth(self, depth):
        def compared(kind):
            operator = self.one_of("==", "!=", "<", "<=", ">", ">=")
            return f"({self.part(kind, depth)} {operator} {self.part(kind, depth)})"

        def joined():
            word = self.one_of("and", "or")
            return f"({self.part('truth', depth)} {word} {self.part('truth', depth)})"

        return self.one_of(
            lambda: self.leaf("truth"),
            lambda: compared("number"),
            lambda: compared("text"),
            lambda: compared(self.draw(st.sampled_from(KINDS))),
            joined,
            lambda: f"(not {self.part('truth', depth)})",
            lambda: (
                f"({self.anything(depth)} is {self.one_of('', 'not ')}{self.one_of(*KIND_WORDS)})"
            ),
            lambda: f"({self.part('array', depth)} has ({self.anything(depth - 1)}))",
            lambda: f"({self.part('text', depth)} has {self.one_of(*TEXTS)})",
            lambda: f"({self.part('record', depth)} has ['a', 'k'])",
            lambda: f"({self.part('text', depth)} ~= {self.part('text', depth)})",
            lambda: (
                f"{self.part('array', depth)}.{self.one_of('includes', 'contains')}({self.anything(depth - 1)})"
            ),
            lambda: (
                f"{self.part('record', depth)}.{self.one_of('has', 'missing')}({self.one_of('a', 'k', 'id')})"
            ),
            lambda: (
                f"{self.part('users', depth)}.{self.one_of('any', 'all')}({self.each('user', lambda: self.part('truth', depth - 1))})"
            ),
            lambda: (
                f"{self.part('array', depth)}.{self.one_of('any', 'all')}({self.each('scalar', lambda: self.part('truth', depth - 1))})"
            ),
            lambda: (
                f"{self.part('text', depth)}.{self.one_of('starts_with', 'ends_with')}({self.one_of(*TEXTS)})"
            ),
            lambda: f"{self.part('text', depth)}.re_match({self.one_of(*PATTERNS)})",
            lambda: f"({self.anything(depth)} as bool)",
        )

    def array(self, depth):
        def part():
            return self.part("array", depth)

        def over_users(method, kind):
            argument = self.each("user", lambda: self.part(kind, depth - 1))
            return f"{self.part('users', depth)}.{method}({argument})"

        def over_scalars(method, kind):
            argument = self.each("scalar", lambda: self.part(kind, depth - 1))
            return f"{part()}.{method}({argument})"

        def of_entries():
            key, value = f"k{len(self.variables)}", f"v{len(self.variables)}"
            source = self.part("record", depth)
            with (
                self.inside("scalar", value, named=True),
                self.knowing(key, "text"),
            ):
                body = self.anything(depth - 1)
            return f"{source}.entries().map(([{key}, {value}]) => {body})"

        def by_name():
            name = f"f{len(self.variables)}"
            with (
                self.inside("scalar", "q", named=True),
                self.knowing("q", "any"),
            ):
                body = self.anything(depth - 1)
            definition = self.one_of(
                f"let {name} = q => {body}", f"def {name}(q) = {body}"
            )
            use = self.one_of(
                lambda: f"{part()}.map({name})",
                lambda: f"[{name}({self.anything(depth - 1)})]",
            )
            return f"({definition} in {use})"

        def shaped():
            condition = (
                "" if self.maybe() else f" if {self.one_of('v > 0', '@.id', 'g')}"
            )
            with self.inside("user", ""):
                body = self.part(self.draw(st.sampled_from(KINDS)), depth - 1)
            return f"({self.part('users', depth)}[*{condition}] => {body})"

        return self.one_of(
            lambda: self.leaf("array"),
            of_entries,
            by_name,
            shaped,
            lambda: f"(range({self.place()}, {self.place()}))",
            lambda: over_users("map", self.draw(st.sampled_from(KINDS))),
            lambda: over_scalars("map", self.draw(st.sampled_from(KINDS))),
            lambda: over_scalars("filter", "truth"),
            lambda: over_users("flat_map", "array"),
            lambda: over_scalars(self.one_of("sort", "unique_by", "sort_by"), "number"),
            lambda: over_scalars("partition", "truth"),
            lambda: (
                f"{part()}.{self.one_of('sort', 'reverse', 'unique', 'compact', 'flatten')}()"
            ),
            lambda: (
                f"{part()}.{self.one_of('take', 'skip', 'first', 'last', 'flatten')}({self.one_of('0', '1', '2', '9')})"
            ),
            lambda: f"{part()}.append({self.anything(depth)})",
            lambda: f"({part()} + {part()})",
            lambda: (
                f"{part()}[{self.place()}:{self.place()}:{self.one_of('1', '2', '-1')}]"
            ),
            lambda: f"[{self.anything(depth)}, {self.one_of('', '...')}{part()}]",
            lambda: (
                f"{self.part('record', depth)}.{self.one_of('keys', 'values', 'entries')}()"
            ),
            lambda: f"{self.part('text', depth)}.split({self.one_of(*TEXTS)})",
            lambda: f"{self.part('text', depth)}.captures({self.one_of(*PATTERNS)})",
            lambda: (
                f"{self.part('users', depth)}.{self.one_of('pick(w: v)', 'pick(id)', 'pick(g, v)', 'omit(id)', 'omit(g, v)')}"
            ),
            lambda: f"({self.anything(depth)} as array)",
            lambda: f"$..{self.one_of('id', 'v', 'b', 'c')}" if self.rooted else "[1]",
            self.comprehension(depth),
            lambda: self.users(depth),
        )

    def comprehension(self, depth):
        def made():
            name = f"c{len(self.variables)}"
            source = self.part("array", depth)
            with (
                self.inside("scalar", name, named=True),
                self.knowing(name, "any"),
            ):
                item = self.anything(depth - 1)
                test = f" if {self.part('truth', depth - 1)}" if self.maybe() else ""
            opened, closed = ("{", "}") if self.maybe() else ("[", "]")
            return f"{opened}{item} for {name} in {source}{test}{closed}"

        return made

    def users(self, depth):
        def over(method, kind):
            argument = self.each("user", lambda: self.part(kind, depth - 1))
            return f"{self.part('users', depth)}.{method}({argument})"

        def inline():
            with self.inside("user", ""):
                test = self.part("truth", depth - 1)
            if is_constant(test):
                test = "id is number"
            return f"{self.part('users', depth)}{{{test}}}"

        def sorted_by():
            return f"{self.part('users', depth)}.sort({self.one_of('-v', 'g, -v', 'g', '-g, id', '@.v', '.g')})"

        return self.one_of(
            lambda: self.leaf("users"),
            lambda: over("filter", "truth"),
            inline,
            sorted_by,
            lambda: over("unique_by", "text"),
            lambda: f"{self.part('users', depth)}[{self.place()}:]",
            lambda: (
                f"{self.part('users', depth)}.{self.one_of('take', 'skip')}({self.one_of('1', '2')})"
            ),
        )

    def record(self, depth):
        def part():
            return self.part("record", depth)

        def entry():
            key = self.one_of("a", "b", "k", "'two words'", "id")
            return self.one_of(
                lambda: f"{key}: {self.anything(depth)}",
                lambda: f"{key}?: {self.anything(depth)}",
                lambda: (
                    f"{key}: {self.anything(depth)} when {self.part('truth', depth)}"
                ),
                lambda: f"[{self.part('text', depth)}]: {self.anything(depth)}",
                lambda: f"...{part()}",
                lambda: self.one_of("id", "s", "x?", "nope", "v"),
            )

        def grouped():
            method = self.one_of("group_by", "count_by", "index_by")
            key = self.each("user", lambda: self.part("text", depth - 1))
            return f"{self.part('users', depth)}.{method}({key})"

        def found():
            if self.maybe():
                test = self.each("user", lambda: self.part("truth", depth - 1))
                return f"{self.part('users', depth)}.find({test})"
            method = self.one_of("min_by", "max_by")
            key = self.each("user", lambda: self.part("number", depth - 1))
            return f"{self.part('users', depth)}.{method}({key})"

        def transformed():
            value = self.each("scalar", lambda: self.anything(depth - 1))
            return f"{part()}.transform_values({value})"

        def from_loop():
            name = f"c{len(self.variables)}"
            source = part()
            with (
                self.inside("scalar", name, named=True),
                self.knowing(name, "any"),
            ):
                value = self.anything(depth - 1)
            return f"{{k{name}: {value} for k{name}, {name} in {source}}}"

        return self.one_of(
            lambda: self.leaf("record"),
            lambda: (
                "{"
                + ", ".join(entry() for _ in range(self.draw(st.integers(1, 3))))
                + "}"
            ),
            grouped,
            found,
            transformed,
            from_loop,
            lambda: f"({part()} | @.merge({part()}))",
            lambda: f"{part()}.defaults({part()})",
            lambda: (
                f"{part()}.{self.one_of('pick', 'omit')}({self.one_of('a', 'id, k')})"
            ),
            lambda: (
                f"{part()}.rename({self.one_of('{a: ', '{id: ')}{self.one_of(*TEXTS)}}})"
            ),
            lambda: f"{part()}.entries().from_pairs()",
        )

    # Of any kind

    def place(self):
        return self.one_of("0", "1", "2", "-1", "-2", "7")

    def choice(self, kind, depth):
        """Make an expression of a kind with a condition, a name or a match."""

        def part():
            return self.part(kind, depth)

        def let():
            name = f"l{len(self.variables)}"
            value = self.anything(depth)
            with self.knowing(name, kind):
                return f"(let {name} = {value} in {part()})"

        def match():
            name = f"m{len(self.variables)}"
            subject = self.anything(depth)
            arms = [
                f"{self.arm()} -> {part()}" for _ in range(self.draw(st.integers(1, 2)))
            ]
            with self.knowing(name, kind):
                arms.append(
                    f"{name}: {self.one_of(*KIND_WORDS)} when {self.part('truth', depth)} -> {part()}"
                )
                arms.append(f"{{id: {name}}} -> {part()}")
                arms.append(f"[{name}, ...] -> {part()}")
            if self.draw(st.integers(0, 3)):
                arms.append(f"_ -> {part()}")
            return f"(match {subject} with {{{', '.join(arms)}}})"

        def piped():
            first = self.anything(depth)
            with self.inside("scalar", "@"):
                return f"({first} | {part()})"

        def tuple_let():
            one, other = f"l{len(self.variables)}", f"r{len(self.variables)}"
            value = self.part("array", depth)
            with self.knowing(one, kind), self.knowing(other, kind):
                return f"(let ({one}, {other}) = {value} in {part()})"

        def bound():
            name = f"b{len(self.variables)}"
            target = self.one_of(name, f"{{id, {name}}}", f"[{name}]")
            value = self.anything(depth)
            with self.inside("scalar", "@"), self.knowing(name, kind):
                return f"({value} -> {target} | {part()})"

        def element():
            key = self.one_of(
                "[0]", "[-1]", ".first()", ".last()", ".nth(1)", ".first()?"
            )
            return f"{self.part('array', depth)}{key}"

        return self.one_of(
            lambda: f"({part()} if {self.part('truth', depth)} else {part()})",
            lambda: f"({part()} ?? {part()})",
            lambda: f"(try {part()} else {part()})",
            let,
            tuple_let,
            bound,
            match,
            piped,
            element,
            lambda: f"(coalesce({part()}, {part()}))",
            lambda: f"{part()}.or({part()})",
            lambda: f"({part()} or {part()})",
            lambda: f"{self.part('record', depth)}[{self.part('text', depth)}]",
            lambda: f"({self.anything(depth)}).to_json().from_json()",
        )

    def arm(self):
        return self.one_of(
            "null", "1", "0..3", "0.5..=2.5", "'a'", "true", "{id: 1}", "{a: _, ...}",
            "[]", "[_]", "'a' | 'b'", "-1", "string", "(1 | 2)",
        )  # fmt: skip

    def write(self, depth):
        """Make a write to the document."""
        path = self.one_of(
            "x", "o.a", "o.b.c", "nope.a", "us[*].v", "us[* if v > 1].v", "t[0]", "s"
        )
        with self.inside("scalar", "@"):
            change = self.one_of(
                lambda: f"set({self.leaf('number')})",
                lambda: f"modify({self.anything(depth)})",
                "delete()",
            )
        return self.one_of(
            f"$.{path}.{change}",
            f"$.{path}.{change} | $.y.set(@)",
            f"$.o.merge({self.leaf('record')})",
            f"$.update({{id: {self.leaf('number')}, s: DELETE, q: x}})",
        )


def is_refused(query):
    """Whether a query compares a value with itself."""
    try:
        prepare(query)
    except QueryMeaningError as error:
        return SAME_SIDES in str(error)
    except HeadraceError:
        return False
    return False


SAME_SIDES = "both sides are the same value"


def queries(depth=3):
    """Make a row query."""
    return _queries(depth).filter(lambda query: not is_refused(query))


def conditions(depth=2):
    """Make a row query whose answer is a condition of the row."""
    return _conditions(depth).filter(lambda query: not is_refused(query))


@st.composite
def _queries(draw, depth):
    maker = Maker(draw, Here("row", draw(st.sampled_from(["", "@.", "$.", "."]))))
    if draw(st.integers(0, 9)) == 9:
        return maker.write(1)
    kind = draw(st.sampled_from(KINDS))
    if draw(st.booleans()):
        return maker.choice(kind, depth - 1)
    return maker.part(kind, depth)


@st.composite
def _conditions(draw, depth):
    return Maker(draw, Here("row", draw(st.sampled_from(["", "@.", "$."])))).part(
        "truth", depth
    )
