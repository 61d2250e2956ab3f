"""Every example in the manual of the language holds."""

import re

import pytest

from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from tests.docs.markdown import ROOT, blocks, exactly, examples, session

MANUAL = ROOT / "docs/language.md"
EXAMPLES = [
    pytest.param(example, id=example.query)
    for document in (MANUAL, ROOT / "docs/determinism.md")
    for example in examples(document)
]

# The most common functions; the others are in docs/functions.md.
CORE = """
    filter map flat_map find any all take skip first last nth len count sum avg min max min_by max_by
    sort reverse unique unique_by distinct_by group_by count_by index_by partition flatten compact
    append join split upper lower trim replace replace_all slice starts_with ends_with includes
    contains has missing keys values entries from_pairs pick omit merge rename defaults
    transform_values to_string to_number to_json from_json type round floor ceil abs or re_match
    match_first captures set modify delete update rows coalesce fold range
"""
CONSTRUCTS = {
    "the document": r"\$\.", "the value looked at": r"@ ", "a leading dot": r"\(\.\w",
    "a lambda": r"\w => ", "a Python lambda": r"lambda \w+:", "a key": r'\["', "an index": r"\[0\]",
    "a slice": r"\[1:\]", "a step": r"\[::", "all elements": r"\[\*\]", "some elements": r"\[\* if",
    "an inline filter": r"\w\{", "optional": r"\w\?\.", "exactly one": r"\w!$", "default": r"\?\?",
    "a condition": r" if .* else ", "containment": r" has ", "membership": r" in xs", "kind": r" is not ",
    "cast": r" as int", "and": " and ", "or": " or ", "not": "not ", "pipe": r" \| ", "bind": " -> ",
    "let": "let ", "match": "match ", "guard": r" when n < 0", "range": r"\d\.\.\d", "rest": r"\.\.\.rest",
    "shorthand": r"\{id,", "optional key": r"\w\?:", "computed key": r"\[k\]:", "entry on a condition": " when ",
    "spread": r"\{\.\.\.\$", "deep spread": r"\.\.\.\*\*", "f-string": r'f"', "comprehension": " for x in ",
    "object comprehension": r"\{k: .* for k, v in", "try": "try ", "patch": r"patch \$", "deep": r"\.\.id",
}  # fmt: skip


def test_there_are_examples():
    assert len(EXAMPLES) > 200


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_holds(example):
    if example.error is not None:
        with pytest.raises(HeadraceError, match=re.escape(example.error)):
            evaluate(example.query, example.document.encode())
        return
    given = evaluate(example.query, example.document.encode())
    assert exactly(given) == exactly(example.answer)


def queries():
    """Return every query in the manual, with its command."""
    shown = [example.query for example in examples(MANUAL)]
    for block in blocks(MANUAL):
        if block.kind == "console":
            shown += [command.line for command in session(block)]
    return shown


def test_every_function_of_the_core_is_shown():
    shown = "\n".join(queries())
    called = set(re.findall(r"\b(\w+)\(", shown)) | set(re.findall(r"\| (\w+)", shown))
    assert set(CORE.split()) - called == set()


@pytest.mark.parametrize(
    "pattern", [pytest.param(*item[1:], id=item[0]) for item in CONSTRUCTS.items()]
)
def test_every_construct_of_the_core_is_shown(pattern):
    assert any(re.search(pattern, query) for query in queries())
