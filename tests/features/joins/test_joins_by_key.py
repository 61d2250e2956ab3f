"""Joins of the language by a key index give the same result as without an index."""

import os
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.errors import HeadraceError, HeadraceWarning

KEYS = [
    "1",
    "1.0",
    "10e-1",
    "-0",
    "0",
    "0.1",
    "9007199254740993",
    "1234567890123450112",
    "1e23",
    "true",
    "null",
    '"1"',
    '"a"',
    '"\\u0061"',
    '"😀"',
    "[1]",
    '["a", 1]',
    '{"k":1}',
]
ROUNDED = ["1.00000000000000000001", "9007199254740993.0", "123456789012345e4"]
ROW = st.tuples(
    st.sampled_from([*KEYS, *KEYS, *ROUNDED]), st.sampled_from(KEYS), st.integers(0, 9)
).map(lambda row: f'{{"k":{row[0]},"j":{row[1]},"v":{row[2]}}}')
PLAIN = st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)).map(
    lambda row: f'{{"k":{row[0]},"j":{row[1]}}}'
)
ODD = st.sampled_from(["", "{}", '{"j":1}', "[1]", '"k"', "7", '{"k":1,"k":2}'])
SOUND = st.lists(PLAIN | PLAIN | ODD, max_size=12)
ROWS = st.one_of(SOUND, SOUND, st.lists(ROW | ODD | st.just('{"k"'), max_size=12))
ON = st.sampled_from(
    [
        ("on: k", ["k"]),
        ("on: 'k'", ["k"]),
        ("on: $.k", ["k"]),
        ("on: x => x.k", ["k"]),
        ("on: j == k", ["k"]),
        ("on: [k, j]", ["k", "j"]),
        ("on: [k, j]", ["j", "k"]),
        ("on: [k, j]", ["j"]),
        ("on: [k] == [j]", ["j"]),
        ("on: [k, j], right_on: k", ["k"]),
        ("on: k ?? j, right_on: j", ["j"]),
        ("on: k.k", ["k"]),
    ]
)
KINDS = st.sampled_from(["join", "left_join", "lookup", "diff", "intersect"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("joins")


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def outcome(left, right, query, **options):
    """Return the lines, the error and the counts of a query."""
    lines, error = b"", None
    names = {"other": right}
    with headrace.open(left) as dataset, warnings.catch_warnings():
        warnings.simplefilter("error", HeadraceWarning)
        result = dataset.query(
            query, names=names, size_hints={"other": 10**9}, **options
        )
        try:
            for some in result.lines():
                lines += some
        except HeadraceError as raised:
            error = str(raised)
        stats = result.stats
        return lines, error, (stats.rows, stats.emitted, stats.bad, stats.named)


@given(
    left=ROWS,
    right=ROWS,
    kind=KINDS,
    on=ON,
    version=st.sampled_from([1, 2]),
    reverse=st.booleans(),
    on_error=st.sampled_from(["abort", "skip"]),
)
def test_an_index_changes_nothing(
    directory, left, right, kind, on, version, reverse, on_error
):
    text, fields = on
    left_file = written(directory / "left.jsonl", left)
    right_file = written(directory / "right.jsonl", right)
    index = directory / "right.jsonl.jnx"
    headrace.KeyIndex.build(
        right_file, fields, index_version=version, index=index, force=True
    )
    # So that it is trusted without reading the file again.
    later = index.stat().st_mtime_ns + 10**9
    os.utime(index, ns=(later, later))
    query = f"$.rows().{kind}(@other, {text})"
    options = {"reverse": reverse, "on_error": on_error}
    assert outcome(left_file, right_file, query, index=True, **options) == outcome(
        left_file, right_file, query, index=False, **options
    )
