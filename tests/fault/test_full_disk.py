"""A disk that is full, or fails, at any call: the old set stays, nothing else is left."""

import errno
import os
import resource
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import headrace
from headrace.engines.index.kinds import GraphBuild, KeyBuild
from headrace.engines.local.graph_build import build as build_graph
from headrace.engines.local.key_build import build
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
        assert "the old file is unchanged" in message
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


def let_files_grow(directory, write, refused):
    """Let files become longer and longer until `write` succeeds.

    Before that it fails because of the file that `refused` names for the longest one allowed,
    and leaves everything as it was.
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
    asked = GraphBuild(EdgeFields("k", None, "to"), memory=memory, threads=1)
    let_files_grow(
        tmp_path, lambda: build_graph(source, index, asked), lambda _size: index
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
    asked = KeyBuild(("k",), version=version, memory=memory, threads=1)
    let_files_grow(tmp_path, lambda: build(source, index, asked), lambda _size: index)
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
        # The lock says who has it.
        end = ".lock" if size == 0 else ".delta" if step == "update" else ""
        return f"{index}{end}"

    let_files_grow(tmp_path, lambda: write(path), refused)
    assert check(path)["valid"]


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
