"""Sets in object stores: published whole, read as sets, by one publisher or several."""

import json

import pytest

import headrace
from headrace.errors import (
    BadSetError,
    SetLockedError,
    SourceNotFoundError,
    UnwritableError,
    UsageError,
)
from headrace.store.files.object_store import ObjectDirectory
from headrace.store.shards.job import object_store
from headrace.store.shards.job.object_store import RemoteGeneration

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store():
    """An object store in this process; returns its content."""
    memory = fsspec.filesystem("memory")
    if memory.exists("/bucket"):
        memory.rm("/bucket", recursive=True)
    return memory


URL = "memory://bucket/events/"


def write(directory, first, last, **options):
    options = {"max_records": 40} | options
    with headrace.ShardWriter(directory, **options) as writer:
        for n in range(first, last):
            writer.write({"id": n, "even": n % 2 == 0})
    return headrace.ShardSet(directory)


def ids(url=URL):
    return [row["id"] for row in headrace.open(url)]


def files(store):
    """Return the files of the store, without those that probe its features."""
    found = (path.removeprefix("/bucket/events/") for path in store.find("/bucket"))
    return sorted(path for path in found if path != ".rows.probe")


@pytest.mark.parametrize("codec", ["zstd", "gzip", "none"])
def test_a_published_set_is_read(store, tmp_path, codec):
    shards = write(tmp_path, 0, 100, codec=codec)
    meta = shards.publish(URL)
    assert meta == "memory://bucket/events/rows.meta-00000001.json"
    assert ids() == ids(meta) == list(range(100))
    dataset = headrace.open(URL)
    assert dataset[77] == {"id": 77, "even": False}
    assert dataset.query("$.rows().sum(id)").to_list() == [4950]
    parts = [part.path for part in headrace.ShardSet(URL).metadata.parts]
    assert len(parts) == 3
    assert files(store) == sorted(["rows.meta-00000001.json", *parts])
    # The bytes of the parts are the same.
    for part, path in zip(shards.metadata.parts, parts, strict=True):
        assert store.cat_file(f"/bucket/events/{path}") == (tmp_path / part.path).read_bytes()  # fmt: skip


def test_partitions_keep_their_directories(store, tmp_path):
    write(tmp_path, 0, 100, partition_by="even").publish(URL)
    assert sorted(ids()) == list(range(100))
    inside = {path.split("/")[1] for path in files(store) if "part-" in path}
    assert inside == {"even=true", "even=false"}


def test_the_next_generation_takes_the_place_of_the_last(store, tmp_path):
    old = write(tmp_path, 0, 50).publish(URL)
    write(tmp_path, 50, 150).publish(URL)
    assert ids() == list(range(50, 150))
    assert ids(old) == list(range(50))


def test_parts_of_several_generations_are_published_together(store, tmp_path):
    pytest.importorskip("pyspark")
    from headrace.engines.spark.sink.options import begin_job, write_options

    for first in (0, 10):
        options = write_options({"path": str(tmp_path / "set")})
        job = begin_job(options, overwrite=False, validate=True)
        with job.attempt(0) as rows:
            rows.write_lines(b"".join(b'{"id": %d}\n' % n for n in range(first, first + 10)))  # fmt: skip
            job.commit([rows.close()])
        job.close()
    shards = headrace.ShardSet(tmp_path / "set")
    assert len({part.path.split("/")[0] for part in shards.metadata.parts}) == 2
    shards.publish(URL)
    assert ids() == list(range(20))


def test_nothing_is_seen_before_the_commit(store, tmp_path, monkeypatch):
    write(tmp_path, 0, 50).publish(URL)
    before = files(store)
    shards = write(tmp_path, 50, 150)
    seen = []
    upload = ObjectDirectory.upload

    def failing(self, source, name, size):
        upload(self, source, name, size)
        seen.append(ids())
        if len(seen) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(ObjectDirectory, "upload", failing)
    with pytest.raises(KeyboardInterrupt):
        shards.publish(URL)
    assert seen == [list(range(50))] * 2
    assert files(store) == before


