"""head, tail and row: the rows that they print."""

import gzip

import pytest

from headrace.cli.io import inputs


def rows(*numbers):
    return [b'{"n":%d}' % n for n in numbers]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["head"], range(10), id="head: ten"),
        pytest.param(["head", "-n", "3"], range(3), id="head: three"),
        pytest.param(["head", "--limit=3"], range(3), id="head: three, long"),
        pytest.param(["head", "-n", "0"], range(0), id="head: none"),
        pytest.param(["head", "-n", "100"], range(25), id="head: more than there are"),
        pytest.param(["tail"], range(15, 25), id="tail: ten"),
        pytest.param(["tail", "-n3"], range(22, 25), id="tail: three"),
        pytest.param(["tail", "-n", "0"], range(0), id="tail: none"),
        pytest.param(["tail", "-n", "100"], range(25), id="tail: more than there are"),
    ],
)
@pytest.mark.parametrize("form", ["plain", "gzip", "zstd", "stdin"])
def test_head_and_tail(
    headrace, process, numbers, compressed, arguments, expected, form
):
    file = numbers(25)
    content = file.read_bytes()
    if form == "stdin":
        outcome = process(*arguments, "-", stdin=content)
    elif form == "plain":
        outcome = headrace(*arguments, file)
    else:
        outcome = headrace(*arguments, compressed(form, content))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.rows == rows(*expected)


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        pytest.param("0", [0], id="first"),
        pytest.param("24", [24], id="last"),
        pytest.param("-1", [24], id="last, from the end"),
        pytest.param("-25", [0], id="first, from the end"),
        pytest.param("3:6", [3, 4, 5], id="range"),
        pytest.param("-3:", [22, 23, 24], id="from the end on"),
        pytest.param(":2", [0, 1], id="up to"),
        pytest.param(":-23", [0, 1], id="up to, from the end"),
        pytest.param("-2:-1", [23], id="both from the end"),
        pytest.param(":", range(25), id="all"),
        pytest.param("20:99", range(20, 25), id="past the end"),
        pytest.param("-99:2", [0, 1], id="before the start"),
        pytest.param("6:3", [], id="backwards is empty"),
        pytest.param("99:", [], id="after the end is empty"),
    ],
)
@pytest.mark.parametrize("form", ["plain", "gzip", "zstd", "stdin", "directory"])
def test_row_prints_rows_by_number(
    headrace, process, numbers, compressed, argument, expected, form
):
    file = numbers(25)
    content = file.read_bytes()
    if form == "stdin":
        outcome = process("row", "-", argument, stdin=content)
    elif form == "plain":
        outcome = headrace("row", file, argument)
    elif form == "directory":
        outcome = headrace("row", file.parent, argument)
    else:
        outcome = headrace("row", compressed(form, content), argument)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.rows == rows(*expected)


@pytest.mark.parametrize("most", [0, 3, 100])
@pytest.mark.parametrize(
    "argument", ["-1", "-3", "-4", "-25", "-26", "-3:", "-4:", "-26:"]
)
def test_near_and_far_from_the_end_are_the_same(
    headrace, numbers, monkeypatch, argument, most
):
    monkeypatch.setattr(inputs, "MOST_HELD", most)
    outcome = headrace("row", numbers(25), argument)
    first, *_ = argument.split(":")
    if argument == "-26":
        assert outcome.code == 1
    else:
        start = max(25 + int(first), 0)
        end = 25 if ":" in argument else start + 1
        assert outcome.rows == rows(*range(start, end))


@pytest.mark.parametrize("argument", ["25", "-26", "1000000000000"])
def test_a_row_out_of_range(headrace, numbers, argument):
    file = numbers(25)
    outcome = headrace("row", file, argument)
    assert (outcome.code, outcome.out) == (1, b"")
    assert outcome.err.startswith(f"headrace: {file}: ")
    assert argument in outcome.err
    assert "25" in outcome.err.replace(argument, "", 1)


