"""The set index: its uses, and the reports when it cannot be used."""

import os
import shutil
from threading import Thread

import pytest

import headrace
from headrace.engines.index import set as engine
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.local.index_build import InThreads
from headrace.errors import (
    BadSetError,
    DamagedBlockError,
    DuplicateKeyError,
    HeadraceWarning,
    KeyIndexError,
    KeyIndexLockedError,
    StrictRowError,
    UsageError,
)
from headrace.store.index.set import commit
from headrace.store.shards.opened_set import open_set
from tests.reference.shard_sets import write


def lines_of(numbers):
    return [f'{{"id":{n % 40},"n":{n},"word":"w{n % 3}"}}' for n in numbers]


@pytest.fixture
def shards(tmp_path):
    made = write(tmp_path / "set", lines_of(range(200)), most=30, block_bytes=128)
    headrace.KeyIndex.build(made.directory, "id")
    return made


def index_path(shards):
    return shards.directory / "rows.jnx.id"


# Queries


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("$.rows().filter(id == 7)", 5),
        ("$.rows().filter(id in [7, 8]).count()", 10),
        ("$.rows().filter(id == 7 and n > 50).map(n)", 5),
        ("$.rows().filter(id == 7).last()", 1),
        ("$.rows().filter(id == 7).take(2)", 2),
        ("$.rows().find(id == 39)", 1),
        ("$.rows().filter(id == 4000)", 0),
        ("$.rows().filter(n == 7)", 200),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_query_reads_the_rows_found_by_the_index(shards, query, expected, reverse):
    def answered(**options):
        with headrace.open(shards.directory) as dataset:
            result = dataset.query(query, reverse=reverse, **options)
            return result.to_list(), result.stats, result.report.read.rows

    rows, stats, read = answered()
    all_rows, all_stats, _all = answered(index=False)
    assert (rows, stats) == (all_rows, all_stats)
    assert read == (5 if reverse and "last" in query else expected)


def test_values_that_are_equal_in_python_are_not_one_key(tmp_path):
    lines = ['{"k":1}', '{"k":true}', '{"k":0}', '{"k":false}', '{"k":1.0}']
    shards = write(tmp_path, lines, most=2)
    headrace.KeyIndex.build(tmp_path, "k")
    with headrace.open(shards.directory) as dataset:
        for value, count in (("1", 2), ("true", 1), ("0", 1), ("false", 1), ("1.0", 2)):
            found = dataset.query(f"$.rows().filter(k == {value})")
            assert (len(found.to_list()), found.report.read.rows) == (count, count)


def test_explain_names_the_index(shards):
    with headrace.open(shards.directory) as dataset:
        said = dataset.query("$.rows().filter(id == 7)").explain().splitlines()
    assert f"found in {index_path(shards)}, the key index of id" in said[-1]


def test_parts_not_in_the_index_are_scanned(shards):
    write(shards.directory, lines_of(range(200, 230)))
    with headrace.open(shards.directory) as dataset:
        result = dataset.query("$.rows().filter(id == 7).map(n)")
        assert result.to_list() == [7, 47, 87, 127, 167, 207]
        assert (result.report.read.rows, result.stats.rows) == (35, 230)


def test_a_touched_part_is_verified(shards):
    os.utime(shards.directory / shards.metadata.parts[0].path, ns=(0, 0))
    with headrace.open(shards.directory) as dataset:
        result = dataset.query("$.rows().filter(id == 7)")
        assert len(result.to_list()) == 5
        assert result.report.read.rows == 5


def test_a_changed_part_is_scanned(tmp_path):
    shards = write(tmp_path, lines_of(range(100)), codec="none", most=50)
    headrace.KeyIndex.build(tmp_path, "n")
    part = tmp_path / shards.metadata.parts[0].path
    part.write_bytes(part.read_bytes().replace(b'"n":7,', b'"n":9,'))
    with headrace.open(tmp_path) as dataset:
        result = dataset.query("$.rows().filter(n == 9).map(id)")
        assert result.to_list() == [7, 9]
        assert result.report.read.rows == 50


# Joins, and the rows of a data set


@pytest.fixture
def nothing_is_small(monkeypatch):
    monkeypatch.setattr("headrace.physical.joins.SMALL_BYTES", 0)


@pytest.mark.usefixtures("nothing_is_small")
def test_a_join_uses_the_index(shards, tmp_path):
    left = tmp_path / "left.jsonl"
    left.write_text('{"id":7}\n{"id":"39"}\n{"id":4000}\n')
    plain = headrace.open(left).join(shards.directory, "id", index=False)
    by_index = headrace.open(left).join(shards.directory, "id", index=True)
    assert by_index.plan.strategy == "index"
    assert by_index.plan.index == str(index_path(shards))
    assert list(by_index) == list(plain)
    assert by_index.stats.mode == "indexed"


