"""Streams in Spark: from files, logs and sets into sets, and restarts after faults."""

import shutil

import pytest

import headrace
from headrace.api.shards.check import check_shards
from tests.spark.stream_data import append_file, append_log, text

pytestmark = pytest.mark.spark


@pytest.fixture
def run(spark, tmp_path):
    """Run a query to the current end of its input; return the progress of each batch."""

    def run(
        source, target="out", checkpoint="checkpoint", schema="_raw binary", **more
    ):
        writing = more.pop("writing", {})
        reader = spark.readStream.format("headrace").schema(schema).options(**more)
        query = (
            reader.load(str(source))
            .writeStream.format("headrace")
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .options(**writing)
            .trigger(availableNow=True)
            .start(str(tmp_path / target))
        )
        query.awaitTermination()
        return [each for each in query.recentProgress if each["numInputRows"]]

    return run


def ids(directory):
    shards = headrace.ShardSet(directory)
    assert not any(found.faults for found in check_shards(shards))
    assert not list(directory.glob(".*"))
    return [row["id"] for row in headrace.open(directory)]


def test_from_a_log_to_a_set(run, tmp_path):
    log, out = tmp_path / "log", tmp_path / "out"
    append_log(log, range(1000))
    assert len(run(log)) == 1
    append_log(log, range(1000, 1800))
    batches = run(log, maxRowsPerTrigger=300, maxPartitionBytes=500)
    assert [batch["numInputRows"] for batch in batches] == [300, 300, 200]
    assert ids(out) == list(range(1800))
    assert run(log) == []


def test_from_files_with_typed_columns(run, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(text(range(10)) + b'{"id":"x"}\n{"id":1')
    run(folder, schema="id long, _line long, _error string")
    append_file(folder / "a.jsonl", b"1}\n")
    (folder / "b.jsonl").write_bytes(text([12]))
    run(folder, schema="id long, _line long, _error string")
    rows = list(headrace.open(tmp_path / "out"))
    assert [(row.get("id"), row["_line"]) for row in rows] == [
        *((n, n + 1) for n in range(10)),
        (None, 11),
        (11, 12),
        (12, 1),
    ]
    assert [number for number, row in enumerate(rows) if "_error" in row] == [10]


def test_from_a_set_to_a_set(run, tmp_path):
    log = tmp_path / "log"
    for start in (0, 50):
        append_log(log, range(start, start + 50))
        run(log)
        run(tmp_path / "out", target="copy", checkpoint="second")
    assert ids(tmp_path / "copy") == list(range(100))


def test_two_streams_write_one_set(run, tmp_path):
    for name in ("a", "b"):
        append_log(tmp_path / name, range(20))
        run(tmp_path / name, checkpoint=f"of-{name}", writing={"stream": name})
    append_log(tmp_path / "a", range(20, 30))
    run(tmp_path / "a", checkpoint="of-a", writing={"stream": "a"})
    assert ids(tmp_path / "out") == [*range(20), *range(20), *range(20, 30)]


def test_a_batch_that_was_published_but_not_written_down_is_not_written_again(
    run, tmp_path
):
    log, checkpoint = tmp_path / "log", tmp_path / "checkpoint"
    append_log(log, range(50))
    run(log)
    append_log(log, range(50, 90))
    run(log)
    before = sorted((tmp_path / "out").rglob("*"))
    # As if the driver had been killed between publishing and recording.
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    run(log)
    assert sorted((tmp_path / "out").rglob("*")) == before
    append_log(log, range(90, 95))
    run(log)
    assert ids(tmp_path / "out") == list(range(95))


def test_a_lost_checkpoint_directory_stops_the_query(run, tmp_path):
    log = tmp_path / "log"
    append_log(log, range(50))
    run(log)
    shutil.rmtree(tmp_path / "checkpoint")
    with pytest.raises(
        Exception, match="continue with the checkpoint directory of that"
    ):
        run(log)
    assert ids(tmp_path / "out") == list(range(50))
    # The cure that the error names.
    offset = (tmp_path / "checkpoint/offsets/0").read_text().splitlines()[-1]
    append_log(log, range(50, 60))
    run(
        log,
        checkpoint="another",
        startingOffsets=offset,
        writing={"stream": "second"},
    )
    assert ids(tmp_path / "out") == list(range(60))


def test_a_set_that_was_removed_stops_the_query(run, tmp_path):
    log = tmp_path / "log"
    append_log(log, range(50))
    run(log)
    shutil.rmtree(tmp_path / "out")
    append_log(log, range(50, 60))
    with pytest.raises(Exception, match="lacks those from batch 0 on"):
        run(log)
    assert not list((tmp_path / "out").iterdir())


def test_lines_that_retention_removed(run, tmp_path):
    log = tmp_path / "log"
    append_log(log, range(300))
    run(log)
    append_log(log, range(300, 650))
    headrace.Log(log).retain(before_line=501)
    with pytest.raises(Exception, match="lines 301 to 500 were lost before they were"):
        run(log)
    run(log, onDataLoss="skip")
    assert ids(tmp_path / "out") == [*range(300), *range(500, 650)]


def test_complete_mode_replaces_the_set(spark, tmp_path):
    log = tmp_path / "log"
    for start in (0, 50):
        append_log(log, range(start, start + 50))
        counted = (
            spark.readStream.format("headrace")
            .schema("id long")
            .load(str(log))
            .selectExpr("id % 2 AS id")
            .groupBy("id")
            .count()
        )
        query = (
            counted.writeStream.format("headrace")
            .outputMode("complete")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "out"))
        )
        query.awaitTermination()
        found = {row["id"]: row["count"] for row in headrace.open(tmp_path / "out")}
        half = (start + 50) // 2
        assert found == {0: half, 1: half}


def test_unknown_options_are_refused(run, tmp_path):
    append_log(tmp_path / "log", range(3))
    with pytest.raises(Exception, match="no option maxfilespertrigger"):
        run(tmp_path / "log", maxFilesPerTrigger=1)
    with pytest.raises(Exception, match="no option maxbyte"):
        run(tmp_path / "log", writing={"maxByte": "1"})
