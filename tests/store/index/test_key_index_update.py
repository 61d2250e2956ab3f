"""Updates of key indexes: the bytes read and written, and locks."""

import os
import pickle
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest

import headrace
from headrace.errors import (
    DuplicateKeyError,
    HeadraceWarning,
    KeyIndexError,
    KeyIndexLockedError,
    UsageError,
)
from headrace.kernel.rows import SidecarError
from headrace.store.files.opened import OpenedFile
from headrace.store.index import key as store
from headrace.store.index import stored_index
from headrace.store.index.subject import one_source
from tests.reference.compressed import FORMS

ROWS = b"".join(b'{"k":%d,"n":%d}\n' % (n % 100, n) for n in range(1000))
MORE = b'{"k":7,"n":-1}\n{"k":"new","n":-2}\n'


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    headrace.KeyIndex.build(path, "k")
    return path


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def beside(source):
    return sorted(path.name for path in source.parent.iterdir())


def numbers(source, key):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [row["n"] for row in headrace.KeyIndex.open(source, "k").get(key)]


@pytest.fixture
def updated(source):
    append(source, MORE)
    headrace.KeyIndex.update(source)
    return source


@pytest.mark.parametrize("version", [1, 2])
def test_only_new_rows_are_read(source, version):
    headrace.KeyIndex.build(source, "k", index_version=version)
    base = (source.parent / "rows.jsonl.jnx").read_bytes()
    append(source, MORE + b"oops\n")
    done = headrace.KeyIndex.update(source, "k", threads=1)
    assert (done.mode, done.built.lines.records, done.compacted) == (
        "incremental",
        2,
        None,
    )
    assert [(row.line, row.cause) for row in done.built.first_skipped] == [
        (1003, "bad")
    ]
    assert beside(source) == ["rows.jsonl", "rows.jsonl.jnx", "rows.jsonl.jnx.delta"]
    assert (source.parent / "rows.jsonl.jnx").read_bytes() == base
    assert numbers(source, 7) == [*range(7, 1000, 100), -1]
    assert numbers(source, "new") == [-2]
    append(source, b'{"k":7,"n":-3}\n')
    done = headrace.KeyIndex.update(source)
    assert (done.built.lines.lines, done.built.written.records) == (1, 3)
    assert numbers(source, 7) == [*range(7, 1000, 100), -1, -3]
    assert headrace.KeyIndex.update(source).mode == "none"


def test_an_unterminated_last_row_is_read_again(source):
    append(source, b'{"k":7,"n":-1}')
    assert headrace.KeyIndex.update(source).built.lines.records == 1
    assert numbers(source, 7)[-1] == -1
    append(source, b"\n")
    assert headrace.KeyIndex.update(source).built.lines.records == 1
    assert numbers(source, 7)[-2:] == [907, -1]
    append(source, b'{"k":7,"n":')
    assert headrace.KeyIndex.update(source).built.lines.pending == 1
    os.truncate(source, source.stat().st_size - 1)
    append(source, b'":-4}\n')
    headrace.KeyIndex.update(source)
    assert numbers(source, 7)[-2:] == [907, -1]
    stats = headrace.KeyIndex.stats(source)
    assert (stats["lines"], stats["records"]) == (1002, 1001)
    headrace.KeyIndex.compact(source)
    stats = headrace.KeyIndex.stats(source)
    assert (stats["lines"], stats["records"]) == (1002, 1001)


