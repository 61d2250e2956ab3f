"""Key indexes: where they are written, and when they are used."""

import gzip
import os
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

import headrace
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.local.index_build import build
from headrace.errors import (
    DuplicateKeyError,
    HeadraceWarning,
    KeyIndexError,
    SourceChangedError,
    UsageError,
)
from headrace.store.files.opened import OpenedFile
from headrace.store.index.catalog import suffix_of
from tests.reference.compressed import FORMS

ROWS = b"".join(b'{"k":%d,"n":%d}\n' % (n % 100, n) for n in range(1000))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "rows.jsonl"
    path.parent.mkdir()
    path.write_bytes(ROWS)
    return path


def beside(source):
    return sorted(path.name for path in source.parent.iterdir())


def test_an_index_lies_beside_its_file(source):
    built = headrace.KeyIndex.build(source, "k")
    assert beside(source) == ["rows.jsonl", "rows.jsonl.jnx"]
    assert (built.written.records, built.written.keys) == (1000, 100)
    assert built.lines.records == 1000


def test_an_index_may_lie_elsewhere(source, tmp_path, monkeypatch):
    built = headrace.KeyIndex.build(source, "k", index_dir=tmp_path / "kept")
    assert built.path.parent == tmp_path / "kept"
    assert beside(source) == ["rows.jsonl"]
    kept = headrace.KeyIndex.open(
        source, "k", index_dir=tmp_path / "kept", require_index=True
    )
    assert len(kept.get(7)) == 10
    with pytest.raises(KeyIndexError, match="there is no key index"):
        headrace.KeyIndex.open(source, "k", require_index=True)
    monkeypatch.setenv("HEADRACE_INDEX_DIR", str(tmp_path / "kept"))
    assert len(headrace.KeyIndex.open(source, "k", require_index=True).get(7)) == 10
    named = headrace.KeyIndex.build(source, "k", index=tmp_path / "x.jnx").path
    assert (
        len(headrace.KeyIndex.open(source, "k", index=named, require_index=True).get(7))
        == 10
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_index_is_written_to_the_cache_where_its_directory_is_read_only(
    source, tmp_path
):
    source.parent.chmod(0o555)
    try:
        built = headrace.KeyIndex.build(source, "k")
        assert built.path.parent.name == "headrace"
    finally:
        source.parent.chmod(0o755)


@pytest.mark.parametrize(
    ("fields", "suffix"),
    [
        (["id"], ".jnx.id"),
        (["a", "b"], ".jnx.a+b"),
        (["a+b"], ".jnx.a%2Bb"),
        (["../x"], ".jnx.%2E%2E%2Fx"),
        (["delta"], ".jnx.%64elta"),
        (["100%"], ".jnx.100%25"),
        ([""], ".jnx.%"),
    ],
)
def test_index_names_of_any_field(fields, suffix):
    assert suffix_of(fields) == suffix


def test_names_of_long_fields_are_short_and_different():
    assert len(suffix_of(["x" * 300])) == 38
    assert suffix_of(["x" * 300]) != suffix_of(["x" * 301])


def test_answers_of_every_kind(source):
    headrace.KeyIndex.build(source, "k")
    with headrace.KeyIndex.open(source) as index:
        assert index.key == ("k",)
        assert [row["n"] for row in index.get(7)][:3] == [7, 107, 207]
        assert index.get("7") == index.get(7.0) == index.get(7)
        assert index.get("7", typed=True) == []
        assert index.get("none") == []
        assert [len(rows) for rows in index.get_many([1, "x", 2])] == [10, 0, 10]
        first = next(index.lookup(7))
        assert ROWS[first:].startswith(b'{"k":7,"n":7}')
        assert index.is_fresh()
        assert index.meta.records == 1000
    with pytest.raises(UsageError, match="closed"):
        index.get(7)


@pytest.mark.parametrize("key", [None, float("nan"), [1], {"a": 1}, "\ud800", b"x"])
def test_a_value_that_is_not_a_key_is_refused(source, key):
    with pytest.raises(UsageError, match="no key"):
        headrace.KeyIndex.open(source, "k", report=lambda _trouble: None).get(key)


def test_many_threads_may_ask(source):
    headrace.KeyIndex.build(source, "k", index_version=2)
    index = headrace.KeyIndex.open(source, "k", require_index=True)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(index.get, [key % 120 for key in range(2000)]))
    for key, rows in enumerate(found):
        assert {row["k"] for row in rows} <= {key % 120}
        assert len(rows) == (10 if key % 120 < 100 else 0)


def test_a_copy_of_both_files_is_used(source, tmp_path):
    built = headrace.KeyIndex.build(source, "k")
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(ROWS)
    copy.with_name("copy.jsonl.jnx").write_bytes(built.path.read_bytes())
    index = headrace.KeyIndex.open(copy, "k", require_index=True)
    assert len(index.get(7)) == 10


def test_a_file_that_is_cut_under_a_reader_is_an_error(source):
    headrace.KeyIndex.build(source, "k")
    index = headrace.KeyIndex.open(source, "k")
    assert len(index.get(7)) == 10
    os.truncate(source, 5000)
    with pytest.raises(SourceChangedError):
        index.get(7)
    assert not index.is_fresh()