@pytest.mark.usefixtures("nothing_is_small")
def test_a_join_of_a_set_that_has_grown(shards, tmp_path):
    write(shards.directory, lines_of(range(200, 230)))
    left = tmp_path / "left.jsonl"
    left.write_text('{"id":7}\n{"id":20}\n')
    with pytest.warns(
        HeadraceWarning, match="more parts now; the new rows are scanned"
    ):
        by_index = headrace.open(left).join(shards.directory, "id", index=True)
    assert by_index.plan.strategy == "index"
    assert list(by_index) == list(
        headrace.open(left).join(shards.directory, "id", index=False)
    )


def test_get_of_a_data_set(shards):
    with headrace.open(shards.directory) as dataset:
        assert [row["n"] for row in dataset.get("id", 7)] == [7, 47, 87, 127, 167]
        assert [row["n"] for row in dataset.get("word", "w1")][:2] == [1, 4]


# Stale and damaged indexes


def test_a_missing_index(shards):
    with pytest.warns(HeadraceWarning, match="there is no key index for n"):
        assert headrace.KeyIndex.open(shards.directory, "n").get(5) == [
            {"id": 5, "n": 5, "word": "w2"}
        ]
    with pytest.raises(KeyIndexError, match="there is no key index for n"):
        headrace.KeyIndex.open(shards.directory, "n", require_index=True)
    index = headrace.KeyIndex.open(
        shards.directory, "n", auto_rebuild=True, report=print
    )
    assert index.usable
    assert (shards.directory / "rows.jnx.n").is_dir()


def test_one_of_several_indexes_must_be_named(shards):
    headrace.KeyIndex.build(shards.directory, ["id", "word"])
    with pytest.raises(UsageError, match="name one of: id id,word"):
        headrace.KeyIndex.open(shards.directory)
    found = headrace.KeyIndex.open(shards.directory, ["id", "word"]).get([7, "w1"])
    assert [row["n"] for row in found] == [7, 127]


def test_a_set_that_was_replaced(shards):
    write(shards.directory, lines_of(range(10)), overwrite=True)
    with pytest.warns(HeadraceWarning, match="other parts now; the file is scanned"):
        index = headrace.KeyIndex.open(shards.directory, "id")
    assert [row["n"] for row in index.get(7)] == [7]
    assert headrace.KeyIndex.check(shards.directory)["reason"] == "set_replaced"
    rebuilt = headrace.KeyIndex.open(
        shards.directory, "id", auto_rebuild=True, report=print
    )
    assert rebuilt.is_fresh()


