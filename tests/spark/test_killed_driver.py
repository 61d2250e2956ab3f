"""A killed driver of a cluster: uncommitted rows do not appear, and all work can continue."""

import os
import sys

import pytest

import headrace
from headrace.api.shards.check import check_shards
from headrace.store.shards.job.object_store import ORPHAN_AGE
from tests.reference.index_jobs import leftovers
from tests.reference.shard_sets import write
from tests.spark.killed_driver import BATCH, ROWS, SCANS, THINGS, kill_driver
from tests.spark.stream_data import append_log
from tests.stores.shelf import shelf, stored

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]

OLD, NEW = list(range(-3, 0)), list(range(ROWS))
STREAMED = 350


def prepare(directory, kind):
    """Create the inputs of the driver."""
    lines = [f'{{"k": {n % 97}, "n": {n * 7 % 97}}}' for n in range(ROWS)]
    if kind in ("append", "overwrite"):
        with headrace.ShardWriter(directory, name="rows") as writer:
            for row in OLD:
                writer.write({"id": row})
    elif kind == "store":
        prepare(directory.with_name(f"{directory.name}.local"), "append")
        local = headrace.ShardSet(directory.with_name(f"{directory.name}.local"))
        local.publish(shelf(directory))
    elif kind == "stream":
        append_log(f"{directory}.log", range(STREAMED))
    elif kind == "set":
        write(directory, lines, most=100)
        headrace.KeyIndex.build(directory, "k")
    else:
        directory.mkdir()
        (directory / "rows.jsonl").write_text("".join(f"{line}\n" for line in lines))
    if kind == "keys":
        index = headrace.KeyIndex.build(directory / "rows.jsonl", "k").path
        index.write_bytes(index.read_bytes()[:-1])


@pytest.fixture(scope="module")
def killed(master, tmp_path_factory):
    """Return the directory of a driver that was killed."""
    directory = tmp_path_factory.mktemp("killed")
    for name in (*THINGS, *SCANS):
        prepare(directory / name, name.partition("-")[0])
    kill_driver(master, directory)
    return directory


def ids(directory):
    assert not any(found.faults for found in check_shards(headrace.ShardSet(directory)))
    return [row["id"] for row in headrace.open(directory)]


def files(directory):
    return {
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file()
    }


def save(context, directory, mode):
    rows = context.spark.range(0, ROWS, 1, 4).write.format("headrace").mode(mode)
    rows.option("jobId", "one").save(directory)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("append-before", OLD),
        ("append-during", OLD),
        ("append-after", OLD + NEW),
        ("overwrite-during", OLD),
    ],
)
def test_a_killed_write_can_be_repeated(driver, killed, name, seen):
    directory, mode = killed / name, name.partition("-")[0]
    assert ids(directory) == seen
    # Its leftovers are where no reader looks.
    (staging,) = directory.glob(".rows.staging-*")
    driver(save, directory, mode)
    assert ids(directory) == (OLD + NEW if mode == "append" else NEW)
    for path in (*staging.rglob("*"), staging):
        os.utime(path, (0, 0))
    headrace.ShardSet(directory).vacuum(grace=0)
    parts = headrace.ShardSet(directory).metadata.parts
    named = {name for part in parts for name in (part.path, part.ckpt)}
    assert files(directory) == named | {"rows.meta-00000002.json"}


@pytest.mark.parametrize(
    ("name", "seen"), [("store-during", OLD), ("store-after", OLD + NEW)]
)
def test_a_killed_write_to_an_object_store_can_be_repeated(driver, killed, name, seen):
    directory, url = killed / name, shelf(killed / name)
    assert ids(url) == seen
    driver(save, url, "append")
    assert ids(url) == OLD + NEW
    shards = headrace.ShardSet(url)
    named = {f"rows.meta-0000000{n}.json" for n in (1, 2)}
    named |= {part.path for part in shards.metadata.parts}
    left = stored(directory) - named
    assert bool(left) == (name == "store-during")
    shards.vacuum()
    assert stored(directory) == named | left
    for file in stored(directory) - {"rows.meta-00000002.json"}:
        old = (directory / file).stat().st_mtime - ORPHAN_AGE
        os.utime(directory / file, (old, old))
    shards.vacuum()
    assert stored(directory) == named


def go_on(context, directory):
    """Run a query to the current end of its input."""
    lines = context.spark.readStream.format("headrace").schema("_raw binary")
    writer = lines.load(f"{directory}.log").writeStream.format("headrace")
    writer = writer.option("checkpointLocation", f"{directory}.checkpoint")
    writer.trigger(availableNow=True).start(directory).awaitTermination()


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("stream-before", BATCH),
        ("stream-during", BATCH),
        # The batch runs again although it was published: Spark had not recorded it.
        ("stream-after", 2 * BATCH),
    ],
)
def test_a_killed_batch_is_written_once(driver, killed, name, seen):
    directory = killed / name
    commits = killed / f"{name}.checkpoint/commits"
    assert {path.name for path in commits.iterdir()} == {"0", ".0.crc"}
    assert ids(directory) == list(range(seen))
    driver(go_on, directory)
    assert ids(directory) == list(range(STREAMED))
    # The next batch removed the staged parts of the killed one.
    assert not list(directory.glob(".*"))


def build(context, path):
    options = {"engine": "spark", "master": context.master, "partition_bytes": 2000}
    headrace.KeyIndex.build(path, "k", **options)


@pytest.mark.parametrize("name", ["keys-take", "keys-publish"])
def test_a_killed_index_build_leaves_the_old_index(driver, killed, name):
    path = killed / name / "rows.jsonl"
    index = path.with_name("rows.jsonl.jnx")
    before = index.read_bytes()
    # The files of its tasks are where no reader looks.
    assert len(leftovers(path.parent)) == 1
    driver(build, path)
    made = index.read_bytes()
    assert leftovers(path.parent) == []
    headrace.KeyIndex.build(path, "k")
    assert index.read_bytes() == made
    # The old index, which lacked a byte, was not touched.
    assert before == made[:-1]


def segments(index):
    return sorted(path.read_bytes() for path in index.glob("*.jnx"))


@pytest.mark.parametrize("name", ["set-publish", "set-scan"])
def test_a_killed_set_index_build_leaves_the_old_index(driver, killed, name):
    directory, index = killed / name, killed / name / "rows.jnx.k"
    # The old index stays in use.
    assert headrace.KeyIndex.open(directory, "k").is_fresh()
    assert (index / "lock").exists()
    driver(build, directory)
    made, names = segments(index), files(index)
    assert headrace.KeyIndex.open(directory, "k").is_fresh()
    headrace.KeyIndex.build(directory, "k")
    assert segments(index) == made
    assert len(made) == 1
    assert len(names) == 2


def expand(context, path):
    with headrace.GraphIndex.open(
        path, from_field="k", pred_field=None, to_field="n", index=False
    ) as graph:
        tasks = graph.on_spark(context.master, partition_bytes=2000)
        return list(tasks.expand("7", 2))


def test_a_killed_expansion_can_be_repeated(driver, killed):
    path = killed / "graph-scan/rows.jsonl"
    assert files(path.parent) == {path.name}
    with headrace.GraphIndex.open(
        path, from_field="k", pred_field=None, to_field="n", index=False
    ) as graph:
        expected = [list(step) for step in graph.expand("7", 2)]
    assert driver(expand, path) == expected
    assert len(expected) > 2
