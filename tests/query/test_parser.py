"""Trees of all constructs."""

import pickle
from decimal import Decimal

import pytest

from headrace.errors import UsageError
from headrace.language import ast, traversal
from headrace.language.ast import (
    AnyValue,
    Arg,
    Arm,
    ArrayComprehension,
    ArrayLiteral,
    ArrayPattern,
    Bind,
    Binding,
    Call,
    Capture,
    Compare,
    CompareOperator,
    Computed,
    ComputedEntry,
    Conditional,
    Contains,
    ContainsAll,
    Current,
    DeepMatch,
    DeepMethod,
    Delete,
    Descend,
    Each,
    Entry,
    Equals,
    ExactlyOne,
    Field,
    FieldPattern,
    Fields,
    For,
    FString,
    Index,
    InlineFilter,
    InRange,
    Interpolation,
    Items,
    Kind,
    Lambda,
    Let,
    Literal,
    Match,
    Method,
    Name,
    Negate,
    ObjectComprehension,
    ObjectLiteral,
    ObjectPattern,
    OfKind,
    OneOf,
    Patch,
    Path,
    Pipe,
    Rest,
    Root,
    Shorthand,
    Slice,
    Source,
    Spread,
    Text,
    Variable,
    Write,
)
from headrace.language.parser import parse
from tests.query.samples import SAMPLES

A, B, C, X, XS = (Name(name) for name in ["a", "b", "c", "x", "xs"])
ONE, TWO = Literal(1), Literal(2)


def path(*steps, base=XS):
    return Path(base, steps)


def args(*values):
    return tuple(Arg(value) for value in values)


def greater(left, right):
    return Compare(CompareOperator.GREATER, left, right)


def for_(name, source=XS, *conditions):
    return For((name,), source, conditions)


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("$", Root()),
        ("@", Current()),
        ("@traces", Source("traces")),
        ("a", A),
        ("true", Literal(True)),
        ("null", Literal(None)),
        ("1", Literal(1)),
        ("1.0", Literal(1.0)),
        ("1e400", Literal(Decimal("1e400"))),
        ("'a'", Literal("a")),
        ("DELETE", Delete()),
        ("((a))", A),
        ("-1", Negate(ONE)),
    ],
)
def test_trees_of_leaves(query, tree):
    assert parse(query) == tree


@pytest.mark.parametrize(
    ("step", "steps"),
    [
        (".a", [Field("a")]),
        (".if", [Field("if")]),
        ('."a-b"', [Field("a-b")]),
        ('."a b".c', [Field("a b"), Field("c")]),
        ('.."a-b"', [Descend("a-b")]),
        (" . a", [Field("a")]),
        ('["a b"]', [Field("a b")]),
        ("['a']", [Field("a")]),
        ('.{"a"}', [Field("a")]),
        ("[0]", [Index(0)]),
        ("[-1]", [Index(-1)]),
        (".{1}", [Index(1)]),
        ("[a]", [Computed(A)]),
        (".{a}", [Computed(A)]),
        ("[true]", [Computed(Literal(True))]),
        ("[1+1]", [Computed(ast.Binary(ast.BinaryOperator.ADD, ONE, ONE))]),
        ("[1:2]", [Slice(1, 2)]),
        ("[1:]", [Slice(1)]),
        ("[:-2]", [Slice(None, -2)]),
        ("[:]", [Slice()]),
        ("[::2]", [Slice(None, None, 2)]),
        ("[5:0:-1]", [Slice(5, 0, -1)]),
        ("[*]", [Each()]),
        ("[*].a", [Each(), Field("a")]),
        ("[* if a].b", [Each(A), Field("b")]),
        ("[*] => a", [Each(None, A)]),
        ("[* if a] => b | c", [Each(A, Pipe(B, (C,)))]),
        ("{a > 1}", [InlineFilter(greater(A, ONE))]),
        ("{a}!", [InlineFilter(A), ExactlyOne()]),
        ("..k", [Descend("k")]),
        ("..", [Descend()]),
        ("..{a}", [Descend(), InlineFilter(A)]),
        ("..[0]", [Descend(), Index(0)]),
        ("..match", [Descend("match")]),
        ("..find(a, b)", [DeepMethod("find", args(A, B))]),
        ("..match { _ -> a }", [DeepMatch((Arm(AnyValue(), A),))]),
        ("..match! { _ -> a }", [DeepMatch((Arm(AnyValue(), A),), first=True)]),
        ("..match!", [Descend("match"), ExactlyOne()]),
        (".a?", [Field("a", optional=True)]),
        (".a()?", [Method("a", optional=True)]),
        ("[0]?", [Index(0)]),
        (".a?.b", [Field("a", optional=True), Field("b")]),
        (".a? ?", [Field("a", optional=True)]),
        (".f()", [Method("f")]),
        (".or(a)", [Method("or", args(A))]),
        (".f(a, as: b)", [Method("f", (Arg(A), Arg(B, "as")))]),
        (".f(on: .a)", [Method("f", (Arg(path(Field("a"), base=Current()), "on"),))]),
        ("\n.f ( a )", [Method("f", args(A))]),
    ],
)
def test_trees_of_steps(step, steps):
    assert parse(f"xs{step}") == path(*steps)


