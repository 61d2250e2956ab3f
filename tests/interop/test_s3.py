"""Sets in an S3 store: another program on this machine, used through s3fs."""

import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import headrace
from headrace.errors import UnwritableError
from tests.spark.cluster import LOOPBACK, environment
from tests.spark.processes import until
from tests.spark.stream_data import append_log

s3fs = pytest.importorskip("s3fs")
pytest.importorskip("moto")


def is_listening(port):
    with socket.socket() as connection:
        return connection.connect_ex((LOOPBACK, port)) == 0


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Run a store; return the environment variables of its address for s3fs."""
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    known = {
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{LOOPBACK}:{port}",
    }
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)]
    with (tmp_path_factory.mktemp("store") / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        assert until(lambda: is_listening(port))
        yield known
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def bucket(store, monkeypatch, request):
    """Create a bucket for a test."""
    for name, value in store.items():
        monkeypatch.setenv(name, value)
    name = request.node.name.replace("_", "-")[:60]
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir(name)
    return f"s3://{name}"


def written(directory, rows, **options):
    with headrace.ShardWriter(directory, **options) as writer:
        for row in rows:
            writer.write({"id": row})
    return headrace.ShardSet(directory)


def test_a_published_set_is_read_and_superseded(bucket, tmp_path):
    url = f"{bucket}/events"
    local = written(tmp_path / "a", range(300), max_records=100, codec="gzip")
    assert local.publish(url) == f"{url}/rows.meta-00000001.json"
    assert [row["id"] for row in headrace.open(url)] == list(range(300))
    assert headrace.open(url)[299] == {"id": 299}
    local = written(tmp_path / "b", range(5))
    assert local.publish(url) == f"{url}/rows.meta-00000002.json"
    assert len(headrace.open(f"{url}/")) == 5
    assert headrace.ShardSet(url).vacuum(grace=0) == [1]
    files = s3fs.S3FileSystem().find(url)
    assert len([name for name in files if ".parts-" in name]) == 1


def test_each_concurrent_publisher_has_a_generation(bucket, tmp_path):
    local = written(tmp_path / "a", range(10))
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(local.publish, [f"{bucket}/events"] * 6))
    assert len(set(done)) == 6
    assert headrace.ShardSet(f"{bucket}/events").metadata.generation == 6


def test_a_missing_bucket_is_an_error(bucket, tmp_path):
    with pytest.raises(UnwritableError, match="is there such a bucket"):
        written(tmp_path / "a", range(10)).publish(f"{bucket}-of-others/events")


DRIVER = """
import json, sys
import headrace, headrace.spark

url, log, checkpoint = sys.argv[1:]
spark = headrace.spark.session("local[2,4]")
for first in (0, 500):
    frame = spark.range(first, first + 500, 1, 2)
    for _again in range(2):
        job = frame.write.format("headrace").mode("append").option("jobId", str(first))
        job.option("maxRecords", 100).save(f"{url}/jobs")
lines = spark.readStream.format("headrace").schema("_raw binary")
for _again in range(2):
    stream = lines.option("maxRowsPerTrigger", 40).load(log).writeStream.format("headrace")
    stream = stream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    stream.start(f"{url}/stream").awaitTermination()
frames = [spark.read.format("headrace").schema("id long").load(f"{url}/{name}") for name in ("jobs", "stream")]
print(json.dumps([[row.id for row in frame.collect()] for frame in frames]))
"""


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_jobs_and_streams_of_spark(bucket, tmp_path):
    log = tmp_path / "log"
    append_log(log, range(100))
    command = [sys.executable, "-c", DRIVER, bucket, log, tmp_path / "checkpoint"]
    done = subprocess.run(
        command, env=environment() | os.environ, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    jobs, stream = json.loads(done.stdout)
    assert sorted(jobs) == list(range(1000))
    assert stream == list(range(100))
    assert [row["id"] for row in headrace.open(f"{bucket}/stream")] == list(range(100))
    assert headrace.ShardSet(f"{bucket}/jobs").metadata.generation == 2
    assert headrace.ShardSet(f"{bucket}/stream").metadata.generation == 3
