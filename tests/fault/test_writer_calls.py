"""Every system call of every writer fails, is cut short, or ends the process, in turn.

A reader finds the old or the new state, and the new one once the writer has returned. A
writer that raised has left no file; after a killed one the next succeeds, and leaves the
same files as an undisturbed one. Logs are in `test_log_calls`, pipelines in
`test_pipeline_calls`.
"""

import re
import warnings
from functools import partial
from itertools import count
from typing import NamedTuple

import pytest

import headrace
from headrace.errors import (
    HeadraceError,
    HeadraceWarning,
)
from headrace.kernel.rows import IndexBuild, RowIndex
from headrace.store.files import atomic
from headrace.store.files.atomic import replace_file, write_atomically
from headrace.store.files.opened import Keeping, OpenedFile
from headrace.store.rows import checkpoints
from headrace.store.shards.local_set import LocalSet
from headrace.store.shards.vacuum.local import remove_orphans
from tests.fault.failing_system import ENDS, FailingSystem, can_have, dying
from tests.fault.power_log import scratch
from tests.reference import shard_jobs
from tests.reference.slow_graph import edges_in, expand
from tests.reference.slow_keys import slow_get

RECORDS = [{"from": i % 3, "to": i % 4, "noise": "x" * 30} for i in range(20)]
MORE = [{"from": 9, "to": 1, "noise": "y" * 30}]
ROW = b'{"from":%d,"pred":"p","to":%d}\n'


class Writer(NamedTuple):
    """Functions that prepare a directory, write it, and read its state, which must be whole."""

    begin: object
    write: object
    read: object
    clean: object = lambda _directory: None
    """Removes leftovers of killed writers that later writers leave for a while."""
    stays: tuple = ()
    """Files that a failed writer may leave."""
    left: str = ""
    """The text about the old state in the error of a failed writer."""


# Files


def write_pieces(directory):
    write_atomically(directory / "file", [b"new" * 5000, b"er" * 5000])


def read_file(directory):
    return (directory / "file").read_bytes()


def replace(directory, *, keep_backup):
    finished = directory / "finished"
    if not finished.exists():
        finished.write_bytes(b"new")
    replace_file(finished, directory / "file", keep_backup=keep_backup)


def read_replaced(directory):
    backup = directory / "file.bak"
    assert not backup.exists() or backup.read_bytes() in (b"old", b"new")
    found = read_file(directory)
    assert found == b"new" or (directory / "finished").read_bytes() == b"new"
    return found


def begin_file(directory):
    (directory / "file").write_bytes(b"old")


def begin_replacement(directory):
    begin_file(directory)
    (directory / "finished").write_bytes(b"new")


def write_lines(directory, records=RECORDS):
    path = directory / "rows.jsonl.gz"
    with headrace.LineWriter(path, block_bytes=400) as writer:
        writer.write_many(records)


def read_lines(directory):
    return list(headrace.open(directory / "rows.jsonl.gz"))


def keep_row_index(directory):
    """Count the rows of a file, and keep its row index beside it, if possible."""
    (source,) = headrace.open(directory / "rows.jsonl").sources
    opened = OpenedFile(source)
    index = RowIndex(10)
    build = IndexBuild(opened.data, source.codec, size=source.size, index=index)
    while build.advance(1 << 20):
        pass
    checkpoints.save(source, opened, index, Keeping())


def begin_rows(directory, rows=300):
    (directory / "rows.jsonl").write_bytes(
        b"".join(ROW % (n % 3, n % 4) for n in range(rows))
    )


def read_row_index(directory):
    """Return nothing: a row index may be kept or not, but a kept one must be right."""
    with headrace.open(directory / "rows.jsonl") as rows:
        assert (len(rows), rows[299]["from"], rows[42]["to"]) == (300, 2, 2)


FILES = {
    "an atomic file": Writer(begin_file, write_pieces, read_file),
    "a file that replaces": Writer(
        begin_replacement, partial(replace, keep_backup=False), read_replaced
    ),
    "a file that keeps a backup": Writer(
        begin_replacement,
        partial(replace, keep_backup=True),
        read_replaced,
        stays=("file.bak",),
    ),
    "a row index": Writer(begin_rows, keep_row_index, read_row_index),
    "a file of lines": Writer(
        partial(write_lines, records=MORE),
        write_lines,
        read_lines,
        left="the old file is unchanged",
    ),
}


# Sets


def write_set(directory, records=RECORDS, **options):
    with headrace.ShardWriter(
        directory / "set", max_records=9, block_bytes=400, **options
    ) as writer:
        writer.write_many(records)