def test_a_path_in_parentheses_is_the_base_of_another():
    inner = path(Each(), Field("a"))
    assert parse("(xs[*].a).b") == Path(inner, (Field("b"),))
    assert parse("(xs[*].a)") == inner


@pytest.mark.parametrize(
    ("query", "same"),
    [
        (".a", "@.a"),
        (".a > 1", "@.a > 1"),
        (".f(a)", "@.f(a)"),
        (".{a}", "@[a]"),
        ("has(a, b)", "@.has(a, b)"),
        ("missing(a)", "@.missing(a)"),
        ("a ?| b", "a ?? b"),
        ("a |> b", "a | b"),
        ("a | f(b)", "a | @.f(b)"),
        ("a | f(b).c ?? 1", "a | @.f(b).c ?? 1"),
        ("a | has(b)", "a | @.has(b)"),
        ("a kind number", "a is number"),
        ("lambda x: a", "x => a"),
        ("lambda a, [b, c]: x", "(a, [b, c]) => x"),
        ("(x) => a", "x => a"),
        ("(x for x in xs)", "[x for x in xs]"),
        ("[a for [a, b] in xs]", "[a for a, b in xs]"),
        ("{...*a}", "{...a}"),
        ("{a?}", "{a}"),
        ("[1, 2,]", "[1, 2]"),
        ("{a,}", "{a}"),
        ('f"{a|upper}"', 'f"{a | upper}"'),
        ("match a with { {b} -> c, }", "match a with { {b: b} -> c }"),
    ],
)
def test_two_spellings_have_one_tree(query, same):
    assert parse(query) == parse(same)


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("f()", Call("f")),
        ("f(a, b: 1)", Call("f", (Arg(A), Arg(ONE, "b")))),
        ("a | (f(b))", Pipe(A, (Call("f", args(B)),))),
        ("a | b", Pipe(A, (B,))),
        ("a -> x", Pipe(A, (Bind(Variable("x")),))),
        ("a -> x | b", Pipe(A, (Bind(Variable("x")), B))),
        ("a -> {b, c,}", Pipe(A, (Bind(Fields(("b", "c"))),))),
        ("a -> {b, ...c}", Pipe(A, (Bind(Fields(("b",), "c")),))),
        ("a -> [b, c]", Pipe(A, (Bind(Items(("b", "c"))),))),
        ("let a = 1 in b", Let((Binding(Variable("a"), ONE),), B)),
        ("let (a, b) = xs in c", Let((Binding(Items(("a", "b")), XS),), C)),
        (
            "def f(x) = a in b",
            Let((Binding(Variable("f"), Lambda((Variable("x"),), A)),), B),
        ),
        ("def", Name("def")),
        ("a if b", Conditional(B, A, Literal(None))),
        ("a where b", Conditional(B, A, Literal(None))),
        ("a if b else c where x", Conditional(X, Conditional(B, A, C), Literal(None))),
        ("where", Name("where")),
        (
            "[x if a for x in xs]",
            ArrayComprehension(Conditional(A, X, Literal(None)), (for_("x"),)),
        ),
        ("x => a", Lambda((Variable("x"),), A)),
        ("() => a", Lambda((), A)),
        ("([a, ...b]) => c", Lambda((Items(("a",), "b"),), C)),
        ("a has b", Contains(A, B)),
        ("b in a", Contains(A, B, single=True)),
        ("a has [1, -2]", ContainsAll(A, (ONE, Literal(-2)))),
        ("a has []", ContainsAll(A, ())),
        ("a has ([b])", Contains(A, ArrayLiteral((B,)))),
        ("a has [b][0]", Contains(A, path(Index(0), base=ArrayLiteral((B,))))),
    ],
)
def test_calls_pipes_and_names(query, tree):
    assert parse(query) == tree


