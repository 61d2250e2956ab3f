"""A tree that is unparsed and parsed again is the same tree."""

from typing import get_args

import pytest
from hypothesis import given

from headrace.language import ast, traversal
from headrace.language.parser import parse
from headrace.language.unparse import unparse
from tests.query.samples import SAMPLES
from tests.query.trees import TREES


@given(TREES)
def test_any_tree(tree):
    assert parse(unparse(tree)) == tree


@pytest.mark.parametrize("query", SAMPLES)
def test_samples(query):
    tree = parse(query)
    assert parse(unparse(tree)) == tree


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("((a))", "a"),
        ("(a+b)*c", "(a + b) * c"),
        ("(a*b)+c", "a * b + c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("not(a==b)", "not a == b"),
        ("(not a)==b", "(not a) == b"),
        ("(a and b)or c", "a and b or c"),
        ("a and(b or c)", "a and (b or c)"),
        ("(-1).abs()", "(-1).abs()"),
        ("-1.abs()", "-1.abs()"),
        ("(a.b).c", "(a.b).c"),
        ("(x => a)", "x => a"),
        ("f(x=>a,lambda[k,v]:v)", "f(x => a, ([k, v]) => v)"),
        ("(x=>a)|b", "(x => a) | b"),
        ("a|f(1)", "a | @.f(1)"),
        ("a|(f(1))", "a | (f(1))"),
        ("xs has([1])", "xs has ([1])"),
        (
            "a if(b if c else d)else e if f else g",
            "a if (b if c else d) else e if f else g",
        ),
        ("[x for x in(a if b else c)if d]", "[x for x in (a if b else c) if d]"),
        ("match a with{n when(b->c)->d}", "match a with { n when (b -> c) -> d }"),
        ("(xs[*]=>a).b", "(xs[*] => a).b"),
        ("($..)and b", "($..) and b"),
        ("$.. .a", "$.. .a"),
        ("$..match?{a}", "$..match?{a}"),
        ("$['a'].if['b c']", '$.a.if["b c"]'),
        ("'it\\'s \"a\" \\d'", '"it\'s \\"a\\" \\\\d"'),
        ("f\"{a['b c']|join('\\x22')}\"", "f\"{a['b c'] | @.join('\\x22')}\""),
        ('f"{ {a} }{{"', 'f"{ {a}}{{"'),
        ("{'a':1,'b c':2,kind?,d?:e}", '{a: 1, "b c": 2, kind?, d?: e}'),
        ("1e21 + 0.10", "1e+21 + 0.1"),
        ("$.a-1", "$.a - 1"),
        ('$."a-b"', '$["a-b"]'),
        ('$.."a-b"', '$.."a-b"'),
        ("{a} where b > 1", "{a} if b > 1 else null"),
        ("def f(x) = x in f(1)", "let f = x => x in f(1)"),
        ("1 + # one\n2", "1 + 2"),
    ],
)
def test_written_with_no_more_parentheses_than_needed(query, written):
    assert unparse(parse(query)) == written
    assert unparse(parse(written)) == written


@pytest.mark.parametrize(
    "tree",
    [
        ast.Name("a b"),
        ast.Name("kind"),
        ast.FString((ast.Text('"'),)),
        ast.FString((ast.Interpolation(ast.FString(())),)),
        ast.Path(ast.Root(), (ast.Method("a b"),)),
    ],
)
def test_a_tree_that_no_query_can_express_is_refused(tree):
    with pytest.raises(ValueError, match=r"not|cannot"):
        unparse(tree)


def test_the_samples_hold_every_kind_of_node_and_step():
    trees = [parse(query) for query in SAMPLES]
    nodes = [node for tree in trees for node in traversal.walk(tree)]
    assert {type(node) for node in nodes} == set(get_args(ast.Node))
    steps = [
        step for node in nodes if isinstance(node, ast.Path) for step in node.steps
    ]
    assert {type(step) for step in steps} == set(get_args(ast.Step))
