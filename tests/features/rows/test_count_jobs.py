"""Tasks count the rows of one process, and keep the same row indexes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace.engines.spark.index import row_counts
from headrace.store.rows import checkpoints, row_file, row_index
from tests.reference.compressed import FORMS
from tests.reference.index_jobs import done_twice

LINE = st.sampled_from(["", "{}", '{"id": 1}', "not JSON", "x" * 300, "é\r"])
FILE = st.tuples(
    st.sampled_from(sorted(FORMS)),
    st.lists(LINE, max_size=60),
    st.sampled_from(["", "\n", "{}", "\ufeff"]),
    st.sampled_from(["", "\ufeff"]),
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Keep row indexes of all files, with a checkpoint every 7 rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "SMALLEST_KEPT", -1)
        for module in (row_file, row_index, row_counts):
            patch.setattr(module, "INTERVAL", 7)
        yield tmp_path_factory.mktemp("counts")


def kept(paths):
    """Return the kept row indexes, and remove them."""
    found = {}
    for path in paths:
        sidecar = path.with_name(path.name + ".ckpt")
        if sidecar.exists():
            found[path.name] = sidecar.read_bytes()
            sidecar.unlink()
    return found


@settings(deadline=None)
@given(files=st.lists(FILE, min_size=1, max_size=3), partition=st.integers(10, 2000))
def test_tasks_and_one_process_count_the_same_rows(directory, files, partition):
    paths = []
    for number, (form, lines, last, first) in enumerate(files):
        paths.append(directory / f"{number}.jsonl")
        text = first + "".join(line + "\n" for line in lines) + last
        paths[-1].write_bytes(FORMS[form](text.encode()))
    with headrace.open(paths) as dataset:
        expected = dataset.count(), kept(paths)
    with headrace.open(paths) as dataset:
        counted = row_counts.count_by_tasks(dataset.files(), done_twice, partition)
        assert (counted, kept(paths)) == expected


def test_counted_rows_are_not_counted_again(directory):
    path = directory / "known.jsonl"
    path.write_bytes(b"{}\n" * 50)
    assert headrace.open(path).count() == 50
    assert path.with_name("known.jsonl.ckpt").exists()

    def never(_do, count, _tell=None):
        assert count == 0
        return []

    with headrace.open(path) as dataset:
        assert row_counts.count_by_tasks(dataset.files(), never, 10) == 50
