"""The sink and object stores: each row once, in spite of faults and concurrent jobs."""

import shutil
import threading

import pytest

import headrace
from headrace.api.shards.check import check_shards
from tests.spark.stream_data import append_log
from tests.spark.test_sink import every_attempt_fails, failing, first_attempt_fails
from tests.stores.shelf import shelf, stored

pytestmark = pytest.mark.spark


@pytest.fixture
def bucket(tmp_path):
    return tmp_path / "bucket"


@pytest.fixture
def url(bucket):
    return shelf(bucket)


def save(frame, url, mode="append", source="headrace", **options):
    frame.write.format(source).mode(mode).options(**options).save(str(url))


def ids(url):
    return [row["id"] for row in headrace.open(url)]


def is_sound(url, bucket):
    """Whether a set matches its metadata, without other parts."""
    shards = headrace.ShardSet(url)
    named = {part.path for part in shards.metadata.parts}
    there = {name for name in stored(bucket) if ".meta-" not in name}
    return named == there and not any(each.faults for each in check_shards(shards))


@pytest.mark.parametrize("options", [{}, {"codec": "gzip", "partitionBy": "even"}])
def test_a_set_in_a_store_equals_one_on_a_file_system(spark, load, tmp_path, url, bucket, options):  # fmt: skip
    frame = spark.range(0, 1000, 1, 4).selectExpr("id", "id % 2 = 0 AS even")
    for place in (tmp_path / "here", f"{url}/"):
        save(frame, place, maxRecords="100", **options)
    here, there = headrace.ShardSet(tmp_path / "here"), headrace.ShardSet(url)
    contents = [
        [(root / part.path).read_bytes() for part in shards.metadata.parts]
        for root, shards in ((tmp_path / "here", here), (bucket, there))
    ]
    assert contents[0] == contents[1]
    assert len(contents[0]) >= 12
    assert is_sound(url, bucket)
    read = [load(place, "id long").collect() for place in (tmp_path / "here", url)]
    assert sorted(read[0]) == sorted(read[1])
    assert sorted(row.id for row in read[1]) == list(range(1000))


def test_append_and_overwrite(spark, url, bucket):
    save(spark.range(0, 3, 1, 1), url)
    save(spark.range(3, 5, 1, 1), url)
    assert ids(url) == [0, 1, 2, 3, 4]
    save(spark.range(7, 9, 1, 1), url, "overwrite")
    assert ids(url) == [7, 8]
    # Readers of the previous generation may continue.
    assert ids(f"{url}/rows.meta-00000002.json") == [0, 1, 2, 3, 4]


def test_a_task_that_fails_once_is_written_once(spark, url, bucket):
    spark.dataSource.register(failing("remote-once", before=first_attempt_fails))
    save(spark.range(0, 1000, 1, 4), url, source="remote-once", maxRecords="100")
    assert ids(url) == list(range(1000))
    assert is_sound(url, bucket)


def test_a_job_that_fails_leaves_the_set_as_it_was(spark, url, bucket):
    spark.dataSource.register(failing("remote-always", before=every_attempt_fails))
    save(spark.range(3), url)
    before = stored(bucket)
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="every attempt fails"):
            save(spark.range(0, 100, 1, 3), url, mode, source="remote-always")
    # Tasks that ran when the job failed may have left parts, which vacuum removes.
    assert before <= stored(bucket)
    assert {name for name in stored(bucket) if ".meta-" in name} < before
    assert sorted(ids(url)) == [0, 1, 2]


def test_a_driver_that_fails_when_it_has_published(spark, url, bucket):
    spark.dataSource.register(failing("remote-after", commit="after"))
    with pytest.raises(Exception, match="fails when it has published"):
        save(spark.range(9), url, source="remote-after", jobId="a")
    assert is_sound(url, bucket)
    save(spark.range(9), url, jobId="a")
    assert sorted(ids(url)) == list(range(9))
    assert headrace.ShardSet(url).metadata.generation == 1


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_two_jobs_at_once(spark, url, bucket, mode):
    def several(first):
        spark.createDataFrame([(1,)], "a int")  # the session is that of this thread
        for n in (first, first + 100):
            save(spark.range(n, n + 100, 1, 2), url, mode)

    threads = [threading.Thread(target=several, args=(n,)) for n in (0, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = ids(url)
    if mode == "append":
        assert sorted(found) == [*range(200), *range(1000, 1200)]
        assert is_sound(url, bucket)
    else:
        assert found in ([*range(100, 200)], [*range(1100, 1200)])
    assert headrace.ShardSet(url).metadata.generation == 4


def test_a_batch_of_a_stream_is_written_once(spark, tmp_path, url, bucket):
    log, checkpoint = tmp_path / "log", tmp_path / "checkpoint"

    def run():
        query = (
            spark.readStream.format("headrace")
            .schema("_raw binary")
            .load(str(log))
            .writeStream.format("headrace")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start(url)
        )
        query.awaitTermination()

    for first in (0, 50):
        append_log(log, range(first, first + 50))
        run()
    before = stored(bucket)
    # As if the driver had been killed between the commit and Spark's note of it.
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    run()
    assert stored(bucket) == before
    append_log(log, range(100, 110))
    run()
    assert ids(url) == list(range(110))
    assert is_sound(url, bucket)
    shutil.rmtree(checkpoint)
    with pytest.raises(
        Exception, match="continue with the checkpoint directory of that"
    ):
        run()
    assert is_sound(url, bucket)


def test_an_unknown_store_is_refused_before_tasks_run(spark):
    with pytest.raises(Exception, match="Protocol not known: nowhere"):
        save(spark.range(3), "nowhere://bucket/set")