@pytest.mark.parametrize(
    ("query", "tree"),
    [
        ("[]", ArrayLiteral(())),
        ("[a, ...b]", ArrayLiteral((A, Spread(B)))),
        ("{}", ObjectLiteral(())),
        ("{a}", ObjectLiteral((Shorthand("a"),))),
        ("{kind?}", ObjectLiteral((Shorthand("kind"),))),
        ("{kind: a}", ObjectLiteral((Entry("kind", A),))),
        ("{if: a, for: b}", ObjectLiteral((Entry("if", A), Entry("for", B)))),
        ('{"a b": a}', ObjectLiteral((Entry("a b", A),))),
        ("{a?: b}", ObjectLiteral((Entry("a", B, optional=True),))),
        ("{a: b when c}", ObjectLiteral((Entry("a", B, condition=C),))),
        ("{[a]: b}", ObjectLiteral((ComputedEntry(A, B),))),
        ("{a, [b]: c when x}", ObjectLiteral((Shorthand("a"), ComputedEntry(B, C, X)))),
        ("{...a, ...**b}", ObjectLiteral((Spread(A), Spread(B, deep=True)))),
        ("[x for x in xs if a]", ArrayComprehension(X, (for_("x", XS, A),))),
        (
            "[x for x in a for a in b]",
            ArrayComprehension(X, (for_("x", A), for_("a", B))),
        ),
        ("{x for x in xs}", ArrayComprehension(X, (for_("x"),), distinct=True)),
        ("{x: a for x in xs}", ObjectComprehension(X, A, (for_("x"),))),
        ("{'x': a for x in xs}", ObjectComprehension(Literal("x"), A, (for_("x"),))),
        ("{true: a for x in xs}", ObjectComprehension(Literal(True), A, (for_("x"),))),
        (
            "{[x]: a for x in xs}",
            ObjectComprehension(ArrayLiteral((X,)), A, (for_("x"),)),
        ),
        (
            "{xs.a: b for x in xs}",
            ObjectComprehension(path(Field("a")), B, (for_("x"),)),
        ),
        ('f""', FString(())),
        ('f"a{{b}}"', FString((Text("a{b}"),))),
        ('f"{a}{b:.2f}"', FString((Interpolation(A), Interpolation(B, ".2f")))),
        ('f"{a:}"', FString((Interpolation(A),))),
        ("f\"{xs['a']}\"", FString((Interpolation(path(Field("a"))),))),
        ('f"{ {a} }"', FString((Interpolation(ObjectLiteral((Shorthand("a"),))),))),
        ("patch a {}", Patch(A, ())),
        ("patch a {b: 1}", Patch(A, (Write((Field("b"),), ONE),))),
        ("patch a {b: 1 when c}", Patch(A, (Write((Field("b"),), ONE, C),))),
        (
            'patch a { kind."b-c"..d[-1][*][* if x]["e f"]: DELETE }',
            Patch(
                A,
                (
                    Write(
                        (
                            Field("kind"),
                            Field("b-c"),
                            Descend("d"),
                            Index(-1),
                            Each(),
                            Each(X),
                            Field("e f"),
                        ),
                        Delete(),
                    ),
                ),
            ),
        ),
        (
            "patch xs{a} {b: 1}",
            Patch(path(InlineFilter(A)), (Write((Field("b"),), ONE),)),
        ),
        (
            "patch xs{lambda x: a} {b: 1}",
            Patch(
                path(InlineFilter(Lambda((Variable("x"),), A))),
                (Write((Field("b"),), ONE),),
            ),
        ),
        (
            "patch a {b: 1}.c",
            path(Field("c"), base=Patch(A, (Write((Field("b"),), ONE),))),
        ),
    ],
)
def test_construction_and_writes(query, tree):
    assert parse(query) == tree


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("_", AnyValue()),
        ("n", Capture("n")),
        ("null", Equals(Literal(None))),
        ("true", Equals(Literal(True))),
        ("-1.5", Equals(Literal(-1.5))),
        (r'"a\n"', Equals(Literal("a\n"))),
        ("number", OfKind(Kind.NUMBER)),
        ("n: number", OfKind(Kind.NUMBER, "n")),
        ("n: null", OfKind(Kind.NULL, "n")),
        ("_: null", OfKind(Kind.NULL)),
        ("1..10", InRange(1, 10)),
        ("-1..=-0.5", InRange(-1, -0.5, inclusive=True)),
        ("1 | 2", OneOf((Equals(ONE), Equals(TWO)))),
        ("1 | (2 | 1)", OneOf((Equals(ONE), OneOf((Equals(TWO), Equals(ONE)))))),
        ("(n)", Capture("n")),
        ("{}", ObjectPattern(())),
        ("{if: _}", ObjectPattern((FieldPattern("if", AnyValue()),))),
        ('{"a b": n}', ObjectPattern((FieldPattern("a b", Capture("n")),))),
        ("{n}", ObjectPattern((FieldPattern("n", Capture("n")),))),
        ("{number}", ObjectPattern((FieldPattern("number", Capture("number")),))),
        (
            "{a: n: string}",
            ObjectPattern((FieldPattern("a", OfKind(Kind.STRING, "n")),)),
        ),
        ("{a: 1, ...*r}", ObjectPattern((FieldPattern("a", Equals(ONE)),), Rest("r"))),
        ("{a: 1, ...}", ObjectPattern((FieldPattern("a", Equals(ONE)),), Rest())),
        ("[]", ArrayPattern(())),
        ("[a, b]", ArrayPattern((Capture("a"), Capture("b")))),
        ("[a, ...r]", ArrayPattern((Capture("a"),), Rest("r"))),
        ("[a, ...,]", ArrayPattern((Capture("a"),), Rest())),
    ],
)
def test_trees_of_patterns(pattern, expected):
    tree = parse(f"match x with {{ {pattern} when a -> b }}")
    assert tree == Match(X, (Arm(expected, B, A),))