@pytest.mark.parametrize(
    "argument", ["", "x", "1:2:3", "1-2", "1.5", "--", "-", "-:", "1:x"]
)
def test_invalid_ranges(headrace, numbers, argument):
    outcome = headrace("row", numbers(3), argument)
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["head", "-n", "2", "FILE"],
        ["head", "FILE", "-n", "2"],
        ["head", "--quiet", "FILE", "--events", "text", "-n2"],
        ["head", "-n", "2", "--", "FILE"],
        ["row", "FILE", ":2"],
        ["row", "--no-index", "FILE", ":2"],
        ["row", "FILE", "--no-index", ":2"],
        ["row", "FILE", "-5:-3", "--no-index"],
        ["row", "--max-line", "1MiB", "FILE", "-5:-3"],
    ],
    ids=" ".join,
)
def test_options_may_stand_anywhere(headrace, numbers, arguments):
    file = numbers(5)
    outcome = headrace(*(str(file) if each == "FILE" else each for each in arguments))
    assert (outcome.code, outcome.rows) == (0, rows(0, 1))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"\n", [b""], id="one blank line"),
        pytest.param(b"1\n\n \n2", [b"1", b"", b" ", b"2"], id="blank lines, no end"),
        pytest.param(b"1\r\n2\r\n", [b"1", b"2"], id="CRLF"),
        pytest.param(b"1\r2\n3\r\r\n", [b"1\r2", b"3\r"], id="a lone CR"),
        pytest.param(b"\xef\xbb\xbf1\n2\n", [b"1", b"2"], id="a BOM"),
        pytest.param(b"1\n\xef\xbb\xbf2\n", [b"1", b"\xef\xbb\xbf2"], id="a late BOM"),
        pytest.param(b'"\0"\n\0\n', [b'"\0"', b"\0"], id="NUL bytes"),
        pytest.param(
            b'"\xff"\n{bad\n', [b'"\xff"', b"{bad"], id="bad rows as they are"
        ),
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [["head", "FILE"], ["tail", "FILE"], ["row", "FILE", ":"]],
    ids=lambda words: words[0],
)
def test_rows_are_printed_as_they_are(headrace, tmp_path, content, expected, arguments):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    outcome = headrace(*(str(file) if each == "FILE" else each for each in arguments))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.rows == expected


@pytest.fixture
def three_files(numbers):
    first, second = numbers(3, "logs/a.jsonl"), numbers(2, "logs/b.jsonl")
    third = second.with_name("c.jsonl.gz")
    third.write_bytes(gzip.compress(b'{"n":9}\n'))
    return first, second, third


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["head", "-n", "4"], [0, 1, 2, 0]),
        (["head", "-n", "2"], [0, 1]),
        (["tail", "-n", "2"], [1, 9]),
        (["tail", "-n", "4"], [2, 0, 1, 9]),
        (["tail", "-n", "9"], [0, 1, 2, 0, 1, 9]),
    ],
)
@pytest.mark.parametrize("form", ["files", "directory", "glob", "deep glob"])
def test_several_files_are_one_sequence(
    headrace, three_files, arguments, expected, form
):
    files = {
        "files": three_files,
        "directory": ["logs"],
        "glob": ["logs/*.jsonl*"],
        "deep glob": ["**/*.jsonl*"],
    }[form]
    outcome = headrace(*arguments, *files)
    assert (outcome.code, outcome.rows) == (0, rows(*expected))


@pytest.mark.parametrize(
    ("argument", "expected"),
    [("2:4", [2, 0]), ("-1", [9]), ("-3:-1", [0, 1]), ("5", [9]), ("3", [0])],
)
def test_rows_are_counted_through_files(headrace, three_files, argument, expected):
    assert headrace("row", "logs", argument).rows == rows(*expected)


def test_standard_input_may_stand_between_files(process, numbers):
    file = numbers(2)
    outcome = process("head", file, "-", file, stdin=b"7\n")
    assert outcome.rows == [*rows(0, 1), b"7", *rows(0, 1)]


def test_head_reads_no_more_than_it_must(start, wait_for):
    child = start("head", "-n", "2", "-")
    child.stdin.write(b"1\n2\n3\n")
    assert child.stdout.read() == b"1\n2\n"
    assert child.wait(timeout=10) == 0


def test_rows_of_a_live_source_are_passed_on_at_once(start):
    child = start("head", "-n", "2", "-")
    child.stdin.write(b"1\n")
    assert child.stdout.read(2) == b"1\n"
    child.stdin.write(b"2\n")
    assert child.stdout.read(2) == b"2\n"
    assert child.wait(timeout=10) == 0


@pytest.mark.parametrize(
    "url", ["file://{path}", "memory://nothing-here.jsonl"], ids=["file", "memory"]
)
def test_a_url(headrace, numbers, url):
    path = numbers(3)
    outcome = headrace("head", url.format(path=path))
    if url.startswith("file"):
        assert (outcome.code, outcome.rows) == (0, rows(0, 1, 2))
    else:
        assert outcome.code == 1
        assert "memory://nothing-here.jsonl" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["head", "-2", "{path}"], (0, 1)),
        (["head", "{path}", "-1"], (0,)),
        (["tail", "-2", "{path}"], (3, 4)),
        (["tail", "-n", "1", "{path}"], (4,)),
    ],
)
def test_a_count_can_be_an_option_as_in_head_and_tail(
    headrace, numbers, arguments, expected
):
    path = numbers(5)
    outcome = headrace(*(each.format(path=path) for each in arguments))
    assert (outcome.code, outcome.rows) == (0, rows(*expected))
