"""``headrace count``: the number of lines."""

import gzip

import pytest


@pytest.mark.parametrize(
    ("content", "count"),
    [
        pytest.param(b"", 0, id="empty"),
        pytest.param(b"1", 1, id="no line end"),
        pytest.param(b"1\n2\n", 2, id="two"),
        pytest.param(b"1\r\n\r\n2\r\n", 3, id="CRLF and blank"),
        pytest.param(b"\n\n\n", 3, id="blank"),
        pytest.param(b"{bad\n\xff\n", 2, id="bad"),
        pytest.param(b"\xef\xbb\xbf1\n2\n", 2, id="a BOM"),
        pytest.param(b"1\n" * 100_000, 100_000, id="many"),
    ],
)
@pytest.mark.parametrize("form", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("options", [[], ["--strict"]], ids=["fast", "checked"])
def test_count_prints_the_number_of_lines(
    headrace, tmp_path, compressed, content, count, form, options
):
    if form == "plain":
        file = tmp_path / "rows.jsonl"
        file.write_bytes(content)
    else:
        file = compressed(form, content)
    bad = b"bad" in content and options
    outcome = headrace("count", *options, file)
    assert (outcome.code, outcome.out) == (1 if bad else 0, b"%d\n" % count)


def test_count_reads_standard_input(process):
    assert process("count", "-", stdin=b"1\n2\n3").out == b"3\n"
    assert process("count", stdin=b"1\n2\n3").out == b"3\n"
    assert process("count", stdin=gzip.compress(b"1\n2\n")).out == b"2\n"


def test_files_are_counted_together_or_by_themselves(headrace, numbers, tmp_path):
    numbers(3, "logs/a.jsonl")
    numbers(40, "logs/b.jsonl")
    (tmp_path / "logs/empty.jsonl").touch()
    assert headrace("count", "logs").out == b"43\n"
    assert (
        headrace("count", "logs/a.jsonl", "logs/b.jsonl", "logs/a.jsonl").out == b"46\n"
    )
    outcome = headrace("count", "--per-file", "logs/*")
    assert outcome.out == b"3\tlogs/a.jsonl\n40\tlogs/b.jsonl\n0\tlogs/empty.jsonl\n"


def test_per_file_continues_after_a_damaged_file(headrace, numbers, tmp_path):
    numbers(3, "logs/a.jsonl")
    damaged = gzip.compress(b"1\n" * 1000)[:-10]
    (tmp_path / "logs/b.jsonl.gz").write_bytes(damaged)
    numbers(4, "logs/c.jsonl")
    outcome = headrace("count", "--per-file", "logs")
    assert outcome.code == 1
    assert outcome.out == b"3\tlogs/a.jsonl\n4\tlogs/c.jsonl\n"
    assert "logs/b.jsonl.gz" in outcome.err


def test_a_path_leaves_with_the_bytes_it_has_on_disk(process, tmp_path):
    name = b"caf\xe9.jsonl"
    (tmp_path / name.decode(errors="surrogateescape")).write_bytes(b"1\n")
    assert process("count", "--per-file", ".").out == b"1\t" + name + b"\n"


def test_tasks_of_spark_count_files_only(process, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"1\n")
    for arguments in (
        ["count", "--engine", "spark", "-"],
        ["count", "--engine", "spark", "--stats", "-"],
        ["count", "--master", "local[1]", "a.jsonl"],
    ):
        refused = process(*arguments)
        assert (refused.code, refused.out) == (2, b""), arguments