def test_alternatives_may_bind_names_in_different_places():
    parse("match x with { {a: n} | [_, n] | (n | n) -> n }")


@pytest.mark.parametrize(
    ("query", "same"),
    [
        pytest.param("not a == b", "not (a == b)", id="not below =="),
        pytest.param("not a is null and b", "(not (a is null)) and b", id="not, and"),
        pytest.param("not not a", "not (not a)", id="not not"),
        pytest.param("a or b and c", "a or (b and c)", id="or, and"),
        pytest.param("1 if a else b | c", "1 if a else (b | c)", id="else, pipe"),
        pytest.param("a | b if c else x", "(a | b) if c else x", id="pipe, if"),
        pytest.param("a if b | c else x", "a if (b | c) else x", id="pipe in test"),
        pytest.param("1 if a else 2 if b else 3", "1 if a else (2 if b else 3)"),
        pytest.param("try a else try b else c", "try a else (try b else c)"),
        pytest.param("try a | b else c", "try (a | b) else c", id="try, pipe"),
        pytest.param("null ?? 1 + 1", "null ?? (1 + 1)", id="??, +"),
        pytest.param("a or b ?? c", "(a or b) ?? c", id="or, ??"),
        pytest.param("a ?? b | c", "(a ?? b) | c", id="??, pipe"),
        pytest.param("-x.f()", "-(x.f())", id="- below steps"),
        pytest.param("-1.abs()", "-(1.abs())", id="- below steps, number"),
        pytest.param("-x as int", "(-x) as int", id="-, as"),
        pytest.param("a as int * 2", "(a as int) * 2", id="as, *"),
        pytest.param("a as int as string", "(a as int) as string", id="as, as"),
        pytest.param("a - b - c", "(a - b) - c", id="left to right"),
        pytest.param("a - b * c % x", "a - ((b * c) % x)", id="-, *"),
        pytest.param("a + b > c - 1", "(a + b) > (c - 1)", id="+, >"),
        pytest.param("a == b has c == x", "(a == b) has (c == x)", id="==, has"),
        pytest.param("a has b is bool", "(a has b) is bool", id="has, is"),
        pytest.param("a in b is bool", "(a in b) is bool", id="in, is"),
        pytest.param("a == b is bool", "(a == b) is bool", id="==, is"),
        pytest.param("x => a | b", "x => (a | b)", id="lambda as far as it goes"),
        pytest.param("a + x => b + c", "a + (x => (b + c))", id="lambda on the right"),
        pytest.param("let a = 1 in b | c", "let a = 1 in (b | c)", id="let"),
        pytest.param(
            "let a = x => a in b | c", "let a = (x => a) in (b | c)", id="let lambda"
        ),
        pytest.param(
            "let a = let b = 1 in b in a", "let a = (let b = 1 in b) in a", id="let let"
        ),
        pytest.param(
            "let a = 1 if x in xs else try x in xs else 2 in a",
            "let a = (1 if (x in xs) else (try (x in xs) else 2)) in a",
            id="in between if and else",
        ),
        pytest.param(
            "let a = match x in xs with { _ -> 1 } in a",
            "let a = (match (x in xs) with { _ -> 1 }) in a",
            id="in between match and with",
        ),
        pytest.param("xs[*] => a + b", "xs[*] => (a + b)", id="body of each"),
        pytest.param("patch a ?? b {c: 1} | x", "(patch (a ?? b) {c: 1}) | x"),
        pytest.param(
            "[x for x in a if b else c if x]",
            "[x for x in (a if b else c) if x]",
            id="if with else in a loop",
        ),
        pytest.param(
            "[x for x in a if b if c else 1]",
            "[x for x in a if (b if c else 1)]",
            id="else goes to the nearest if",
        ),
        pytest.param(
            "[x for x in let a = 1 in a if b]",
            "[x for x in (let a = 1 in a) if b]",
            id="if after a let in a loop",
        ),
        pytest.param(
            "[try a else b for x in xs]", "[(try a else b) for x in xs]", id="try, for"
        ),
        pytest.param(
            "match x with { n when a | b -> c }",
            "match x with { n when (a | b) -> c }",
            id="pipe in a guard",
        ),
        pytest.param(
            "{a: b if c else x when xs}", "{a: (b if c else x) when xs}", id="when"
        ),
    ],
)
def test_precedence(query, same):
    assert parse(query) == parse(same)


