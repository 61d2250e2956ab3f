"""An updated index finds the rows of a slow reader, whatever happened to its files."""

import os
import warnings
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace
from headrace.errors import DuplicateKeyError, HeadraceWarning, KeyIndexError
from headrace.kernel.key_index import request_of_json
from tests.examples import often
from tests.reference.slow_keys import key_of, slow_get

KEYS = ["1", "1.0", '"1"', '"a"', '"\\u0061"', '""', "2", "3", "true", '"b"']
VALUE = st.sampled_from([*KEYS, "null", "[1]"])
LINE = st.one_of(
    VALUE.map(lambda value: f'{{"k":{value}}}'),
    VALUE.map(lambda value: f'{{"k":{value},"n":"{"x" * 30}"}}'),
    st.sampled_from(["", "{}", '{"k"', "7"]),
)
LINES = st.lists(LINE, max_size=8).map(lambda lines: "".join(f"{x}\n" for x in lines))
LAST = st.sampled_from(["", '{"k":"a"}', '{"k":', '{"k":1', "{}", "[]", " ", "7"])
GROWTH = st.tuples(LINES, LAST).map("".join)
VERSION = st.sampled_from([1, 2])
MODE = st.sampled_from(["multi", "unique"])

STEP = st.one_of(
    GROWTH.map(lambda text: ("append", text)),
    st.just(("update", None)),
    st.just(("update", None)),
    st.just(("compact", None)),
    st.just(("build", None)),
    st.just(("touch", None)),
    st.tuples(
        st.just("edit"), st.tuples(st.integers(0, 500), st.sampled_from('1a"\n'))
    ),
    st.tuples(st.just("cut"), st.integers(0, 60)),
    st.tuples(st.just("lose"), st.sampled_from(["base", "delta", "lock"])),
    st.tuples(st.just("keep"), st.sampled_from(["base", "delta"])),
    st.tuples(st.just("bring back"), st.sampled_from(["base", "delta"])),
    st.tuples(
        st.just("flip"),
        st.tuples(st.sampled_from(["base", "delta"]), st.integers(0, 20_000)),
    ),
)
REFUSALS = (KeyIndexError, DuplicateKeyError)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("updates")


class Files:
    """A source with its index, and the steps that change them."""

    def __init__(self, directory, version, mode):
        self.source = directory / "data.jsonl"
        base = directory / "i.jnx"
        self.files = {
            "base": base,
            "delta": base.with_name("i.jnx.delta"),
            "lock": base.with_name("i.jnx.lock"),
        }
        self.kept = {}
        self.where = {"index": base}
        self.options = {
            "index_version": version,
            "mode": mode,
            "threads": 1,
            **self.where,
        }
        for path in self.files.values():
            path.unlink(missing_ok=True)

    def data(self):
        return self.source.read_bytes()

    def append(self, text):
        with self.source.open("ab") as file:
            file.write(text.encode())

    def build(self, _):
        headrace.KeyIndex.build(self.source, "k", **self.options)

    def update(self, _):
        headrace.KeyIndex.update(self.source, "k", threads=1, **self.where)

    def compact(self, _):
        headrace.KeyIndex.compact(self.source, "k", **self.where)

    def touch(self, _):
        os.utime(self.source, ns=(1, 1))

    def edit(self, place):
        at, byte = place
        if content := bytearray(self.data()):
            content[at % len(content)] = ord(byte)
            self.source.write_bytes(content)

    def cut(self, count):
        os.truncate(self.source, max(len(self.data()) - count, 0))

    def lose(self, name):
        self.files[name].unlink(missing_ok=True)

    def keep(self, name):
        if self.files[name].exists():
            self.kept[name] = self.files[name].read_bytes()

    def bring_back(self, name):
        if name in self.kept:
            self.files[name].write_bytes(self.kept[name])

    def flip(self, place):
        name, bit = place
        if self.files[name].exists():
            content = bytearray(self.files[name].read_bytes())
            content[bit // 8 % len(content)] ^= 1 << bit % 8
            self.files[name].write_bytes(content)

    def compare(self, wanted):
        """Compare the rows of keys, found with the index in any state, with a scan."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HeadraceWarning)
            index = headrace.KeyIndex.open(self.source, "k", **self.where)
            for key in wanted:
                answers = index.answers([request_of_json(key, ["k"], typed=False)])
                found = [line for _, rows in answers for line in rows.contents()]
                assert found == slow_get(self.data(), ["k"], [key]), key
        return index


@often(2.5)
@given(
    first=GROWTH,
    steps=st.lists(STEP, min_size=1, max_size=8),
    version=VERSION,
    mode=MODE,
)
def test_every_key_finds_its_rows_whatever_happened(
    directory, first, steps, version, mode
):
    files = Files(directory, version, mode)
    files.source.write_bytes(first.encode())
    with suppress(DuplicateKeyError):
        files.build(None)
    for name, argument in steps:
        with suppress(*REFUSALS):
            getattr(files, name.replace(" ", "_"))(argument)
        files.compare(KEYS)


def first_duplicate(data):
    """Return the first duplicate key, its first line and its second line."""
    seen = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        keyed = key_of(line, ["k"])
        if keyed is None:
            continue
        (text,) = keyed[1]
        if text in seen:
            return text, seen[text], number
        seen[text] = number
    return None


@given(states=st.lists(GROWTH, min_size=2, max_size=5), version=VERSION)
def test_a_unique_index_refuses_the_duplicate_that_a_scan_finds(
    directory, states, version
):
    files = Files(directory, version, "unique")
    files.source.write_bytes(b"")
    files.build(None)
    for state in states:
        files.append(state)
        expected = first_duplicate(files.data())
        if expected is not None:
            with pytest.raises(DuplicateKeyError) as raised:
                files.update(None)
            error = raised.value
            assert (error.key, error.line, error.other) == expected
            files.compare(KEYS)
            return
        files.update(None)
        assert files.compare(KEYS).is_fresh()


@given(states=st.lists(GROWTH, min_size=2, max_size=6), version=VERSION)
def test_a_compacted_index_equals_one_built_anew(directory, states, version):
    files = Files(directory, version, "multi")
    files.source.write_bytes(states[0].encode())
    files.build(None)
    for state in states[1:]:
        files.append(state)
        files.update(None)
        checked = headrace.KeyIndex.check(files.source, deep=True, **files.where)
        assert (checked["valid"], checked["fresh"]) == (True, True)
    files.compact(None)
    assert not files.files["delta"].exists()
    one = files.files["base"].read_bytes()
    files.build(None)
    assert one == files.files["base"].read_bytes()


@given(
    rows=st.integers(1, 900),
    grown=st.lists(st.integers(0, 500), min_size=1, max_size=4),
    keys=st.sampled_from([3, 100, 100_000]),
)
@often(0.3)
def test_compact_indexes_know_how_many_keys_they_have(directory, rows, grown, keys):
    def lines(first, count):
        numbers = range(first, first + count)
        return "".join(f'{{"k":{n * 7919 % keys}}}\n' for n in numbers)

    files = Files(directory, 2, "multi")
    files.source.write_bytes(lines(0, rows).encode())
    files.build(None)
    for count in grown:
        files.append(lines(rows, count))
        rows += count
        files.update(None)
        with suppress(KeyIndexError):  # four times the rows it was built with
            files.compact(None)
        checked = headrace.KeyIndex.check(files.source, deep=True, **files.where)
        known = min(rows, keys)
        assert (checked["valid"], checked["records"]) == (True, rows)
        assert checked["keys"] == (known if "delta" not in checked else None)