def read_set(directory):
    names = LocalSet(directory / "set", "rows")
    if not names.directory.exists() or names.newest() is None:
        return None
    shards = headrace.ShardSet(directory / "set")
    rows = list(headrace.ShardSet(directory / "set").records())
    assert len(rows) == shards.metadata.total_records
    return sorted(map(str, rows))


def begin_set(directory):
    write_set(directory, MORE, codec="none")


def begin_generations(directory):
    for _ in range(3):
        write_set(directory)


def vacuum(directory):
    headrace.ShardSet(directory / "set").vacuum(grace=0)


def run_job(directory, records=RECORDS, **options):
    job = shard_jobs.begin(directory / "set", codec="none", **options)
    try:
        tasks = enumerate([records[:2], records[2:5]])
        job.commit([shard_jobs.attempt(job, *task) for task in tasks])
    finally:
        job.close()


def remove_staged(directory):
    if (directory / "set").exists():
        remove_orphans(LocalSet(directory / "set", "rows"), age=0)


def nothing(_directory):
    pass


SETS = {
    "a new set": Writer(
        nothing, write_set, read_set, left="nothing of the new set is left"
    ),
    "a set that replaces": Writer(
        begin_set, write_set, read_set, left="the set that was there is intact"
    ),
    "a partitioned set": Writer(
        begin_set, partial(write_set, partition_by="from"), read_set
    ),
    "vacuum": Writer(begin_generations, vacuum, read_set),
    "a job that replaces": Writer(
        begin_set, partial(run_job, overwrite=True), read_set, remove_staged
    ),
}


# Indexes


def grow(directory, rows=7):
    with (directory / "rows.jsonl").open("ab") as file:
        file.write(b"".join(ROW % (n % 5, n % 2) for n in range(rows)))


def build_key(directory):
    headrace.KeyIndex.build(directory / "rows.jsonl", "from", threads=1)


def update_key(directory):
    headrace.KeyIndex.update(directory / "rows.jsonl", "from", threads=1)


def compact_key(directory):
    headrace.KeyIndex.compact(directory / "rows.jsonl", "from")


def read_key(directory):
    """Return the state of the index, whose answers must equal those of a scan."""
    path = directory / "rows.jsonl"
    return _read_keys(path, path.read_bytes())


def _read_keys(path, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        with headrace.KeyIndex.open(path, "from") as index:
            for key in ("0", "4", "99"):
                answers = index.answers([index.request_of_json(key)])
                found = [line for _, rows in answers for line in rows.contents()]
                assert found == slow_get(data, ["from"], [key], typed=True), key
            if not index.usable:
                return None
    checked = headrace.KeyIndex.check(path, "from")
    assert checked["valid"], checked
    stats = headrace.KeyIndex.stats(path, "from")
    return stats["records"], "delta" in stats


def build_graph(directory):
    path = directory / "rows.jsonl"
    headrace.GraphIndex.build(path, "from", "pred", "to", incoming=True, threads=1)


def update_graph(directory):
    headrace.GraphIndex.update(directory / "rows.jsonl", threads=1)


def compact_graph(directory):
    headrace.GraphIndex.compact(directory / "rows.jsonl")


def read_graph(directory):
    path = directory / "rows.jsonl"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadraceWarning)
        with headrace.GraphIndex.open(path) as graph:
            edges = list(edges_in(path.read_bytes()))
            options = {"hops": 2, "direction": "out", "emit": "edges"}
            found = [tuple(step) for step in graph.expand("0", **options)]
            assert found == expand(edges, ["0"], **options)[0]
    if not path.with_name("rows.jsonl.jnx.graph").exists():
        return None
    checked = headrace.GraphIndex.check(path)
    assert checked["valid"], checked
    stats = headrace.GraphIndex.stats(path)
    return stats["edges"], "delta" in stats


def begun(*steps):
    def begin(directory):
        for step in steps:
            step(directory)

    return begin


def begin_old_key(directory):
    begin_rows(directory, 40)
    build_key(directory)
    begin_rows(directory)


INDEXES = {
    "a key index": Writer(begin_rows, build_key, read_key),
    "a key index that replaces": Writer(begin_old_key, build_key, read_key),
    "the delta of a key index": Writer(
        begun(begin_rows, build_key, grow), update_key, read_key
    ),
    "a delta that replaces one": Writer(
        begun(begin_rows, build_key, grow, update_key, grow),
        update_key,
        read_key,
    ),
    "a key index of base and delta": Writer(
        begun(begin_rows, build_key, grow, update_key), compact_key, read_key
    ),
    "a graph index": Writer(begin_rows, build_graph, read_graph),
    "the delta of a graph index": Writer(
        begun(begin_rows, build_graph, grow), update_graph, read_graph
    ),
    "a graph index of base and delta": Writer(
        begun(begin_rows, build_graph, grow, update_graph), compact_graph, read_graph
    ),
}