def test_a_file_that_is_replaced_under_a_reader_stays_the_old_one(source):
    headrace.KeyIndex.build(source, "k")
    index = headrace.KeyIndex.open(source, "k")
    other = source.with_name("other")
    other.write_bytes(b'{"k":7}\n')
    other.replace(source)
    assert len(index.get(7)) == 10
    assert not index.is_fresh()


def test_an_unterminated_last_row_is_indexed(source):
    source.write_bytes(b'{"k":1,"n":1}\n{"k":1,"n":2}')
    headrace.KeyIndex.build(source, "k")
    index = headrace.KeyIndex.open(source, "k", require_index=True)
    assert [row["n"] for row in index.get(1)] == [1, 2]
    assert index.meta.coverage_end == 14


def test_half_a_row_is_pending_until_it_is_whole(source):
    source.write_bytes(b'{"k":1,"n":1}\n{"k":1,')
    built = headrace.KeyIndex.build(source, "k")
    assert (built.lines.pending, built.lines.bad) == (1, 0)
    with source.open("ab") as file:
        file.write(b'"n":2}\n')
    with pytest.warns(HeadraceWarning, match="has grown; the new rows are scanned"):
        index = headrace.KeyIndex.open(source, "k")
    assert [row["n"] for row in index.get(1)] == [1, 2]


@pytest.mark.parametrize("form", ["gzip, blocks of lines", "zstd, cut anywhere"])
def test_compressed_files_with_blocks_have_indexes(source, form):
    path = source.with_name("rows.jsonl.packed")
    path.write_bytes(FORMS[form](ROWS))
    headrace.KeyIndex.build(path, "k", threads=2)
    index = headrace.KeyIndex.open(path, "k", require_index=True)
    assert [row["n"] for row in index.get(7)] == list(range(7, 1000, 100))
    path.write_bytes(FORMS[form](ROWS + b'{"k":7,"n":-1}\n'))
    with pytest.warns(
        HeadraceWarning, match="was changed since it was made; the file is scanned"
    ):
        grown = headrace.KeyIndex.open(path, "k")
    assert len(grown.get(7)) == 11


def test_other_compressed_files_have_no_index(source):
    path = source.with_name("rows.jsonl.gz")
    path.write_bytes(FORMS["gzip"](ROWS))
    with pytest.raises(UsageError, match="headrace recompress"):
        headrace.KeyIndex.build(path, "k")


def test_a_build_that_fails_leaves_nothing(source):
    before = beside(source)
    source.write_bytes(ROWS + b'{"k":1}\n')
    with pytest.raises(DuplicateKeyError) as raised:
        headrace.KeyIndex.build(source, "k", mode="unique")
    assert (raised.value.line, raised.value.other) == (1, 101)
    assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args
    assert beside(source) == before


def test_a_source_that_changes_during_a_build_is_an_error(source, monkeypatch):
    scanned = threading.Event()
    check = OpenedFile.check

    def changed_once(opened):
        if not scanned.is_set():
            scanned.set()
            source.write_bytes(ROWS.replace(b'"k":7,', b'"k":8,'))
            os.utime(source, ns=(1, 1))
        check(opened)

    monkeypatch.setattr(OpenedFile, "check", changed_once)
    with pytest.raises(SourceChangedError):
        headrace.KeyIndex.build(source, "k")
    assert beside(source) == ["rows.jsonl"]


def test_the_smallest_memory_gives_the_same_bytes(source, tmp_path):
    source.write_bytes(ROWS * 60)
    made = []
    for memory in (256 << 20, 10_000):
        options = KeyBuild(("k", "n"), memory=memory, threads=2, fragment_bytes=100_000)
        (one,) = headrace.open(source).sources
        made.append(build(one, tmp_path / "i.jnx", options).path.read_bytes())
    assert made[0] == made[1]


def test_an_index_of_a_path_of_fields(source):
    source.write_bytes(b'{"a":{"b":1}}\n{"a.b":1}\n{"a":{"b":2},"a.b":1}\n{"a":1}\n')
    built = headrace.KeyIndex.build(source, "a.b")
    assert built.lines.skipped == {"missing": 1}
    index = headrace.KeyIndex.open(source, "a.b", require_index=True)
    assert len(index.get(1)) == 3
    assert index.get(2) == []