def test_literals_of_different_types_differ():
    trees = [parse(query) for query in ["1", "1.0", "true", "'1'"]]
    assert len(set(trees)) == 4


def test_chains_are_flat():
    assert parse("a or b or c") == ast.Or((A, B, C))
    assert parse("a and b and c") == ast.And((A, B, C))
    assert parse("a ?? b ?| c") == ast.Coalesce((A, B, C))
    assert parse("(a or b) or c") == ast.Or((ast.Or((A, B)), C))


@pytest.mark.parametrize("query", SAMPLES)
def test_every_expression_has_a_position(query):
    tree = parse(query)
    assert tree.span == ast.Span(0, len(query))
    for node in traversal.walk(tree):
        text = query[node.span.start : node.span.end]
        if text and query[: node.span.start].rstrip()[-1:] not in {"|", ">"}:
            assert parse(text) in {node, _without_sign(node)}


def _without_sign(node):
    """Return a negative literal as it is parsed outside of a list."""
    match node:
        case Literal(int(value)) if value < 0:
            return Negate(Literal(-value))
    return node


@pytest.mark.parametrize("query", SAMPLES)
def test_trees_can_be_pickled_and_hashed(query):
    tree = parse(query)
    again = pickle.loads(pickle.dumps(tree))
    assert (again, again.span) == (tree, tree.span)
    assert hash(again) == hash(tree)


@pytest.mark.parametrize("max_depth", [0, -1, 1001])
def test_the_limit_has_limits(max_depth):
    with pytest.raises(UsageError):
        parse("a", max_depth=max_depth)