def test_the_second_publisher_takes_the_next_generation(store, tmp_path, monkeypatch):
    mine, others = write(tmp_path / "a", 0, 10), write(tmp_path / "b", 10, 20)
    create = ObjectDirectory.create

    def late(self, name, content):
        if ".meta-" in name:
            # Another publisher commits in between.
            monkeypatch.setattr(ObjectDirectory, "create", create)
            assert others.publish(URL).endswith("00000001.json")
        return create(self, name, content)

    monkeypatch.setattr(ObjectDirectory, "create", late)
    assert mine.publish(URL).endswith("00000002.json")
    assert ids() == list(range(10))
    assert ids(f"{URL}rows.meta-00000001.json") == list(range(10, 20))


def test_leftovers_of_a_killed_publisher_are_not_used(store, tmp_path, monkeypatch):
    shards = write(tmp_path, 0, 10)
    with monkeypatch.context() as killed:
        killed.setattr(RemoteGeneration, "commit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            shards.publish(URL)
    (left,) = files(store)
    with pytest.raises(BadSetError, match="no set was ever committed"):
        headrace.open(URL)
    assert shards.publish(URL).endswith("00000001.json")
    assert ids() == list(range(10))
    assert left in files(store)
    assert left != headrace.ShardSet(URL).metadata.parts[0].path


def interrupt(*_arguments):
    raise KeyboardInterrupt


def test_a_store_that_only_overwrites_is_refused(store, tmp_path, monkeypatch):
    def overwrite(self, path, value, mode="overwrite", **_more):
        with self.open(path, "wb") as file:
            file.write(value)

    monkeypatch.setattr(type(store), "pipe_file", overwrite)
    with pytest.raises(UnwritableError, match="cannot create a file only if"):
        write(tmp_path, 0, 10).publish(URL)
    assert files(store) == []


def test_a_publisher_that_always_loses_the_race_is_an_error(
    store, tmp_path, monkeypatch
):
    def lose(*_arguments):
        raise SetLockedError("rows", "another process")

    monkeypatch.setattr(RemoteGeneration, "commit", lose)
    monkeypatch.setattr(object_store, "_TRIES", 3)
    with pytest.raises(SetLockedError, match="many other writers"):
        write(tmp_path, 0, 10).publish(URL)
    assert files(store) == []


def test_parts_that_differ_from_the_metadata_are_refused(store, tmp_path):
    shards = write(tmp_path, 0, 100)
    shards.publish(URL)
    part = f"/bucket/events/{headrace.ShardSet(URL).metadata.parts[1].path}"
    whole = store.cat_file(part)
    store.pipe_file(part, whole[:-1])
    with pytest.raises(BadSetError, match="but the metadata says"):
        headrace.open(URL)
    store.rm_file(part)
    with pytest.raises(BadSetError, match="names it, but it is missing"):
        headrace.open(URL)


def test_damaged_metadata_is_refused_and_incomplete_metadata_is_ignored(
    store, tmp_path
):
    write(tmp_path, 0, 10).publish(URL)
    write(tmp_path, 10, 20).publish(URL)
    newest = "/bucket/events/rows.meta-00000002.json"
    whole = store.cat_file(newest)
    store.pipe_file(newest, whole[: len(whole) // 2])
    assert ids() == list(range(10))
    store.pipe_file(newest, whole.replace(b'"records": 10', b'"records": 11'))
    with pytest.raises(BadSetError, match="checksum"):
        headrace.open(URL)


def test_a_url_without_a_set_is_an_error(store, tmp_path):
    with pytest.raises(SourceNotFoundError):
        headrace.open(URL)
    store.pipe_file("/bucket/events/a.jsonl", json.dumps({"id": 1}).encode())
    assert ids() == [1]
    with pytest.raises(BadSetError, match="no set was ever committed"):
        headrace.ShardSet(URL)
    write(tmp_path / "a", 0, 10, name="one").publish(URL)
    write(tmp_path / "b", 0, 10, name="two").publish(URL)
    with pytest.raises(UsageError, match="several sets: one, two"):
        headrace.open(URL)