def test_a_set_that_was_copied_keeps_its_index(shards, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(shards.directory, copy, copy_function=shutil.copyfile)
    index = headrace.KeyIndex.open(copy, "id")
    assert index.is_fresh()
    before = (copy / "rows.jnx.id" / "manifest.json").read_bytes()
    assert headrace.KeyIndex.update(copy).revalidated
    assert (copy / "rows.jnx.id" / "manifest.json").read_bytes() != before
    assert not headrace.KeyIndex.update(copy).revalidated


def test_a_part_that_has_other_bytes(shards):
    part = shards.directory / shards.metadata.parts[0].path
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    checked = headrace.KeyIndex.check(shards.directory)
    assert (checked["valid"], checked["fresh"]) == (True, False)
    assert checked["reason"] == "part_modified"


def test_a_damaged_block_is_named_with_its_part(shards):
    part = shards.directory / shards.metadata.parts[1].path
    seen = part.stat()
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    # Only the block itself shows it.
    os.utime(part, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    index = headrace.KeyIndex.open(shards.directory, "id")
    with pytest.raises(DamagedBlockError, match=r"part-00000001\.jsonl\.zst: "):
        list(index.get_many(range(30, 40)))


def test_a_part_that_was_removed_by_hand(shards):
    (shards.directory / shards.metadata.parts[2].path).unlink()
    with pytest.raises(BadSetError, match="names it, but it is missing"):
        headrace.KeyIndex.open(shards.directory, "id")


def test_an_older_generation_has_the_base_of_the_index(shards):
    older = shards.directory / "rows.meta-00000001.json"
    write(shards.directory, lines_of(range(200, 230)))
    headrace.KeyIndex.update(shards.directory)
    index = headrace.KeyIndex.open(older, "id")
    assert [row["n"] for row in index.get(7)] == [7, 47, 87, 127, 167]
    headrace.KeyIndex.compact(shards.directory)
    with pytest.warns(HeadraceWarning, match="other parts now"):
        index = headrace.KeyIndex.open(older, "id")
    assert [row["n"] for row in index.get(7)] == [7, 47, 87, 127, 167]


def test_bad_lines_are_reported(tmp_path):
    lines = [*lines_of(range(40)), '{"id":', '{"id":null}', *lines_of(range(3))]
    shards = write(tmp_path, lines, most=10)
    built = headrace.KeyIndex.build(shards.directory, "id")
    assert built.lines.skipped == {"bad": 1, "null": 1}
    assert [(row.line, row.cause) for row in built.first_skipped] == [
        (41, "bad"),
        (42, "null"),
    ]
    with pytest.raises(StrictRowError, match="line 41"):
        headrace.KeyIndex.build(shards.directory, "id", strict=True)
    # A scan reports the bad line.
    with headrace.open(shards.directory) as dataset:
        result = dataset.query("$.rows().filter(id == 7)", on_error="skip")
        assert len(result.to_list()) == 1
        assert result.stats.rows == 45


def test_a_key_that_two_rows_have(tmp_path):
    shards = write(tmp_path, lines_of([*range(30), 2, 1]), most=7)
    with pytest.raises(DuplicateKeyError) as error:
        headrace.KeyIndex.build(shards.directory, "n", mode="unique")
    assert (error.value.line, error.value.other) == (3, 31)
    unique = write(tmp_path, lines_of(range(30)), most=7, overwrite=True)
    headrace.KeyIndex.build(unique.directory, "n", mode="unique")
    write(tmp_path, lines_of([30, 5]))
    with pytest.raises(DuplicateKeyError) as error:
        headrace.KeyIndex.update(tmp_path)
    assert (error.value.line, error.value.other) == (6, 32)


def test_options_that_a_set_cannot_have_are_refused(shards, tmp_path):
    with pytest.raises(UsageError, match="of version 2"):
        headrace.KeyIndex.build(shards.directory, "id", index_version=1)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id":1}\n')
    headrace.KeyIndex.build(path, "id")
    for spark in ({"engine": "spark"}, {"master": "local"}, {"partition_bytes": 9}):
        with pytest.raises(UsageError, match="are for sets"):
            headrace.KeyIndex.update(path, "id", **spark)
    for build in (headrace.KeyIndex.build, headrace.KeyIndex.update):
        with pytest.raises(UsageError, match="threads is for engine='local'"):
            build(shards.directory, "id", engine="spark", threads=2)
        with pytest.raises(UsageError, match="master is for engine='spark'"):
            build(shards.directory, "id", master="local")


def test_all_lines_without_a_key_are_reported(tmp_path):
    lines = [*("[]" for _ in range(30)), '{"id":1}', *("oops" for _ in range(30))]
    shards = write(tmp_path, lines, most=7)
    skipped = []
    built = headrace.KeyIndex.build(shards, "id", skipped=skipped.extend)
    assert [row.line for row in skipped] == [*range(1, 31), *range(32, 62)]
    assert list(built.first_skipped) == skipped[:10]


def test_sets_and_files_get_an_index_each(shards, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n":1}\n')
    other = write(tmp_path / "other", lines_of(range(9)))
    several = [shards.directory, path, str(other.directory)]
    built = list(headrace.KeyIndex.build_each(several, "n"))
    assert [each.path.name for each in built] == [
        "rows.jnx.n",
        "rows.jsonl.jnx",
        "rows.jnx.n",
    ]
    assert [each.lines.records for each in built] == [200, 1, 9]
    with pytest.raises(UsageError, match="no source was given"):
        headrace.KeyIndex.build_each([], "n")


# Writers


def test_a_second_writer_is_refused(shards):
    with (
        commit.writing(index_path(shards)),
        pytest.raises(KeyIndexLockedError, match="process"),
    ):
        headrace.KeyIndex.build(shards.directory, "id")
    headrace.KeyIndex.build(shards.directory, "id")


def test_leftovers_of_a_killed_writer_are_removed(shards):
    path = index_path(shards)
    for name in ("00000009-0000.jnx", ".segment.tmp-1-0123abcd"):
        (path / name).write_bytes(b"x")
    assert headrace.KeyIndex.open(shards.directory, "id").is_fresh()
    headrace.KeyIndex.build(shards.directory, "id")
    assert sorted(each.name for each in path.iterdir()) == [
        "00000002-0000.jnx",
        "manifest.json",
    ]


def test_readers_find_an_index_while_it_is_replaced(shards):
    wrong = []

    def look():
        for _ in range(150):
            found = headrace.KeyIndex.open(
                shards.directory, "id", report=wrong.append
            ).get(7)
            if len(found) != 5:
                wrong.append(found)

    readers = [Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    while any(reader.is_alive() for reader in readers):
        engine.build(
            open_set(shards), index_path(shards), KeyBuild(("id",)), InThreads()
        )
    assert wrong == []


def test_memory_and_threads_change_no_byte(shards):
    def made(memory, threads):
        options = KeyBuild(("word",), memory=memory, threads=threads)
        path = shards.directory / "rows.jnx.word"
        engine.build(open_set(shards), path, options, InThreads(options), 20)
        found = {each.name: each.read_bytes() for each in path.iterdir()}
        shutil.rmtree(path)
        return found

    assert made(1 << 20, 1) == made(1 << 26, 4)


def test_another_place_for_the_index(shards, tmp_path):
    place = tmp_path / "indexes"
    built = headrace.KeyIndex.build(shards.directory, "n", index_dir=place)
    assert built.path.parent == place
    found = headrace.KeyIndex.open(shards.directory, "n", index_dir=place)
    assert found.get(5)[0]["n"] == 5
    built = headrace.KeyIndex.build(shards.directory, "n", index=tmp_path / "mine")
    assert built.path == tmp_path / "mine"
    assert headrace.KeyIndex.open(shards.directory, index=tmp_path / "mine").usable
