"""Strategies for trees of queries: every tree that `parse` can return."""

from decimal import Decimal

from hypothesis import strategies as st

from headrace.kernel.values import builtins
from headrace.language import ast
from headrace.language.tokens import KEYWORDS

NAMES = st.sampled_from(["a", "b", "x1", "_y", "f", "e5", "And", "of", "number", "_"])
CAPTURES = st.sampled_from(["a", "b", "x1", "_y", "f"])
WORDS = st.one_of(NAMES, st.sampled_from(sorted(KEYWORDS)))
FIELDS = st.one_of(WORDS, st.just("match"))
TEXTS = st.one_of(
    FIELDS,
    st.sampled_from(["a-b", "#"]),
    st.text(max_size=4),
    st.sampled_from(['"', "'", "\\d", "\\"]),
)
NUMBERS = st.one_of(
    st.integers(0, 2**70),
    st.floats(0, allow_nan=False, allow_infinity=False),
    st.just(Decimal("1.5E+400")),
)
LITERALS = st.builds(ast.Literal, st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS))
SIGNED = st.one_of(NUMBERS, NUMBERS.map(lambda number: -number))
SIGNED_LITERALS = st.one_of(LITERALS, st.builds(ast.Literal, SIGNED))
INTEGERS = st.integers(-(2**70), 2**70)
BOUNDS = st.none() | INTEGERS
RESTS = st.none() | CAPTURES


def several(parts, min_size=0, max_size=3):
    return st.lists(parts, min_size=min_size, max_size=max_size).map(tuple)


VARIABLES = st.builds(ast.Variable, NAMES)
ITEMS = st.builds(ast.Items, several(NAMES, 1), RESTS)
FIELD_TARGETS = st.builds(ast.Fields, several(NAMES, 1), RESTS)
BINDS = st.builds(ast.Bind, st.one_of(VARIABLES, ITEMS, FIELD_TARGETS))
TUPLES = st.builds(ast.Items, several(NAMES, 1))


def _larger_patterns(patterns):
    fields = st.one_of(
        st.builds(ast.FieldPattern, TEXTS, patterns),
        NAMES.map(lambda name: ast.FieldPattern(name, ast.Capture(name))),
    )
    rests = st.none() | st.builds(ast.Rest, RESTS)
    return st.one_of(
        st.builds(ast.ObjectPattern, several(fields), rests),
        st.builds(ast.ArrayPattern, several(patterns), rests),
        # The same pattern twice binds the same names.
        patterns.map(lambda pattern: ast.OneOf((pattern, pattern))),
        patterns.map(lambda pattern: ast.OneOf((pattern, _wrapped(pattern), pattern))),
    )


def _wrapped(pattern):
    return ast.ArrayPattern((pattern,), ast.Rest())


PATTERNS = st.recursive(
    st.one_of(
        st.just(ast.AnyValue()),
        st.builds(ast.Equals, SIGNED_LITERALS),
        st.builds(ast.InRange, SIGNED, SIGNED, st.booleans()),
        st.builds(ast.OfKind, st.sampled_from(ast.Kind), RESTS),
        st.builds(ast.Capture, CAPTURES),
    ),
    _larger_patterns,
    max_leaves=6,
)


def _is_constant_key(node):
    match node:
        case ast.Literal(value) | ast.Negate(ast.Literal(value)):
            return isinstance(value, str | int)
    return False


def _path(base, steps, last):
    return ast.Path(base, (*steps, last))


def _f_string(parts):
    """Join neighbours that the parser reads as one text."""
    joined = []
    for part in parts:
        if isinstance(part, ast.Text) and joined and isinstance(joined[-1], ast.Text):
            joined[-1] = ast.Text(joined[-1].text + part.text)
        else:
            joined.append(part)
    return ast.FString(tuple(joined))


def _steps(nodes, calls, arms, methods):
    return st.one_of(
        st.builds(ast.Field, TEXTS, st.booleans()),
        st.builds(ast.Index, INTEGERS),
        st.builds(ast.Slice, BOUNDS, BOUNDS, BOUNDS),
        st.builds(ast.Computed, nodes.filter(lambda key: not _is_constant_key(key))),
        st.builds(ast.Each, st.none() | nodes),
        st.builds(ast.InlineFilter, nodes),
        st.builds(ast.Descend, st.none() | TEXTS),
        methods,
        st.builds(ast.DeepMethod, FIELDS, calls),
        st.builds(ast.DeepMatch, arms, st.booleans()),
        st.just(ast.ExactlyOne()),
    )


def _operators(nodes):
    chain = several(nodes, 2)
    return st.one_of(
        st.builds(ast.Negate, nodes),
        st.builds(ast.Binary, st.sampled_from(ast.BinaryOperator), nodes, nodes),
        st.builds(ast.Compare, st.sampled_from(ast.CompareOperator), nodes, nodes),
        st.builds(ast.Not, nodes),
        st.builds(ast.And, chain),
        st.builds(ast.Or, chain),
        st.builds(ast.Coalesce, chain),
        st.builds(ast.Contains, nodes, nodes, st.booleans()),
        st.builds(ast.ContainsAll, nodes, several(SIGNED_LITERALS)),
        st.builds(ast.IsKind, nodes, st.sampled_from(ast.Kind), st.booleans()),
        st.builds(ast.Cast, nodes, st.sampled_from(ast.CastType)),
    )


