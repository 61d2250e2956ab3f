"""A query with a key index gives the result of the query over all rows."""

import os
import warnings
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import headrace
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.local.index_build import build
from headrace.errors import HeadraceError, HeadraceWarning
from headrace.store.index.catalog import suffix_of
from headrace.store.index.subject import one_source
from tests.reference.compressed import FORMS

VALUES = [
    "1",
    "1.0",
    "10e-1",
    "1.00000000000000000001",
    "-1",
    "0",
    "-0",
    "1e-400",
    "0.1",
    "0.1000000000000000055511151231257827",
    "9007199254740993",
    "9007199254740993.0",
    "123456789012345e4",
    "1234567890123450112",
    "99999999999999991611392",
    "1e23",
    "true",
    "false",
    "null",
    '"1"',
    '"a"',
    '"\\u0061"',
    '"true"',
    '""',
    "[1]",
    '{"k":1}',
]
ROUNDED = {
    "1.00000000000000000001",
    "1e-400",
    "9007199254740993.0",
    "123456789012345e4",
    VALUES[9],
}
PLAIN = [value for value in VALUES if value not in ROUNDED]
WANTED_KEYS = [
    "1",
    "1.0",
    "-1",
    "0",
    "0.1",
    "9007199254740993",
    "9007199254740992",
    "1234567890123450112",
    "1234567890123450112.0",
    "1e23",
    "true",
    "null",
    '"1"',
    '"a"',
    '"true"',
    '""',
]
CONDITIONS = [
    "k == V",
    "V == $.k",
    "@.k == V",
    '$["k"] == V',
    "k in [V, W]",
    "[V, W].includes(k)",
    "k == V or k == W",
    "k == V and l == W",
    "l == W and k in [V, W]",
    "n > 3 and k == V",
    "not (l == W) and k == V and n < 9",
    "k == V and 10 / n > 1",
    "10 / n > 1 and k == V",
    "k == V and n + k > 1",
    "k == V or n > 5",
    "k.k == V",
    '$["a.b"] == V',
    "k != V",
]
ROWS = [
    "$.rows().filter(C)",
    "$.rows().filter(C).map(n)",
    "$.rows().filter(C).map(10 / n)",
    "$.rows().filter(C).take(2)",
    "$.rows().filter(C).skip(1).take(1)",
    "$.rows().filter(C).take_while(n > 2)",
    "$.rows().filter(C).count()",
    "$.rows().filter(C).first(2)",
    "$.rows().filter(C).last()",
    "$.rows().filter(C)[-2:]",
    "$.rows().filter(C).sum(n)",
    "$.rows().filter(C).sort(-n).take(2)",
    "$.rows().filter(C).unique_by(l)",
    "$.rows().filter(l == W).filter(C)",
    "$.rows().filter(r => r.k == V and r.n > 2)",
    "$.rows().count(C)",
    "$.rows().find(C)",
    "$.rows().find_first(C).n",
    "$.rows().find_one(C)",
    "$.rows().any(C)",
    "$.rows().all(not (C))",
    "$.rows(){C}",
    "$.rows()[* if C].n",
    "{a: $.rows().count(C), b: $.rows().filter(C).sum(n)}",
    "$ if C else null",
    "{n, k} if C else null",
    "10 / n if C else null",
]
LINE = st.one_of(
    st.tuples(st.integers(0, 9), st.sampled_from(PLAIN), st.sampled_from(PLAIN)).map(
        lambda row: f'{{"n":{row[0]},"k":{row[1]},"l":{row[2]}}}'
    ),
    st.tuples(st.integers(0, 9), st.sampled_from(PLAIN)).map(
        lambda row: f'{{"k":1,"n":{row[0]},"k":{row[1]},"a":{{"b":{row[1]}}}}}'
    ),
    st.sampled_from(["", " ", "{}", "[1]", "7", '{"a.b":1,"a":{"b":2}}']),
)
ODD = st.one_of(
    st.sampled_from(['{"k"', '{"k":01}', "x"]),
    st.sampled_from(VALUES).map(lambda value: f'{{"n":1,"k":{value}}}'),
)
LINES = st.lists(LINE, max_size=30)
KEYS = st.sampled_from(
    [
        [("k",)],
        [("k",), ("l",)],
        [("k",), ("l", "k")],
        [("k", "l"), ("k",)],
        [("k", "l")],
        [("a.b",), ("k",)],
    ]
)
SELDOM = st.integers(0, 7).map(lambda number: number == 7)
FORM = st.sampled_from(["plain", "plain", "gzip, blocks of lines"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("by_key")


def indexed(path, keys, version, more=b"", **options):
    """Build indexes that are trusted without reading the file again.

    Rows that are appended after the build are indexed by an update.
    """
    for old in path.parent.glob(f"{path.name}.jnx*"):
        old.unlink()
    indexes = {fields: path.with_name(path.name + suffix_of(fields)) for fields in keys}
    for fields, index in indexes.items():
        build(one_source(path), index, KeyBuild(fields, version=version, **options))
    if more:
        with path.open("ab") as file:
            file.write(more)
        for fields, index in indexes.items():
            headrace.KeyIndex.update(path, fields, index=index)
    for file in path.parent.glob(f"{path.name}.jnx*"):
        later = file.stat().st_mtime_ns + 10**9
        os.utime(file, ns=(later, later))


def outcome(path, query, *, index, **options):
    """Return the complete outcome of a query: lines, error, counts, bad rows."""
    lines, error, rejected = [], None, []
    if options.get("on_error") == "collect":
        options["errors"] = lambda row: rejected.append((str(row.error), row.raw))
    with headrace.open(path) as dataset:
        result = dataset.query(query, index=index, **options)
        try:
            lines.extend(result.lines())
        except HeadraceError as failure:
            error = type(failure), str(failure)
        stats = result.stats
    wrong = [str(failure) for failure in stats.errors]
    return b"".join(lines), error, replace(stats, errors=()), wrong, rejected


@given(data=st.data())
def test_an_index_changes_nothing_but_time(directory, data):
    path = directory / "data.jsonl"
    lines = data.draw(LINES)
    if data.draw(SELDOM):
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(ODD))
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    lasts = ['{"k":'] if data.draw(SELDOM) else ["", '{"k":1,"n":2}', " "]
    last = data.draw(st.sampled_from(lasts))
    content = ("".join(line + ending for line in lines) + last).encode()
    form = data.draw(FORM)
    grows = form == "plain" and data.draw(st.booleans())
    cut = data.draw(st.integers(0, len(content))) if grows else len(content)
    path.write_bytes(FORMS[form](content[:cut]))
    assume(headrace.open(path).sources[0].seekable)
    keys, version = data.draw(KEYS), data.draw(st.sampled_from([1, 2]))
    size = data.draw(st.sampled_from([50, 1000]))
    indexed(path, keys, version, content[cut:], fragment_bytes=size)
    query = data.draw(st.sampled_from([*ROWS, *CONDITIONS]))
    options = {}
    if query in CONDITIONS:
        query, options["matches"] = "C", True
    elif data.draw(SELDOM):
        options["nulls"] = "emit"
    condition = data.draw(st.sampled_from(CONDITIONS))
    for name, value in [
        ("C", condition),
        ("V", data.draw(st.sampled_from(WANTED_KEYS))),
        ("W", data.draw(st.sampled_from(WANTED_KEYS))),
    ]:
        query = query.replace(name, value)
    options |= {
        "reverse": data.draw(st.booleans()),
        "limit": data.draw(st.sampled_from([None, None, 0, 1, 3])),
        "on_error": data.draw(st.sampled_from(["abort", "skip", "collect"])),
        "max_depth": 2 if data.draw(SELDOM) else 256,
    }
    slow = outcome(path, query, index=False, **options)
    assert outcome(path, query, index=True, **options) == slow


@given(
    lines=st.lists(LINE, min_size=1, max_size=20),
    edit=st.integers(0, 10_000),
    damages_index=st.booleans(),
    version=st.sampled_from([1, 2]),
    query=st.sampled_from(["$.rows().filter(k == 1)", "$.rows().find(k == 1)"]),
)
def test_neither_a_damaged_nor_another_index_changes_an_answer(
    directory, lines, edit, damages_index, version, query
):
    path = directory / "data.jsonl"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    indexed(path, [("k",)], version)
    changed = path.with_name(f"{path.name}.jnx.k") if damages_index else path
    content = bytearray(changed.read_bytes())
    content[edit % len(content)] ^= 1
    changed.write_bytes(content)
    slow = outcome(path, query, index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        assert outcome(path, query, index=True) == slow
