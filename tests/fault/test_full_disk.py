"""A disk that is full at any byte: the old files stay, and no other file remains.

The operating system limits the size of files, so the core meets the limit as well.
"""

import errno
import os
import resource
from functools import partial

import pytest

import headrace
from headrace.engines.index.kinds import GraphBuild, KeyBuild
from headrace.engines.local.index_build import build
from headrace.engines.local.index_build import build as build_graph
from headrace.errors import UnwritableError
from headrace.kernel.graph import EdgeFields
from tests.fault.failing_system import FailingSystem, using

RECORDS = [{"k": i % 3, "noise": os.urandom(30).hex()} for i in range(60)]


def everything(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        if path.is_file()
        else None
        for path in directory.rglob("*")
    }


def write_set(directory, **options):
    with headrace.ShardWriter(
        directory, max_bytes=1500, block_bytes=500, **options
    ) as writer:
        writer.write_many(RECORDS)


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_files_that_may_not_grow(tmp_path, codec):
    write_set(tmp_path, codec="none")
    before = everything(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures = 0
    for size in [*range(0, 40, 13), *range(40, 10_000, 97)]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            write_set(tmp_path, codec=codec)
            break
        except UnwritableError as error:
            message = str(error)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        failures += 1
        assert os.strerror(errno.EFBIG) in message
        assert "is intact" in message
        assert everything(tmp_path) == before
    assert failures > 10
    assert list(headrace.ShardSet(tmp_path).records()) == RECORDS


def let_files_grow(directory, write, refused):
    """Raise the limit of file sizes until `write` succeeds.

    Before that it fails because of the file that `refused` names for each limit, and
    changes nothing.
    """
    before = everything(directory)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures = 0
    for size in [0, 1, 64, *range(100, 20_000, 333)]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            write()
            break
        except OSError as error:
            said = (error.errno, error.filename)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        failures += 1
        assert said == (errno.EFBIG, str(refused(size)))
        assert everything(directory) == before
    assert failures > 5


def rows(count):
    return b"".join(b'{"k":%d,"to":%d}\n' % (n, n % 7) for n in range(count))


@pytest.mark.parametrize("memory", [500, 1 << 20], ids=["with runs", "in memory"])
def test_graph_indexes_that_may_not_grow(tmp_path, memory):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(rows(200))
    index = headrace.GraphIndex.build(path, "k", None, "to").path
    (source,) = headrace.open(path).sources
    options = GraphBuild(EdgeFields("k", None, "to"), memory=memory, threads=1)
    let_files_grow(
        tmp_path, lambda: build_graph(source, index, options), lambda _size: index
    )
    assert headrace.GraphIndex.check(path, deep=True)["valid"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("memory", [500, 1 << 20], ids=["with runs", "in memory"])
def test_key_indexes_that_may_not_grow(tmp_path, version, memory):
    """Runs that do not fit in memory are files too, though without a name."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(rows(200))
    index = headrace.KeyIndex.build(path, "k").path
    (source,) = headrace.open(path).sources
    options = KeyBuild(("k",), version=version, memory=memory, threads=1)
    let_files_grow(tmp_path, lambda: build(source, index, options), lambda _size: index)
    assert headrace.KeyIndex.check(path, "k")["valid"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("step", ["update", "compact"])
@pytest.mark.parametrize("kind", ["key", "graph"])
def test_indexes_that_may_not_be_continued(tmp_path, kind, step, version):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(rows(200))
    if kind == "key":
        index = headrace.KeyIndex.build(path, "k", index_version=version).path
        update, check = headrace.KeyIndex.update, headrace.KeyIndex.check
        compact = headrace.KeyIndex.compact
    else:
        made = headrace.GraphIndex.build(path, "k", None, "to", index_version=version)
        index = made.path
        update, check = headrace.GraphIndex.update, headrace.GraphIndex.check
        compact = headrace.GraphIndex.compact
    for more in (20, 10):
        with path.open("ab") as file:
            file.write(rows(more))
        if more == 20:
            update(path)
    write = compact if step == "compact" else partial(update, threads=1)

    def refused(size):
        # The lock file has the name of its holder.
        end = ".lock" if size == 0 else ".delta" if step == "update" else ""
        return f"{index}{end}"

    let_files_grow(tmp_path, lambda: write(path), refused)
    assert check(path)["valid"]


def test_a_writer_that_met_a_full_disk_takes_no_more(tmp_path):
    writer = headrace.ShardWriter(tmp_path / "out", codec="none", block_bytes=100)
    with (
        using(FailingSystem(1, "half")),
        pytest.raises(UnwritableError, match="part-00000000"),
    ):
        writer.write_many(RECORDS)
    with pytest.raises(headrace.HeadraceError, match="was aborted"):
        writer.write(1)
    with pytest.raises(headrace.HeadraceError, match="was aborted"):
        writer.close()
    assert list(tmp_path.iterdir()) == []