def _constructions(nodes, optional):
    entries = st.one_of(
        st.builds(ast.Entry, TEXTS, nodes, st.booleans(), optional),
        st.builds(ast.ComputedEntry, nodes, nodes, optional),
        st.builds(ast.Shorthand, TEXTS),
        st.builds(ast.Spread, nodes, st.booleans()),
    )
    loops = several(st.builds(ast.For, several(NAMES, 1, 2), nodes, several(nodes)), 1)
    return st.one_of(
        st.builds(ast.ArrayLiteral, several(nodes | st.builds(ast.Spread, nodes))),
        st.builds(ast.ObjectLiteral, several(entries)),
        st.builds(ast.ArrayComprehension, nodes, loops, st.booleans()),
        st.builds(ast.ObjectComprehension, nodes, nodes, loops),
    )


def _writes(nodes, optional):
    steps = st.one_of(
        st.builds(ast.Field, TEXTS),
        st.builds(ast.Index, INTEGERS),
        st.builds(ast.Each, optional),
        st.builds(ast.Descend, TEXTS),
    )
    path = st.builds(
        lambda first, others: (first, *others),
        st.builds(ast.Field, WORDS),
        several(steps),
    )
    return several(st.builds(ast.Write, path, nodes, optional))


def _unknown(nodes):
    """Calls and methods of any name, with any arguments."""
    calls = several(st.builds(ast.Arg, nodes, st.none() | WORDS))
    return (
        st.builds(ast.Call, NAMES, calls),
        st.builds(ast.Method, FIELDS, calls, st.booleans()),
    )


def _larger(nodes, called=_unknown):
    optional = st.none() | nodes
    functions, methods = called(nodes)
    calls = several(st.builds(ast.Arg, nodes, st.none() | WORDS))
    arms = several(st.builds(ast.Arm, PATTERNS, nodes, optional), 1)
    steps = _steps(nodes, calls, arms, methods)
    last = steps | st.builds(ast.Each, optional, nodes)
    bindings = several(st.builds(ast.Binding, VARIABLES | TUPLES, nodes), 1)
    return st.one_of(
        st.builds(_path, nodes, several(steps), last),
        functions,
        _operators(nodes),
        _constructions(nodes, optional),
        st.builds(ast.Conditional, nodes, nodes, nodes),
        st.builds(ast.Try, nodes, nodes),
        st.builds(ast.Pipe, nodes, several(nodes | BINDS, 1)),
        st.builds(ast.Let, bindings, nodes),
        st.builds(ast.Lambda, several(VARIABLES | ITEMS), nodes),
        st.builds(ast.Match, nodes, arms),
        st.builds(ast.Patch, nodes, _writes(nodes, optional)),
    )


LEAVES = st.one_of(
    LITERALS,
    st.sampled_from([ast.Root(), ast.Current(), ast.Delete()]),
    st.builds(ast.Source, NAMES),
    st.builds(ast.Name, NAMES),
    st.just(ast.Path(ast.Root(), (ast.Descend(),))),
)

PLAIN_TREES = st.recursive(LEAVES, _larger, max_leaves=8)

F_TEXTS = st.text(min_size=1, max_size=4).filter(lambda text: '"' not in text)
SPECS = st.sampled_from([".2f", ">8", "*^5", "05", ",d", "x"]) | F_TEXTS.filter(
    lambda text: "}" not in text
)
F_STRINGS = st.lists(
    st.builds(ast.Text, F_TEXTS)
    | st.builds(ast.Interpolation, PLAIN_TREES, st.none() | SPECS),
    max_size=4,
).map(_f_string)

TREES = st.recursive(LEAVES | F_STRINGS, _larger, max_leaves=12)


def _known(nodes):
    """Calls and methods of every builtin, mostly with as many arguments as it takes."""
    values = st.one_of(
        nodes, SMALL, st.builds(ast.Lambda, several(VARIABLES, 1), nodes)
    )

    def several_of(builtin):
        most = len(builtin.parameters) + 1
        args = st.builds(ast.Arg, values)
        return several(args, builtin.required, max(builtin.required, most))

    calls = st.sampled_from(BUILTINS).flatmap(
        lambda builtin: st.tuples(st.just(builtin.name), several_of(builtin))
    )
    return (
        calls.map(lambda call: ast.Call(*call)),
        st.builds(lambda call, maybe: ast.Method(*call, maybe), calls, st.booleans()),
    )


# Joins are written with on:, not by the names the core has for them.
BUILTINS = sorted(
    {each for each in builtins().values() if each.name.isidentifier()},
    key=lambda builtin: builtin.name,
)
SMALL = st.builds(
    ast.Literal,
    st.sampled_from([0, 1, 2, 3, 1000, 0.5, 2**31, 2**63, 1e300, "a", ",", "(a*)*"]),
)
QUESTIONS = st.recursive(
    LEAVES | SMALL | F_STRINGS,
    lambda nodes: _larger(nodes, _known),
    max_leaves=12,
)
"""Trees that mostly mean something: every builtin is called, with all kinds of arguments."""
