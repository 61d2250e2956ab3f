"""The page for users of jq shows both, side by side."""

import re

import pytest

from tests.docs.markdown import ROOT, blocks, session

PAGE = ROOT / "docs/coming-from-jq.md"
SIDE_BY_SIDE = [block for block in blocks(PAGE) if block.kind == "console"]

# What people reach for in jq.
USED = """
    select map group_by to_entries from_entries with_entries map_values paths recurse walk
    ascii_downcase test match capture sub gsub split splits join startswith ltrimstr
    @csv @tsv @base64 @uri @html tojson fromjson tostring tonumber type length keys keys_unsorted
    has inside contains index any all unique unique_by max_by sort_by reverse add flatten range
    reduce limit first last inputs INDEX del delpaths setpath getpath |= += //= // try elif
    transpose combinations until
"""


def test_there_are_many():
    assert len(SIDE_BY_SIDE) >= 80


@pytest.mark.parametrize("block", SIDE_BY_SIDE, ids=lambda block: block.name)
def test_each_shows_both(block):
    commands = [command.line for command in session(block)]
    assert any(re.search(r"\bjq ", command) for command in commands)
    assert any(re.search(r"\bheadrace query ", command) for command in commands)


def test_what_people_use_is_there():
    shown = " ".join(
        command.line
        for block in SIDE_BY_SIDE
        for command in session(block)
        if "headrace" not in command.line
    )
    words = set(re.findall(r"@?\w+|[|+/]+=|//", shown))
    assert set(USED.split()) - words == set()
