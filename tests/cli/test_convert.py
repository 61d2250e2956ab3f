"""``headrace convert``, and the errors for files that are not JSON lines."""

import gzip
import json
import random

import pytest

import headrace as api


@pytest.mark.parametrize(
    ("content", "arguments", "printed"),
    [
        (b'[{"a": 1.50},\n {"b": [1, 2]}]', [], b'{"a":1.50}\n{"b":[1,2]}\n'),
        (b'{\n  "a": 1\n}\n{"b": 2}\n', [], b'{"a":1}\n{"b":2}\n'),
        (b"[1, [2, 3]]", [], b"1\n[2,3]\n"),
        (b"[1, [2, 3]]", ["--keep-arrays"], b"[1,[2,3]]\n"),
        (b'1"a b" null', [], b'1\n"a b"\nnull\n'),
        (b"", [], b""),
    ],
)
def test_values_become_lines(headrace, tmp_path, content, arguments, printed):
    (tmp_path / "in.json").write_bytes(content)
    done = headrace("convert", *arguments, "in.json")
    assert (done.code, done.out, done.err) == (0, printed, "")
    (tmp_path / "in.json.gz").write_bytes(gzip.compress(content))
    out = tmp_path / "out.jsonl.gz"
    assert headrace("convert", *arguments, "in.json.gz", "-o", out).code == 0
    assert gzip.decompress(out.read_bytes()) == printed


BAD = b'[{"a": 1},\n {"a": }, 3,\n {"b" 4}]'


def test_a_bad_value_ends_the_run_after_the_values_before_it(headrace, tmp_path):
    (tmp_path / "in.json").write_bytes(BAD)
    done = headrace("convert", "in.json")
    assert (done.code, done.out) == (1, b'{"a":1}\n')
    assert "in.json: line 2, byte 12: expected a value" in done.err
    assert headrace("convert", "in.json", "-o", "out.jsonl").code == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_bad_values_are_accounted_for(headrace, tmp_path):
    (tmp_path / "in.json").write_bytes(BAD)
    arguments = ["--stats", "--errors", "bad.jsonl", "in.json"]
    done = headrace("convert", *arguments)
    assert (done.code, done.out) == (0, b'{"a":1}\n3\n')
    assert "values 4 = lines 2 + bad 2\n  in.json: line 2, byte 12: " in done.err
    rows = [
        json.loads(row) for row in (tmp_path / "bad.jsonl").read_text().splitlines()
    ]
    assert [(row["line"], row["offset"], row["raw"]) for row in rows] == [
        (2, 12, '{"a":}'),
        (3, 25, '{"b" 4}'),
    ]
    done = headrace("convert", "--on-error", "skip", "in.json")
    assert done.err == "headrace: warning: 2 bad rows were skipped\n"
    done = headrace("convert", "--max-line", "7", "--on-error", "skip", "in.json")
    assert done.out == b'{"a":1}\n3\n'


def test_a_pipe_is_converted(process):
    done = process("convert", stdin=b'[{"a": 1}, 2]')
    assert (done.code, done.out) == (0, b'{"a":1}\n2\n')


def _value(chosen, depth=0):
    kind = chosen.randrange(7 if depth < 3 else 5)
    if kind < 5:
        text = "".join(chosen.choices('a"\\[]{},: \n\u00e9', k=chosen.randrange(6)))
        return [None, True, chosen.randrange(100), 1.5, text][kind]
    inner = [_value(chosen, depth + 1) for _ in range(chosen.randrange(4))]
    return inner if kind == 5 else {f"k{at} ": each for at, each in enumerate(inner)}


@pytest.mark.parametrize("seed", range(60))
def test_any_layout_gives_the_values(tmp_path, seed):
    chosen = random.Random(seed)
    values = [_value(chosen) for _ in range(chosen.randrange(30))]
    indent = chosen.choice([None, 0, 1, 4])
    as_array = chosen.random() < 0.5
    if as_array:
        text = json.dumps(values, indent=indent, ensure_ascii=chosen.random() < 0.5)
    else:
        between = chosen.choice(["\n", " ", "\r\n\n"])
        text = between.join(json.dumps(value, indent=indent) for value in values)
    path = tmp_path / "in.json"
    path.write_text(text, encoding="utf-8")
    made = api.convert(path, keep_arrays=not as_array)
    assert made.to_list() == values
    assert (made.values, made.bad) == (len(values), 0)
    assert all(len(lines) for lines in made.lines())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{\n  "a": 1\n}\n', "`headrace convert in.json` makes lines"),
        (b'[\n{"a": 1},\n{"a": 2}\n]\n', "`headrace convert in.json` makes lines"),
        (b'{"a": 1}{"a": 2}\n', "`headrace convert in.json` makes lines"),
        (b'["' + b"x" * 200 + b'"]', "`headrace convert in.json` makes lines"),
        (b"id,name\n1,Ada\n", "it looks like CSV"),
        (b'"id","name"\n1,"Ada"\n', "it looks like CSV"),
        (b"\x7fELF\x02\0,;\n\0\n", "it is no text"),
        (b"PAR1\x15\x04\x15\n", "it is Parquet"),
        (b"PK\x03\x04abc\n", "it is a ZIP archive"),
        (b"\x04\x22\x4d\x18abc\n", "it is compressed by LZ4"),
    ],
)
@pytest.mark.parametrize("query", ["a", "$.rows().count()"])
def test_json_that_is_not_lines_is_an_error_with_advice(
    headrace, tmp_path, content, said, query
):
    (tmp_path / "in.json").write_bytes(content)
    done = headrace("query", "--max-line", "100", query, "in.json")
    assert (done.code, done.out) == (1, b"")
    assert said in done.err
    assert "on-error skip" not in done.err


def test_a_bad_row_among_rows_can_still_be_skipped(headrace, tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"a": 1}\n{"a":\n')
    assert "--on-error skip skips it" in headrace("query", "a", "in.jsonl").err


def test_one_array_on_a_line_gets_a_hint(headrace, tmp_path):
    (tmp_path / "in.json").write_bytes(b'[{"a": 1}, {"a": 2}]\n')
    done = headrace("query", "a", "in.json")
    assert "no row has a (did you mean $[*].a?)" in done.err