def test_an_index_with_skipped_rows_is_not_used_with_larger_limits(source):
    source.write_bytes(b'{"k":1}\n{"k":1,"long":"%s"}\n' % (b"x" * 100))
    built = headrace.KeyIndex.build(source, "k", max_line=50)
    assert built.lines.skipped == {"too_long": 1}
    # It answers with its own limits, and so does a scan in its place.
    assert len(headrace.KeyIndex.open(source, "k", require_index=True).get(1)) == 1
    with pytest.warns(HeadraceWarning, match="max_line or max_depth was smaller"):
        assert len(headrace.open(source).get("k", 1)) == 2
    with pytest.raises(KeyIndexError, match="max_line"):
        headrace.KeyIndex.open(source, "k", max_line="1MiB", require_index=True)
    again = {"max_line": "1MiB", "auto_rebuild": True, "report": lambda _trouble: None}
    assert len(headrace.KeyIndex.open(source, "k", **again).get(1)) == 2
    source.write_bytes(b'{"k":1}\n')
    headrace.KeyIndex.build(source, "k", max_line=50)
    assert (
        len(
            headrace.KeyIndex.open(
                source, "k", max_line="1MiB", require_index=True
            ).get(1)
        )
        == 1
    )


def test_a_data_set_finds_rows_with_and_without_an_index(source):
    other = source.with_name("more.jsonl")
    other.write_bytes(b'{"k":"7","n":-1}\noops\n')
    headrace.KeyIndex.build(source, "k")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ds = headrace.open([source, other])
        assert [row["n"] for row in ds.get("k", 7)] == [*range(7, 1000, 100), -1]
        assert ds.raw.get("k", "7", typed=True) == [b'{"k":"7","n":-1}']
        assert [row["n"] for row in ds.get(["k", "n"], (7, 207))] == [207]
        sent = pickle.loads(pickle.dumps(ds))
        assert len(sent.get("k", 7)) == 11


def test_errors_say_what_to_do(source):
    with pytest.raises(KeyIndexError, match="run `headrace index build"):
        headrace.KeyIndex.open(source, "k", require_index=True)
    with pytest.raises(KeyIndexError, match="there is no key index"):
        headrace.KeyIndex.open(source)
    with pytest.raises(UsageError, match="mode is"):
        headrace.KeyIndex.build(source, "k", mode="some")
    with pytest.raises(UsageError, match="version is"):
        headrace.KeyIndex.build(source, "k", index_version=3)
    with pytest.raises(UsageError, match="name of a field"):
        headrace.KeyIndex.build(source, [])


def test_a_file_without_seeking_is_scanned(source):
    packed = source.with_name("rows.jsonl.gz")
    packed.write_bytes(gzip.compress(ROWS))
    rows = headrace.open(source).get("k", 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert headrace.open(packed).get("k", 7) == rows
    with pytest.warns(HeadraceWarning, match="there is no key index"):
        index = headrace.KeyIndex.open(packed, "k", auto_rebuild=True)
    assert list(index.get_many([7, 107, 8])) == [rows, [], index.get(8)]
    with pytest.raises(KeyIndexError):
        headrace.KeyIndex.open(packed, "k", require_index=True)
    assert beside(source) == ["rows.jsonl", "rows.jsonl.gz"]


def test_blocks_with_appended_foreign_data_are_scanned(source):
    packed = source.with_name("rows.jsonl.gz")
    packed.write_bytes(FORMS["gzip, blocks of lines"](ROWS))
    headrace.KeyIndex.build(packed, "k")
    assert len(headrace.KeyIndex.open(packed, require_index=True).get(7)) == 10
    with packed.open("ab") as file:
        file.write(gzip.compress(b'{"k":7,"n":"new"}\n'))
    with pytest.warns(HeadraceWarning):
        index = headrace.KeyIndex.open(packed)
    assert [row["n"] for row in index.get(7)][-2:] == [907, "new"]


def test_the_key_of_a_stale_index_is_known(source):
    headrace.KeyIndex.build(source, "k")
    source.write_bytes(ROWS.replace(b'"k":7,', b'"k":8,'))
    with pytest.warns(HeadraceWarning, match="was changed since it was made"):
        index = headrace.KeyIndex.open(source)
    assert (index.key, len(index.get(8)), index.get(7)) == (("k",), 20, [])


def test_decimals_are_keys(source):
    source.write_bytes(b'{"k":1e400}\n{"k":0.1}\n{"k":10,"l":0.5}\n')
    index = headrace.KeyIndex.open(source, "k", report=lambda _trouble: None)
    (row,) = index.get(Decimal("1E+400"))
    assert index.get(row["k"]) == [row]
    assert index.get(Decimal("0.10"))[0]["k"] == 0.1
    both = headrace.KeyIndex.open(source, ["k", "l"], report=lambda _trouble: None)
    assert len(both.get([Decimal("1E+1"), 0.5])) == 1
    for value in (Decimal("NaN"), Decimal("Infinity")):
        with pytest.raises(UsageError):
            index.get(value)


def test_a_text_with_commas_names_several_fields(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a":1,"b":2,"c,d":3}\n')
    headrace.KeyIndex.build(path, "a,b")
    assert headrace.KeyIndex.open(path, ["a", "b"]).get([1, 2])
    headrace.KeyIndex.build(path, ["c,d"])
    assert headrace.KeyIndex.open(path, ["c,d"]).get(3)
    with pytest.warns(HeadraceWarning, match="no row has the key a,z"):
        headrace.KeyIndex.build(path, "a,z")
    for unnamed in ("", "a,", []):
        with pytest.raises(UsageError):
            headrace.KeyIndex.build(path, unnamed)
