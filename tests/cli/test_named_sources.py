"""Named sources on the command line, and the meaning of ``$`` beside them."""

import pytest


@pytest.fixture
def files(tmp_path):
    for name, number in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.jsonl").write_bytes(b'{"id": %d}\n' % number)
    return "p=a.jsonl"


@pytest.mark.parametrize(
    ("arguments", "code", "out", "said"),
    [
        (["$.count()"], 2, b"", "$ could be standard input or @p"),
        (["$.join(@p, on: id)"], 2, b"", "add - for standard input"),
        (["{n: $.count(), m: @p.count()}"], 2, b"", "--name main=a.jsonl"),
        (["$.map(id)", "-"], 0, b"7\n", ""),
        (["@p.map(id)"], 0, b"1\n", "standard input is not read"),
        (["$.map(id)", "--name", "main=b.jsonl"], 0, b"2\n", "standard input is not read"),
        (["$.map(id)", "b.jsonl"], 0, b"2\n", ""),
    ],
)  # fmt: skip
def test_standard_input_is_never_guessed(process, files, arguments, code, out, said):
    done = process("query", *arguments, "--name", files, stdin=b'{"id": 7}\n')
    assert (done.code, done.out, said in done.err) == (code, out, True), done.err


def test_a_name_is_given_once(headrace, files):
    done = headrace("query", "@p.count()", "--name", files, "--name", "p=b.jsonl")
    assert (done.code, done.out) == (2, b"")
    assert "--name p is given twice, for a.jsonl and b.jsonl" in done.err


def test_shapes(headrace, files):
    done = headrace("query", "--array", "@p.map(id)", "--name", files)
    assert done.out == b"[1]\n"
    done = headrace("query", "--lines", "[@p.count(), 2]", "--name", files)
    assert done.out == b"1\n2\n"
    done = headrace("query", "--lines", "--array", "@p", "--name", files)
    assert (done.code, "choose one" in done.err) == (2, True)


def test_functions_explains_rows_and_join(headrace):
    assert headrace("functions", "rows").out.startswith(b"rows()\n")
    assert b".join(other, on: key)" in headrace("functions", "join").out
