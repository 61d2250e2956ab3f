"""Index jobs with failures: a complete index, or the old state."""

import os
from dataclasses import replace

import pytest

import headrace
from headrace.engines.index.jobs import Scan, Write
from headrace.engines.index.kinds import GraphBuild, KeyBuild
from headrace.errors import (
    DuplicateKeyError,
    KeyIndexLockedError,
    SourceChangedError,
    StrictRowError,
    UnaccountedRowsError,
    UnwritableError,
    UsageError,
)
from headrace.kernel.graph import EdgeFields
from headrace.store.index.stored_index import writing
from tests.reference.index_jobs import build_by_tasks, done_twice, leftovers

ROWS = b"".join(b'{"k":%d,"t":%d}\n' % (n, n % 7) for n in range(500))
KEYS = KeyBuild(("k",))
EDGES = GraphBuild(EdgeFields("k", None, "t"))
EACH = pytest.mark.parametrize("options", [KEYS, EDGES], ids=["keys", "edges"])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(ROWS)
    return path


def names(path):
    return sorted(each.name for each in path.parent.iterdir())


def before(strike, kind=Scan):
    """Return a runner of tasks that calls `strike` before the first task of a kind."""
    struck = []

    def run_each(do, count, tell=None):
        (first, *_), *_ = do.tasks
        if isinstance(first, kind) and not struck:
            struck.append(first)
            strike(first)
        return done_twice(do, count, tell)

    return run_each


@EACH
def test_a_stopped_job_leaves_the_old_index(path, options):
    (old,) = build_by_tasks([path], options, 1000)
    content = old.path.read_bytes()

    def stop(_task):
        raise KeyboardInterrupt

    for kind in (Scan, Write):
        with pytest.raises(KeyboardInterrupt):
            build_by_tasks([path], options, 1000, before(stop, kind))
        assert names(path) == ["rows.jsonl", "rows.jsonl.jnx"]
        assert old.path.read_bytes() == content


@EACH
def test_leftovers_of_a_killed_driver_are_removed_by_the_next_build(path, options):
    def kill(_task):
        os._exit(9)

    child = os.fork()
    if child == 0:
        build_by_tasks([path], options, 1000, before(kill, Write))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len(leftovers(path.parent)) == 1
    assert len(list((path.parent / leftovers(path.parent)[0]).iterdir())) > 2
    (built,) = build_by_tasks([path], options, 1000)
    assert names(path) == ["rows.jsonl", "rows.jsonl.jnx"]
    assert built.lines.records == 500


def test_a_foreign_directory_with_the_name_of_a_leftover_stays(path):
    strange = path.with_name(".rows.jsonl.jnx.tmp-notes")
    strange.mkdir()
    build_by_tasks([path], KEYS, 1000)
    assert strange.is_dir()


def test_a_task_of_a_dead_driver_cannot_write(path, tmp_path):
    seen = []

    def stop(task):
        seen.append(task)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_by_tasks([path], KEYS, 1000, before(stop))
    with pytest.raises(FileNotFoundError):
        seen[0].do()
    assert names(path) == ["rows.jsonl"]


def test_the_second_of_two_concurrent_builds_is_refused(path):
    with (
        writing(path.with_name("rows.jsonl.jnx")),
        pytest.raises(KeyIndexLockedError),
    ):
        build_by_tasks([path], KEYS, 1000)
    assert names(path) == ["rows.jsonl"]


@EACH
def test_a_file_that_changes_during_a_build_is_named(path, options):
    def change(_task):
        path.write_bytes(ROWS.replace(b"4", b"5"))

    for kind in (Scan, Write):
        path.write_bytes(ROWS)
        with pytest.raises(SourceChangedError, match=str(path)):
            build_by_tasks([path], options, 1000, before(change, kind))
        assert names(path) == ["rows.jsonl"]


def test_a_file_that_grows_is_indexed_up_to_its_first_size(path):
    def grow(_task):
        with path.open("ab") as file:
            file.write(b'{"k":"new"}\n')

    (built,) = build_by_tasks([path], KEYS, 1000, before(grow))
    assert built.lines.records == 500
    with pytest.warns(headrace.errors.HeadraceWarning):
        assert headrace.KeyIndex.open(path, "k").get("new") == [{"k": "new"}]


def test_a_run_that_differs_from_the_one_saved_is_not_merged(path):
    def damage(write):
        runs = write.staging / write.runs[0].name
        runs.write_bytes(runs.read_bytes()[:-1] + b"?")

    with pytest.raises(UnwritableError, match="the same on every machine"):
        build_by_tasks([path], KEYS, 1000, before(damage, Write))
    assert names(path) == ["rows.jsonl"]


def test_rows_lost_between_tasks_are_an_error(path):
    def lose(do, count, tell=None):
        (first, *_), *_ = do.tasks
        if isinstance(first, Scan):
            return done_twice(do, count, tell)
        return [[replace(first, runs=first.runs[1:]).do()]]

    with pytest.raises(UnaccountedRowsError, match="500 rows were found"):
        build_by_tasks([path], KEYS, 1000, lose)
    assert names(path) == ["rows.jsonl"]


def test_files_before_one_that_fails_have_their_indexes(tmp_path):
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for path in paths:
        path.write_bytes(ROWS)
    paths[1].write_bytes(ROWS + b'{"k":7}\n')
    with pytest.raises(DuplicateKeyError, match="lines 8 and 501") as raised:
        build_by_tasks(paths, replace(KEYS, unique=True), 1000)
    assert raised.value.path == str(paths[1])
    paths[1].write_bytes(ROWS + b"{bad\n")
    with pytest.raises(StrictRowError, match="line 501"):
        build_by_tasks(paths, replace(KEYS, strict=True), 1000)
    assert [path.name for path in sorted(tmp_path.glob("*.jnx"))] == ["a.jsonl.jnx"]


def test_a_file_has_few_runs_for_any_fragment_size(path):
    counted = []

    def count(write):
        counted.append(len(write.runs))

    build_by_tasks([path], EDGES, 10, before(count, Write))
    assert 64 < counted[0] <= 128


def test_several_small_files_share_a_task(tmp_path):
    paths = [tmp_path / f"{name:03}.jsonl" for name in range(40)]
    for path in paths:
        path.write_bytes(ROWS[:100])
    counts = []

    def run_each(do, count, tell=None):
        counts.append(count)
        return done_twice(do, count, tell)

    assert len(build_by_tasks(paths, KEYS, 1000, run_each)) == 40
    assert counts[0] == 4


def test_an_option_of_one_engine_is_refused_by_the_other(path):
    with pytest.raises(UsageError, match="master is for engine='spark'"):
        headrace.KeyIndex.build(path, "k", master="local[1]")
    with pytest.raises(UsageError, match="threads is for engine='local'"):
        headrace.KeyIndex.build(path, "k", engine="spark", threads=2)
    with pytest.raises(UsageError, match="at least a byte"):
        headrace.KeyIndex.build(path, "k", engine="spark", partition_bytes=0)
    with pytest.raises(UsageError, match="is one of 'local', 'spark'"):
        headrace.GraphIndex.build(path, "k", None, "t", engine="dask")
    assert names(path) == ["rows.jsonl"]