def test_a_large_delta_and_its_base_become_one(source):
    append(source, ROWS[: len(ROWS) // 5])
    assert headrace.KeyIndex.update(source).compacted is None
    append(source, ROWS[: len(ROWS) // 5])
    done = headrace.KeyIndex.update(source)
    assert done.compacted.written.records == headrace.KeyIndex.stats(source)["records"]
    assert beside(source) == ["rows.jsonl", "rows.jsonl.jnx"]
    one = (source.parent / "rows.jsonl.jnx").read_bytes()
    headrace.KeyIndex.build(source, "k")
    assert (source.parent / "rows.jsonl.jnx").read_bytes() == one


def test_an_index_with_full_buckets_must_be_rebuilt(tmp_path):
    source = tmp_path / "rows.jsonl"
    source.write_bytes(ROWS[: ROWS.index(b'{"k":60')])
    headrace.KeyIndex.build(source, "k", index_version=2)
    source.write_bytes(ROWS)
    done = headrace.KeyIndex.update(source)
    assert (done.compacted, done.full_advised) == (None, "buckets_full")
    with pytest.raises(KeyIndexError, match="too many rows"):
        headrace.KeyIndex.compact(source)
    assert numbers(source, 7) == list(range(7, 1000, 100))
    # The file grows further, and so does the delta.
    append(source, ROWS * 3)
    assert headrace.KeyIndex.update(source).built.written.records == 3940
    assert len(numbers(source, 7)) == 40
    assert headrace.KeyIndex.update(source, full=True).mode == "full"
    assert beside(source) == ["rows.jsonl", "rows.jsonl.jnx"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_unique_index_stays_unique(tmp_path, version):
    source = tmp_path / "rows.jsonl"
    source.write_bytes(b'{"k":1}\n{"k":2}\n')
    headrace.KeyIndex.build(source, "k", mode="unique", index_version=version)
    append(source, b'{"k":3}\n{"k":2.0}\n{"k":1}\n')
    before = beside(source)
    with pytest.raises(DuplicateKeyError) as raised:
        headrace.KeyIndex.update(source)
    assert (raised.value.key, raised.value.line, raised.value.other) == ("2", 2, 4)
    assert beside(source) == before


def test_a_changed_file_must_be_indexed_anew(updated):
    updated.write_bytes(updated.read_bytes().replace(b'"n":907', b'"n":908'))
    with pytest.raises(KeyIndexError, match="was changed"):
        headrace.KeyIndex.update(updated)
    with pytest.raises(KeyIndexError, match="was changed"):
        headrace.KeyIndex.compact(updated)
    done = headrace.KeyIndex.update(updated, full=True)
    assert (done.mode, done.built.written.records) == ("full", 1002)
    assert beside(updated) == ["rows.jsonl", "rows.jsonl.jnx"]
    assert numbers(updated, 7)[-2:] == [908, -1]


def test_a_file_that_lost_its_appended_rows_uses_the_base(updated):
    os.truncate(updated, len(ROWS))
    assert numbers(updated, 7) == list(range(7, 1000, 100))
    assert headrace.KeyIndex.check(updated)["fresh"]
    with pytest.raises(KeyIndexError, match="shorter now"):
        headrace.KeyIndex.compact(updated)
    append(updated, b'{"k":7,"n":-9}\n')
    headrace.KeyIndex.update(updated)
    assert numbers(updated, 7)[-2:] == [907, -9]


@pytest.mark.parametrize("with_delta", [False, True])
def test_a_touched_file_is_revalidated(source, with_delta):
    if with_delta:
        append(source, MORE)
        headrace.KeyIndex.update(source)
    os.utime(source, ns=(0, 0))
    done = headrace.KeyIndex.update(source)
    assert (done.mode, done.revalidated) == ("none", True)
    (one,) = headrace.open(source).sources
    stored = store.INDEXES.read(source.with_name("rows.jsonl.jnx"))
    assert stored.newest.source == stored_index.mark_of(one, OpenedFile(one))
    assert not headrace.KeyIndex.update(source).revalidated
    assert len(numbers(source, 7)) == 10 + with_delta
    if not with_delta:
        noted = stored.path.read_bytes()
        headrace.KeyIndex.build(source, "k")
        assert stored.path.read_bytes() == noted


def test_compressed_files_are_indexed_again(tmp_path):
    source = tmp_path / "rows.jsonl.gz"
    source.write_bytes(FORMS["gzip, blocks of lines"](ROWS))
    headrace.KeyIndex.build(source, "k")
    assert headrace.KeyIndex.update(source).mode == "none"
    source.write_bytes(FORMS["gzip, blocks of lines"](ROWS + MORE))
    with pytest.raises(KeyIndexError, match="was changed"):
        headrace.KeyIndex.update(source)
    assert headrace.KeyIndex.update(source, full=True).mode == "full"
    assert numbers(source, "new") == [-2]


def test_a_delta_of_the_past_is_not_used(updated, tmp_path):
    delta = updated.with_name("rows.jsonl.jnx.delta")
    kept = shutil.copy(delta, tmp_path / "kept")
    append(updated, b'{"k":7,"n":-3}\n')
    headrace.KeyIndex.build(updated, "k")
    assert not delta.exists()
    shutil.copy(kept, delta)
    assert numbers(updated, 7)[-2:] == [-1, -3]
    checked = headrace.KeyIndex.check(updated)
    assert (checked["valid"], checked["fresh"]) == (True, True)
    assert "delta" not in checked
    assert headrace.KeyIndex.compact(updated) is None
    append(updated, b'{"k":7,"n":-4}\n')
    headrace.KeyIndex.update(updated)
    assert numbers(updated, 7)[-2:] == [-3, -4]


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda source: headrace.KeyIndex.build(source, "k"), id="build"),
        pytest.param(headrace.KeyIndex.compact, id="compact"),
    ],
)
def test_an_interrupt_before_the_delta_is_removed_is_harmless(
    updated, monkeypatch, write
):
    def stop(_path, _kind):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("headrace.engines.local.index_build.remove_delta", stop)
        with pytest.raises(KeyboardInterrupt):
            write(updated)
    assert updated.with_name("rows.jsonl.jnx.delta").exists()
    assert not updated.with_name("rows.jsonl.jnx.lock").exists()
    assert numbers(updated, 7)[-1] == -1
    assert headrace.KeyIndex.check(updated, deep=True)["valid"]
    append(updated, MORE)
    headrace.KeyIndex.update(updated)
    assert numbers(updated, "new") == [-2, -2]


def test_a_damaged_delta_is_reported_and_rebuilt(updated):
    delta = updated.with_name("rows.jsonl.jnx.delta")
    delta.write_bytes(delta.read_bytes()[:-1])
    with pytest.warns(HeadraceWarning) as caught:
        index = headrace.KeyIndex.open(updated, "k")
    assert ["jnx.delta" in str(each.message) for each in caught] == [True, False]
    assert [row["n"] for row in index.get("new")] == [-2]
    with pytest.raises(KeyIndexError):
        headrace.KeyIndex.open(updated, "k", require_index=True)
    checked = headrace.KeyIndex.check(updated)
    assert (checked["valid"], checked["index"]) == (False, str(delta))
    with pytest.raises(KeyIndexError, match="delta"):
        headrace.KeyIndex.compact(updated)
    assert headrace.KeyIndex.update(updated).built.lines.records == 2
    assert numbers(updated, "new") == [-2]


def test_a_foreign_file_in_the_place_of_a_delta_stays(source):
    mine = source.with_name("rows.jsonl.jnx.delta")
    mine.write_bytes(b"my own notes")
    append(source, MORE)
    with pytest.raises(KeyIndexError, match="no key index"):
        headrace.KeyIndex.update(source)
    headrace.KeyIndex.build(source, "k")
    assert mine.read_bytes() == b"my own notes"
    assert numbers(source, "new") == [-2]


def test_a_second_writer_is_refused(updated):
    path = updated.with_name("rows.jsonl.jnx")
    writers = [
        lambda: headrace.KeyIndex.build(updated, "k"),
        lambda: headrace.KeyIndex.update(updated),
        lambda: headrace.KeyIndex.update(updated, full=True),
        lambda: headrace.KeyIndex.compact(updated),
    ]
    with stored_index.writing(path):
        for write in writers:
            with pytest.raises(KeyIndexLockedError, match="wait until") as raised:
                write()
        assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args
        # Readers are not blocked.
        assert numbers(updated, "new") == [-2]
        append(updated, b'{"k":"new","n":-5}\n')
        with pytest.warns(HeadraceWarning) as caught:
            index = headrace.KeyIndex.open(updated, "k", auto_rebuild=True)
        assert "is writing it; the file is scanned" in str(caught[-1].message)
        assert len(index.get("new")) == 2
    assert not updated.with_name("rows.jsonl.jnx.lock").exists()
    headrace.KeyIndex.update(updated)


def test_leftovers_of_a_killed_writer_are_removed_by_the_next(updated):
    left = [".rows.jsonl.jnx.tmp-17-0123abcd", ".rows.jsonl.jnx.delta.tmp-17-0123abcd"]
    others = [".rows.jsonl.jnx.k.tmp-17-0123abcd", ".rows.jsonl.jnx.tmp-mine"]
    for name in [*left, *others, "rows.jsonl.jnx.lock"]:
        updated.with_name(name).touch()
    headrace.KeyIndex.compact(updated)
    assert beside(updated) == sorted([*others, "rows.jsonl", "rows.jsonl.jnx"])


def test_indexes_of_several_keys_have_deltas_of_their_own(updated):
    headrace.KeyIndex.build(updated, "n")
    append(updated, b'{"k":"k","n":"n"}\n')
    for key in ("k", "n"):
        headrace.KeyIndex.update(updated, key)
    assert len(beside(updated)) == 5
    for key in ("k", "n"):
        assert (
            len(headrace.KeyIndex.open(updated, key, require_index=True).get(key)) == 1
        )
    with pytest.raises(UsageError, match="name one of: k n"):
        headrace.KeyIndex.update(updated)


def test_deep_checks_compare_rows(updated, monkeypatch):
    assert headrace.KeyIndex.check(updated, deep=True)["valid"]
    other = updated.with_name("other.jsonl")
    other.write_bytes(updated.read_bytes().replace(b'"k":7', b'"k":8'))
    built = headrace.KeyIndex.build(other, "k").path
    # An index of other rows with the header of this file.
    built.replace(updated.with_name("rows.jsonl.jnx"))
    fresh = stored_index.Freshness("fresh")
    monkeypatch.setattr(stored_index, "fitting", lambda stored, *_: (stored, fresh))
    assert headrace.KeyIndex.check(updated)["valid"]
    checked = headrace.KeyIndex.check(updated, deep=True)
    assert (checked["valid"], checked["reason"]) == (False, "corrupt")
    assert checked["detail"] == "its rows are not those of the file"


def test_unreadable_hashes_are_damage(source):
    class Damaged:
        def fit(self, _file, _size):
            raise SidecarError("i", 9, "a block does not match its checksum")

    append(source, MORE)
    stored = replace(
        store.INDEXES.read(source.with_name("rows.jsonl.jnx")), index=Damaged()
    )
    one = one_source(source)
    with pytest.raises(KeyIndexError, match="does not match"):
        stored_index.fitting(stored, one, OpenedFile(one))


def test_an_index_without_the_end_of_its_source_must_be_rebuilt(source, monkeypatch):
    append(source, b'{"k":7')
    headrace.KeyIndex.build(source, "k")
    append(source, b"}\n")
    known = store.Stored.meta_of
    without_end = staticmethod(lambda text: replace(known(text), last=None))
    monkeypatch.setattr(store.Stored, "meta_of", without_end)
    with pytest.raises(KeyIndexError, match="how the file ended"):
        headrace.KeyIndex.update(source)


def test_lines_without_a_key_are_passed_to_the_callback(source):
    seen = []
    append(source, b"oops\n\n{}\n")
    headrace.KeyIndex.update(source, skipped=seen.extend)
    assert [(row.line, row.cause) for row in seen] == [(1001, "bad"), (1003, "missing")]
    again = []
    bad = b"".join(b"%d\n" % n for n in range(50))
    append(source, bad)
    headrace.KeyIndex.build(source, "k", threads=2, skipped=again.extend)
    assert [row.line for row in again] == [1001, 1003, *range(1004, 1054)]


def test_updates_that_are_refused(source):
    with pytest.raises(KeyIndexError, match="there is no key index for x"):
        headrace.KeyIndex.update(source, "x")
    index = source.with_name("rows.jsonl.jnx")
    index.write_bytes(index.read_bytes()[:-1])
    with pytest.raises(KeyIndexError, match="footer"):
        headrace.KeyIndex.update(source, "k")
    with pytest.raises(KeyIndexError, match="footer"):
        headrace.KeyIndex.update(source, full=True)
    assert headrace.KeyIndex.update(source, "k", full=True).mode == "full"


def test_a_delta_without_a_base_is_an_error(updated):
    delta = updated.with_name("rows.jsonl.jnx.delta")
    with pytest.raises(KeyIndexError, match="not a key index"):
        headrace.KeyIndex.open(updated, "k", index=delta, require_index=True)
    assert headrace.KeyIndex.check(updated, index=delta)["reason"] == "foreign"


@pytest.mark.parametrize("change", ["compact", "update", "update and compact"])
def test_an_index_replaced_while_it_is_opened_is_opened_again(
    updated, monkeypatch, change
):
    opened = store.Stored.opened
    waiting = [change]

    def replaced_meanwhile(path, delta=None):
        if delta is not None and waiting:
            waiting.clear()
            if "update" in change:
                append(updated, b'{"k":7,"n":-3}\n')
                headrace.KeyIndex.update(updated)
            if "compact" in change:
                headrace.KeyIndex.compact(updated)
        return opened(path, delta)

    monkeypatch.setattr(store.Stored, "opened", staticmethod(replaced_meanwhile))
    found = store.INDEXES.read(updated.with_name("rows.jsonl.jnx"))
    assert not waiting
    assert isinstance(found, store.Stored)
    assert found.unused is None
    assert (found.delta is None) == ("compact" in change)
    last = [-3] if "update" in change else []
    assert numbers(updated, 7) == [*range(7, 1000, 100), -1, *last]


def test_the_base_of_an_open_index_stays_that_of_its_delta(updated):
    stored = store.INDEXES.read(updated.with_name("rows.jsonl.jnx"))
    headrace.KeyIndex.compact(updated)
    base = stored.without_delta()
    assert base.meta == stored.meta
    assert base.index.build_id == stored.index.build_id


def test_readers_need_no_lock_while_another_process_updates(updated):
    writer = subprocess.Popen(
        [sys.executable, "-c", UPDATING, str(updated)], stdin=subprocess.PIPE
    )
    try:
        for _ in range(300):
            with warnings.catch_warnings():
                # The file may have grown since the index was updated.
                warnings.simplefilter("ignore", HeadraceWarning)
                rows = headrace.KeyIndex.open(updated, "k").get("new")
            assert [row["n"] for row in rows][:1] == [-2]
            assert headrace.KeyIndex.check(updated, "k")["valid"]
    finally:
        writer.stdin.close()
        assert writer.wait() == 0


UPDATING = """
import select, sys
import headrace
path = sys.argv[1]
while not select.select([sys.stdin], [], [], 0)[0]:
    with open(path, "ab") as file:
        file.write(b'{"k":"later","n":0}\\n')
    headrace.KeyIndex.update(path)
    headrace.KeyIndex.compact(path)
"""


def test_an_index_newer_than_the_opened_file_is_reported_as_newer(updated):
    opened = OpenedFile(one_source(str(updated)))
    append(updated, MORE)
    headrace.KeyIndex.update(updated)
    headrace.KeyIndex.compact(updated)
    stored = store.INDEXES.read(updated.with_name("rows.jsonl.jnx"))
    _, fresh = stored_index.fitting(stored, opened.source, opened)
    assert (fresh.state, fresh.reason) == ("stale", "index_newer")


def test_an_index_whose_file_is_gone_is_not_fresh(source):
    with headrace.KeyIndex.open(source, "k") as index:
        source.with_name("rows.jsonl.jnx").unlink()
        assert not index.is_fresh()
