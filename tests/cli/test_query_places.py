"""``input_file()``, ``input_line()`` and ``input_row()``: the place of a row."""

import json

import pytest

from headrace.api.results import evaluate
from headrace.errors import HeadraceError

QUERY = "[input_file(), input_line(), input_row()]"


@pytest.fixture
def files(tmp_path):
    counts = {"a.jsonl": 3, "b.jsonl": 0, "c.jsonl": 5000, "d.jsonl": 1}
    for name, count in counts.items():
        rows = b"".join(b'{"n":%d}\n' % n if n % 7 else b"\n" for n in range(count))
        (tmp_path / name).write_bytes(rows)
    return list(counts.items())


def places(files):
    """List the place of each row that is not blank, by counting."""
    every = [(name, line + 1) for name, count in files for line in range(count)]
    found = [[name, line, row] for row, (name, line) in enumerate(every)]
    return [place for place in found if (place[1] - 1) % 7]


@pytest.mark.parametrize(
    ("arguments", "turned"),
    [
        ([QUERY], False),
        ([f"$.rows().map({QUERY})"], False),
        ([QUERY, "--reverse"], True),
        ([f"$.rows().map({QUERY})", "--reverse"], True),
        ([f"$.rows().reverse().map({QUERY})"], True),
        (["--where", "input_row() >= 0", QUERY], False),
    ],
)
def test_places_equal_those_found_by_counting(headrace, files, arguments, turned):
    done = headrace("query", *arguments, *(name for name, _count in files))
    assert (done.code, done.err) == (0, "")
    wanted = places(files)
    found = [json.loads(row) for row in done.rows]
    assert found == (wanted[::-1] if turned else wanted)


def test_row_numbers_continue_across_sources_with_a_pipe(process, files, tmp_path):
    content = (tmp_path / "c.jsonl").read_bytes()
    done = process(
        "query", "[input_line(), input_row()]", "-", "d.jsonl", stdin=content
    )
    last = done.rows[-1]
    assert json.loads(last) == [5000, 4999]
    done = process("query", "input_row()", "a.jsonl", "-", stdin=b"1\n")
    assert done.rows == [b"1", b"2", b"3"]


def test_a_key_index_leaves_places_alone(headrace, files):
    assert headrace("index", "build", "--on", "n", "c.jsonl").code == 0
    query = "input_line() if n == 4000 else null"
    assert headrace("query", query, "c.jsonl").out == b"4001\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["$.rows().sort(input_line())", "a.jsonl"], 1, "only of a row of a file"),
        (
            ["@o.map(input_line())", "a.jsonl", "--name", "o=a.jsonl"],
            1,
            "only of a row",
        ),
        ([QUERY, "a.jsonl", "--engine", "spark"], 2, "need --engine local"),
    ],
)
def test_unknown_places_are_refused(headrace, files, arguments, code, said):
    done = headrace("query", *arguments)
    assert (done.code, done.out, said in done.err) == (code, b"", True)


def test_a_document_has_no_place():
    with pytest.raises(HeadraceError, match="only of a row of a file"):
        evaluate("input_line()", b"{}")
