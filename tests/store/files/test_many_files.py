"""Many files are read with few open descriptors."""

from pathlib import Path

import pytest

import headrace

resource = pytest.importorskip("resource")

FILES = 200
FEW = 160


@pytest.fixture
def few_descriptors():
    """Limit the number of further open files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/dev/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + FEW, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(params=["plain", "gzip", "zstd"])
def files(request, tmp_path):
    if request.param == "plain":
        for number in range(FILES):
            (tmp_path / f"{number:03}.jsonl").write_text(f"{number}\n")
        return tmp_path
    writer = headrace.ShardWriter(
        tmp_path, codec=request.param, max_records=1, threads=1
    )
    with writer:
        writer.write_many(range(FILES))
    return tmp_path


def test_all_rows_of_many_files(files, few_descriptors):
    with headrace.open(files) as rows:
        for _time in range(2):
            assert list(rows) == list(range(FILES))
        assert list(rows.query("$ + 1")) == list(range(1, FILES + 1))
        assert rows[FILES - 1] == FILES - 1
        assert rows.bytes_read() > 0
