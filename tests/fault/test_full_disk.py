"""A disk that is full, or fails, at any call: the old set stays, nothing else is left."""

import errno
import os
import resource
from itertools import count
from pathlib import Path

import pytest

import headrace
from headrace.engines.local.graph_build import GraphBuild
from headrace.engines.local.graph_build import build as build_graph
from headrace.engines.local.key_build import KeyBuild, build
from headrace.errors import UnreadableError, UnwritableError
from headrace.kernel.graph import EdgeFields

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


def write_file(directory):
    with headrace.LineWriter(directory / "rows.jsonl.gz", block_bytes=500) as writer:
        writer.write_many(RECORDS)


def full(number):
    def fail(*_args, **_options):
        raise OSError(number, os.strerror(number))

    return fail


def half_then_full(descriptor, data):
    os.pwrite(descriptor, bytes(data[: len(data) // 2]), os.fstat(descriptor).st_size)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Nth:
    """A call that works until the time it fails; `left` None: it always works."""

    def __init__(self, monkeypatch, owner, name, fail):
        self.real = getattr(owner, name)
        self.fail = fail
        self.left = None

        def call(*args, **options):  # a function, so that it can be a method
            return self(*args, **options)

        monkeypatch.setattr(owner, name, call)

    def __call__(self, *args, **options):
        if self.left is None:
            return self.real(*args, **options)
        self.left -= 1
        return (self.fail if self.left == 0 else self.real)(*args, **options)


CALLS = [
    pytest.param(os, "write", full(errno.ENOSPC), id="write"),
    pytest.param(os, "write", half_then_full, id="half a write"),
    pytest.param(os, "fsync", full(errno.EIO), id="fsync"),
    pytest.param(os, "link", full(errno.ENOSPC), id="link"),
    pytest.param(os, "open", full(errno.EMFILE), id="open"),
    pytest.param(os, "ftruncate", full(errno.EDQUOT), id="ftruncate"),
    pytest.param(Path, "replace", full(errno.EIO), id="rename"),
    pytest.param(Path, "mkdir", full(errno.ENOSPC), id="mkdir"),
]


@pytest.mark.parametrize(("owner", "name", "fail"), CALLS)
@pytest.mark.parametrize("partition_by", [None, "k"])
@pytest.mark.parametrize("had_set", [True, False])
def test_a_set_is_old_or_new_whichever_call_fails(
    tmp_path, monkeypatch, owner, name, fail, partition_by, had_set
):
    out = tmp_path / "out"
    if had_set:
        write_set(out, codec="none")
    before = everything(tmp_path)
    call = Nth(monkeypatch, owner, name, fail)
    failures = 0
    for at in count(1):
        call.left = at
        try:
            write_set(out, partition_by=partition_by)
            break
        except (UnwritableError, UnreadableError) as error:
            message = str(error)
        finally:
            call.left = None
        failures += 1
        assert str(out) in message
        if "power failure" in message:
            # The metadata had its name already.
            assert name in ("fsync", "open")
            break
        left = "is intact" if had_set else "nothing of the new set is left"
        assert left in message or "json: cannot be read" in message
        assert everything(tmp_path) == before
    assert failures >= 1
    assert headrace.ShardSet(out).metadata.total_records == len(RECORDS)
    assert len(list(headrace.read_shards(out))) == len(RECORDS)


@pytest.mark.parametrize(
    ("owner", "name", "fail"),
    [each for each in CALLS if each.id not in ("mkdir", "link", "ftruncate")],
)
def test_a_file_is_old_or_new_whichever_call_fails(
    tmp_path, monkeypatch, owner, name, fail
):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(b"old")
    call = Nth(monkeypatch, owner, name, fail)
    failures = 0
    for at in count(1):
        call.left = at
        try:
            write_file(tmp_path)
            break
        except UnwritableError as error:
            message = str(error)
        finally:
            call.left = None
        failures += 1
        assert str(path) in message
        if "power failure" in message:
            assert name in ("fsync", "open")
            break
        assert "what was there is as it was" in message
        assert everything(tmp_path) == {"rows.jsonl.gz": b"old"}
    assert failures >= 1
    assert list(headrace.open(path)) == RECORDS


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_files_that_may_not_grow(tmp_path, codec):
    """The limit is the operating system's, so every way of writing meets it."""
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
    assert list(headrace.read_shards(tmp_path)) == RECORDS


@pytest.mark.parametrize("memory", [500, 1 << 20], ids=["with runs", "in memory"])
def test_graph_indexes_that_may_not_grow(tmp_path, memory):
    path = tmp_path / "edges.jsonl"
    path.write_bytes(b"".join(b'{"a":%d,"b":%d}\n' % (n, n % 7) for n in range(200)))
    index = headrace.build_graph_index(path, "a", None, "b").path
    (source,) = headrace.open(path).sources
    asked = GraphBuild(EdgeFields("a", None, "b"), memory=memory, threads=1)
    before = everything(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures = 0
    for size in [0, 1, 64, *range(100, 20_000, 333)]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            build_graph(source, index, asked)
            break
        except OSError as error:
            said = (error.errno, error.filename)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        failures += 1
        assert said == (errno.EFBIG, str(index))
        assert everything(tmp_path) == before
    assert failures > 5
    assert headrace.check_graph_index(path, deep=True)["valid"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("memory", [500, 1 << 20], ids=["with runs", "in memory"])
def test_key_indexes_that_may_not_grow(tmp_path, version, memory):
    """Runs that do not fit in memory are files too, though without a name."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(b'{"k":%d}\n' % n for n in range(200)))
    index = headrace.build_lookup_index(path, "k").path
    (source,) = headrace.open(path).sources
    asked = KeyBuild(("k",), version=version, memory=memory, threads=1)
    before = everything(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures = 0
    for size in [0, 1, 64, *range(100, 20_000, 333)]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            build(source, index, asked)
            break
        except OSError as error:
            said = (error.errno, error.filename)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        failures += 1
        assert said == (errno.EFBIG, str(index))
        assert everything(tmp_path) == before
    assert failures > 5
    assert headrace.check_lookup_index(path, "k")["valid"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("write", "name"),
    [
        pytest.param(
            lambda path: headrace.update_lookup_index(path, threads=1),
            "rows.jsonl.jnx.delta",
            id="update",
        ),
        pytest.param(headrace.compact_lookup_index, "rows.jsonl.jnx", id="compact"),
    ],
)
def test_key_indexes_that_may_not_be_continued(tmp_path, version, write, name):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(b'{"k":%d}\n' % n for n in range(200)))
    headrace.build_lookup_index(path, "k", version=version)
    with path.open("ab") as file:
        file.write(b"".join(b'{"k":%d}\n' % n for n in range(20)))
    headrace.update_lookup_index(path)
    with path.open("ab") as file:
        file.write(b"".join(b'{"k":%d}\n' % n for n in range(10)))
    before = everything(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures = 0
    for size in [0, 1, 64, *range(100, 20_000, 333)]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            write(path)
            break
        except OSError as error:
            said = (error.errno, error.filename)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        failures += 1
        # The lock says who has it.
        refused = tmp_path / ("rows.jsonl.jnx.lock" if size == 0 else name)
        assert said == (errno.EFBIG, str(refused))
        assert everything(tmp_path) == before
    assert failures > 5
    assert headrace.check_lookup_index(path, "k")["valid"]


def test_a_writer_that_met_a_full_disk_takes_no_more(tmp_path, monkeypatch):
    writer = headrace.ShardWriter(tmp_path / "out", codec="none", block_bytes=100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full(errno.ENOSPC))
        with pytest.raises(UnwritableError, match="part-00000000"):
            writer.write_many(RECORDS)
    with pytest.raises(headrace.HeadraceError, match="was aborted"):
        writer.write(1)
    with pytest.raises(headrace.HeadraceError, match="was aborted"):
        writer.close()
    assert list(tmp_path.iterdir()) == []