# Indexes of sets


def build_set_index(directory):
    headrace.KeyIndex.build(directory / "set", "from", threads=1)


def update_set_index(directory):
    headrace.KeyIndex.update(directory / "set", "from", threads=1)


def compact_set_index(directory):
    headrace.KeyIndex.compact(directory / "set", "from")


def append_rows(directory):
    lines = [ROW.strip() % (4, n) for n in range(3)]
    job = shard_jobs.begin(directory / "set", codec="zstd")
    job.commit([shard_jobs.attempt_lines(job, 0, lines)])
    job.close()


def read_set_index(directory):
    rows = headrace.open(directory / "set").raw
    data = b"".join(row + b"\n" for row in rows)
    return _read_keys(directory / "set", data)


SET_INDEXES = {
    "an index of a set": Writer(write_set, build_set_index, read_set_index),
    "an index of a set that replaces": Writer(
        begun(begin_set, build_set_index, write_set), build_set_index, read_set_index
    ),
    "a layer of an index of a set": Writer(
        begun(write_set, build_set_index, append_rows), update_set_index, read_set_index
    ),
    "an index of a set of two layers": Writer(
        begun(write_set, build_set_index, append_rows, update_set_index),
        compact_set_index,
        read_set_index,
    ),
}

# Consumers of logs


def begin_consumer(directory):
    with headrace.LogWriter(directory / "log") as writer:
        writer.append_many(range(5))
    headrace.Log(directory / "log").set_consumer("c", 1)


def move_consumer(directory):
    headrace.Log(directory / "log").set_consumer("c", 3)


def read_consumer(directory):
    (state,) = headrace.Log(directory / "log").consumers()
    return state.line


CONSUMERS = {
    "a checkpoint of a consumer": Writer(begin_consumer, move_consumer, read_consumer)
}

WRITERS = FILES | SETS | INDEXES | SET_INDEXES | CONSUMERS


def names(directory):
    """Return the names below a directory, without numbers."""
    return {
        re.sub(r"\d+", "0", path.relative_to(directory).as_posix())
        for path in directory.rglob("*")
    }


def everything(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def in_directory(root, name, begin):
    directory = root / name
    directory.mkdir()
    begin(directory)
    return directory


def refuse_unclear(error, directory):
    """Raise unless an error names its file, and its reason."""
    if not isinstance(error, HeadraceError):
        assert isinstance(error, OSError), repr(error)
        assert str(error.filename).startswith(str(directory)), repr(error)
        assert error.strerror
    assert str(directory) in str(error)


def calls_of(writer, directory):
    """Run a writer without faults; return its calls."""
    system = FailingSystem(0)
    with dying(system):
        writer.write(directory)
    return system.log


@pytest.fixture
def root(monkeypatch):
    """Return a directory in memory: nothing here depends on the disk.

    Temporary files may be removed there as soon as no process holds their locks.
    """
    monkeypatch.setattr(atomic, "_LEFT_SECONDS", 0)
    monkeypatch.setattr(checkpoints, "SMALLEST_KEPT", 0)
    with scratch() as directory:
        yield directory


@pytest.mark.parametrize("fault", ["error", "half", "short", *ENDS])
@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_with_a_fault_at_any_call(root, name, fault):
    writer = WRITERS[name]
    in_peace = in_directory(root, "in peace", writer.begin)
    old = writer.read(in_peace)
    calls = calls_of(writer, in_peace)
    new, once = writer.read(in_peace), names(in_peace)
    writer.write(in_peace)
    twice = names(in_peace)
    failures = 0
    for at in count(1):
        directory = in_directory(root, str(at), writer.begin)
        before = everything(directory)
        system, done = FailingSystem(at, fault), False
        with dying(system):
            try:
                writer.write(directory)
                done = True
            except (HeadraceError, OSError) as error:
                failures += 1
                refuse_unclear(error, directory)
                assert fault not in ENDS
                message = str(error)
        found = writer.read(directory)
        assert found == new or (found == old and not done), (system.log, found)
        if not done and fault not in ENDS and writer.left:
            left = writer.left if found == old else "a power failure may undo it"
            said = (left, "nothing was changed", "cannot be read")
            assert any(each in message for each in said), message
        if not done and fault not in ENDS and found == old:
            left = everything(directory)
            new_files = left.keys() - before.keys() - set(writer.stays)
            assert not new_files, system.log
        writer.clean(directory)
        writer.write(directory)
        assert writer.read(directory) == new
        assert once <= names(directory) <= twice, system.log
        if system.failed is None:
            break
    assert done
    hit = [call for call in calls if can_have(call, fault)]
    assert at == len(hit) + 1
