"""The parts of a set after a newer generation."""

import glob
import pickle

import pytest

import headrace
from headrace.errors import EmptySetError, SourceChangedError, UsageError


def write(directory, rows, **options):
    with headrace.ShardWriter(directory, max_records=3, **options) as writer:
        writer.write_many(rows)


def seen_by_others(directory):
    """Return the rows that a tool without knowledge of sets finds."""
    patterns = (f"{directory}/*/*.zst", f"{directory}/**/*.zst")
    found = {p: sorted(glob.glob(p, recursive=True)) for p in patterns}  # noqa: PTH207
    assert len(set(map(tuple, found.values()))) == 1
    return [row for path in found[patterns[0]] for row in headrace.open(path)]


def test_patterns_find_only_the_parts_of_the_newest_generation(tmp_path):
    for number in range(4):
        write(tmp_path, range(number, number + 10))
        assert seen_by_others(tmp_path) == list(range(number, number + 10))
    assert len(headrace.open(f"{tmp_path}/**/*.zst")) == 10


@pytest.mark.parametrize("codec", ["zstd", "none"])
def test_a_reader_of_the_old_generation_reads_on(tmp_path, codec):
    write(tmp_path, range(10), codec=codec)
    ds = headrace.open(tmp_path)
    assert ds[0] == 0
    elsewhere = pickle.loads(pickle.dumps(ds))
    begun = iter(ds)
    assert next(begun) == 0
    for number in range(1, 3):
        write(tmp_path, range(number, number + 20), codec=codec)
    assert list(begun) == list(range(1, 10))
    assert list(elsewhere) == list(range(10))
    assert (ds[9], ds.tail(2), ds.stats().records) == (9, [8, 9], 10)
    old = tmp_path / "rows.meta-00000001.json"
    assert list(headrace.open(old)) == list(range(10))
    assert list(headrace.ShardSet(old).records(validation="trusted")) == list(range(10))
    assert list(headrace.open(tmp_path)) == list(range(2, 22))


def test_reading_a_removed_generation_is_an_error(tmp_path):
    write(tmp_path, range(10))
    ds = headrace.open(tmp_path)
    write(tmp_path, range(5), grace=0)
    assert not (tmp_path / ".rows.superseded").exists()
    assert not (tmp_path / "rows.meta-00000001.json").exists()
    with pytest.raises(SourceChangedError, match="the set was replaced"):
        list(ds)


def test_a_generation_that_was_superseded_can_be_put_back(tmp_path):
    write(tmp_path, range(10))
    write(tmp_path, range(5))
    (tmp_path / "rows.meta-00000002.json").unlink()
    assert list(headrace.open(tmp_path)) == list(range(10))
    write(tmp_path, range(7))
    assert list(headrace.open(tmp_path)) == list(range(7))


@pytest.mark.parametrize("grace", [-1, float("nan"), "1h", None, True])
def test_a_grace_is_a_number_of_seconds(tmp_path, grace):
    write(tmp_path, [1])
    with pytest.raises(UsageError, match="grace"):
        headrace.ShardWriter(tmp_path, grace=grace)
    with pytest.raises(UsageError, match="grace"):
        headrace.ShardSet(tmp_path).vacuum(grace=grace)
    with pytest.raises(UsageError, match="partition_by"):
        headrace.ShardWriter(tmp_path, partition_by=5)


def test_a_set_is_not_replaced_by_nothing(tmp_path):
    write(tmp_path, [])
    write(tmp_path, [])
    write(tmp_path, range(7))
    with pytest.raises(
        EmptySetError, match=r"has 7 rows; it stays.*--allow-empty"
    ) as e:
        write(tmp_path, [])
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)
    with pytest.raises(EmptySetError):
        write(tmp_path, [b"{"], on_error="skip")
    assert list(headrace.open(tmp_path)) == list(range(7))
    write(tmp_path, [], allow_empty=True)
    assert list(headrace.open(tmp_path)) == []
