"""A key index finds the rows of a slow reader, whatever happens to the source."""

import os
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.local.index_build import build
from headrace.errors import HeadraceWarning
from headrace.kernel.key_index import request_of_json
from headrace.store.index.subject import one_source
from tests.reference.compressed import FORMS
from tests.reference.slow_keys import slow_get

NUMBERS = [
    "1",
    "1.0",
    "1e0",
    "10e-1",
    "7",
    "0",
    "-0",
    "-0.0",
    "0.5",
    "5e-1",
    "120",
    "1.2e2",
]
BIG = ["9007199254740992", "9007199254740993", "9007199254740993.0"]
TEXTS = [
    '"1"',
    '"1.0"',
    '"007"',
    '"a"',
    '"\\u0061"',
    '""',
    '"true"',
    '"x,y"',
    '"\\n\\u00e9"',
]
NO_KEYS = ["null", "[1]", '{"k":1}']
KEYS = [*NUMBERS, *BIG, *TEXTS, "true", "false"]
VALUE = st.sampled_from([*KEYS, *NO_KEYS])
LINE = st.one_of(
    VALUE.map(lambda value: f'{{"k":{value}}}'),
    st.tuples(VALUE, VALUE).map(lambda two: f'{{"k":{two[0]},"l":{two[1]}}}'),
    st.tuples(VALUE, VALUE).map(lambda two: f'{{"k":{two[0]},"k":{two[1]}}}'),
    st.sampled_from(
        ["", " ", "{}", "[1]", '{"k":01}', '{"k":007}', '{"k"', "7", '{"a":{"k":1}}']
    ),
)
LINES = st.lists(LINE, max_size=40)
ENDING = st.sampled_from(["\n", "\r\n"])
LAST = st.sampled_from(["", '{"k":"a"}', '{"k":', '{"k":1}', " "])
WANTED_KEYS = st.lists(st.sampled_from(KEYS), min_size=1, max_size=5)
ENTERABLE = st.sampled_from(
    [
        "plain",
        "gzip, a block a line",
        "gzip, blocks of lines",
        "zstd, blocks of lines",
        "zstd, cut anywhere",
    ]
)
VERSION = st.sampled_from([1, 2])


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("keys")


def text(lines, ending, last=""):
    return ("".join(line + ending for line in lines) + last).encode()


def built(path, fields=("k",), version=1, **options):
    return build(
        one_source(path),
        path.with_name("i.jnx"),
        KeyBuild(fields, version=version, **options),
    )


def compare(path, data, wanted, fields=("k",), *, typed=False):
    """Compare the rows of keys, found with an index in any state, with a scan."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        index = headrace.KeyIndex.open(path, fields, index=path.with_name("i.jnx"))
    for key in wanted:
        whole = key if len(fields) > 1 else [key]
        spelled = f"[{','.join(whole)}]" if len(fields) > 1 else key
        request = request_of_json(spelled, fields, typed=typed)
        found = [
            line for _, rows in index.answers([request]) for line in rows.contents()
        ]
        assert found == slow_get(data, fields, whole, typed=typed), key
    return index


@given(
    form=ENTERABLE,
    lines=LINES,
    ending=ENDING,
    last=LAST,
    version=VERSION,
    wanted=WANTED_KEYS,
    typed=st.booleans(),
    cut=st.integers(1, 200),
)
def test_every_key_finds_its_rows(
    directory, form, lines, ending, last, version, wanted, typed, cut
):
    path, data = directory / "data.jsonl", text(lines, ending, last)
    path.write_bytes(FORMS[form](data))
    if headrace.open(path).sources[0].seekable:
        made = built(path, version=version, fragment_bytes=cut, threads=2)
        index = compare(path, data, wanted, typed=typed)
        assert index.usable
        assert made.written.records == made.lines.records
        assert sum(made.lines.skipped.values()) + made.lines.pending == (
            made.lines.lines - made.lines.blank - made.lines.records
        )


@given(
    lines=LINES,
    version=VERSION,
    wanted=st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)),
)
def test_every_composite_key_finds_its_rows(directory, lines, version, wanted):
    path, data = directory / "data.jsonl", text(lines, "\n")
    path.write_bytes(data)
    built(path, ("k", "l"), version)
    assert compare(path, data, [wanted], ("k", "l")).usable


@given(
    lines=LINES,
    last=LAST,
    more=LINES,
    torn=st.booleans(),
    version=VERSION,
    wanted=WANTED_KEYS,
)
def test_rows_that_came_later_are_found(
    directory, lines, last, more, torn, version, wanted
):
    path, data = directory / "data.jsonl", text(lines, "\n", last)
    path.write_bytes(data)
    built(path, version=version)
    # Bytes after half a line complete it.
    added = text(more, "\n") if torn else b"\n" + text(more, "\n")
    with path.open("ab") as file:
        file.write(added)
    assert compare(path, data + added, wanted).usable


@given(
    lines=st.lists(LINE, min_size=1, max_size=20),
    edit=st.integers(0, 10_000),
    byte=st.sampled_from(b'1a"\n{ '),
    grow=st.booleans(),
    version=VERSION,
    wanted=WANTED_KEYS,
)
def test_an_edit_is_noticed_whatever_the_times_say(
    directory, lines, edit, byte, grow, version, wanted
):
    path, data = directory / "data.jsonl", bytearray(text(lines, "\n"))
    path.write_bytes(data)
    built(path, version=version)
    times = path.stat()
    data[edit % len(data)] = byte
    if grow:
        data += b'{"k":1}\n'
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    compare(path, bytes(data), wanted)


@given(
    lines=LINES,
    damage=st.integers(0, 10_000),
    bit=st.integers(0, 7),
    version=VERSION,
    wanted=WANTED_KEYS,
)
def test_a_damaged_index_never_changes_an_answer(
    directory, lines, damage, bit, version, wanted
):
    path, data = directory / "data.jsonl", text(lines, "\n")
    path.write_bytes(data)
    index = built(path, version=version).path
    content = bytearray(index.read_bytes())
    content[damage % len(content)] ^= 1 << bit
    index.write_bytes(content)
    compare(path, data, wanted)


@given(lines=LINES, length=st.integers(0, 10_000), version=VERSION, wanted=WANTED_KEYS)
def test_a_cut_index_never_changes_an_answer(directory, lines, length, version, wanted):
    path, data = directory / "data.jsonl", text(lines, "\n")
    path.write_bytes(data)
    index = built(path, version=version).path
    content = index.read_bytes()
    index.write_bytes(content[: length % len(content)])
    assert not compare(path, data, wanted).usable
