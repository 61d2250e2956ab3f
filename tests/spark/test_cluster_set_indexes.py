"""A set index built and used on a real cluster: the index of one process, or an error."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import headrace
from headrace.engines.index import set as engine
from headrace.engines.index.kinds import KeyBuild
from headrace.engines.local.index_build import InThreads
from headrace.engines.spark.index.set_segments import ByTasks
from headrace.errors import HeadraceError
from headrace.store.shards.opened_set import open_set
from tests.reference.shard_sets import write
from tests.spark.processes import until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]

TASK_BYTES = 2000
ROWS = 600


@pytest.fixture
def directory(tmp_path):
    """Write a set of six parts."""
    lines = [f'{{"k": {n % 97}, "n": {n}}}' for n in range(ROWS)]
    write(tmp_path, lines, most=100, block_bytes=200)
    return tmp_path


def make(directory, make_segments):
    """Build the index, of several segments."""
    shards = headrace.ShardSet(directory)
    path = shards.directory / "rows.jnx.k"
    options = KeyBuild(("k",), fragment_bytes=TASK_BYTES)
    engine.build(open_set(shards), path, options, make_segments, 100)


def build(context, directory):
    """Build the index by tasks; return the error."""
    try:
        make(directory, ByTasks(context.spark, TASK_BYTES))
    except HeadraceError as raised:
        return f"{type(raised).__name__}: {raised}"


def build_while(context, directory, order):
    context.sabotage.give(order)
    return build(context, directory), context.sabotage.done()


def build_two(context, directory):
    """Begin a build while another one runs."""
    context.sabotage.give("wait")
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(build, context, directory)
        until(context.sabotage.done)
        second = build(context, directory)
        context.sabotage.give("nothing")
        return first.result(), second


def read(context, directory, order="nothing"):
    """Read rows by keys; return their numbers, and the error."""
    context.sabotage.give(order)
    reader = context.spark.read.format("headrace").schema("n long, k long")
    reader = reader.option("keys", "[7, 96]").option("keyField", "k")
    try:
        frame = reader.option("maxPartitionBytes", 100).load(str(directory))
        return sorted(row.n for row in frame.collect()), None
    except Exception as raised:  # noqa: BLE001, Spark has many
        return None, str(raised)


def content(directory):
    index = directory / "rows.jnx.k"
    return {each.name: each.read_bytes() for each in index.iterdir()}


def files_of_index(directory):
    """Return the files of the index, without those of unfinished builds.

    A task may outlive its job and leave files beside the index; the next build removes them.
    """
    if not (directory / "rows.jnx.k").exists():
        return {}
    found = content(directory)
    return {name: found[name] for name in found if name[0] != "."}


@pytest.fixture
def expected(directory):
    """Return the files of an index that one process builds."""
    make(directory, InThreads())
    found = content(directory)
    shutil.rmtree(directory / "rows.jnx.k")
    return found


@pytest.mark.parametrize(
    "order",
    ["nothing", "executor", "executor at segment", "worker", "worker at segment"],
)
def test_an_index_is_whole_in_spite_of_faults(driver, directory, expected, order):
    error, done = driver(build_while, directory, order)
    assert (error, done) == (None, order != "nothing")
    assert content(directory) == expected


def test_a_task_that_always_fails_leaves_the_old_index(driver, directory, expected):
    for order in ("always", "always at segment"):
        error, done = driver(build_while, directory, order)
        assert "SparkFailedError" in error
        assert "attempt 3 fails" in error
        assert done == 4
        assert not files_of_index(directory)
    assert driver(build, directory) is None
    driver(build_while, directory, "always at segment")
    assert files_of_index(directory) == expected
    assert driver(build, directory) is None
    assert not [name for name in content(directory) if name[0] == "."]


def test_the_second_of_two_builds_is_refused(driver, directory, expected):
    first, second = driver(build_two, directory)
    assert first is None
    assert second.startswith("KeyIndexLockedError: ")
    assert content(directory) == expected


def test_a_part_that_was_removed_by_hand(driver, directory):
    assert driver(build, directory) is None
    found, error = driver(read, directory)
    assert (found, error) == ([n for n in range(ROWS) if n % 97 in (7, 96)], None)
    before = content(directory)
    part = headrace.ShardSet(directory).metadata.parts[1].path
    (directory / part).unlink()
    for said in (driver(build, directory), driver(read, directory)[1]):
        assert part in said
        assert "it is missing" in said
    assert content(directory) == before


def test_a_part_that_is_removed_by_hand_while_tasks_run(driver, directory, expected):
    error, done = driver(build_while, directory, "remove")
    assert done
    assert "no such file" in error
    assert not (directory / "rows.jnx.k").exists()


def test_a_part_that_is_removed_between_plan_and_task(driver, directory):
    assert driver(build, directory) is None
    found, error = driver(read, directory, "remove")
    assert found is None
    assert "no such file" in error
