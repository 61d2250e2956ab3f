"""The sink: ``df.write.format("headrace")``."""

import json
import math
import threading
from decimal import Decimal

import pytest
from pyspark import TaskContext
from pyspark.sql.functions import col, struct, to_json

import headrace
from headrace.api.shards.check import check_shards
from headrace.engines.spark.sink.writer import HeadraceWriter
from headrace.engines.spark.source.data_source import HeadraceSource

pytestmark = pytest.mark.spark


def save(frame, directory, mode="append", source="headrace", **options):
    frame.write.format(source).mode(mode).options(**options).save(str(directory))


def rows(directory):
    return list(headrace.open(directory))


def lines(directory):
    return list(headrace.open(directory, raw=True))


def ids(directory):
    return [row["id"] for row in rows(directory)]


def files(directory):
    return sorted(
        path.relative_to(directory).as_posix()
        for path in directory.rglob("*")
        if path.is_file()
    )


def is_sound(directory):
    """Whether a set matches its metadata, without other files."""
    shards = headrace.ShardSet(directory)
    parts = shards.metadata.parts
    named = {name for part in parts for name in (part.path, part.ckpt)}
    there = {name for name in files(directory) if ".meta-" not in name}
    checks = [checked.faults for checked in check_shards(shards)]
    return named == there and not any(checks)


# Values

VALUES = """
    SELECT * FROM VALUES
    (1, true, 1Y, 2S, 3, 4L, 1.5F, 0.1D, 1.50BD, 'é"\\\\ \n\u0001', X'00FF7A',
     DATE'2024-02-29', TIMESTAMP'2024-02-29 12:34:56.789Z', TIMESTAMP_NTZ'1969-12-31 23:59:59',
     named_struct('x', 1, 'y', CAST(NULL AS STRING), 'z', named_struct('deep', 2)),
     array(1, NULL, 3), map('k', 1, 'l', NULL), map(7, 'seven'), array(map('a', array(1))), NULL),
    (2, false, -128Y, -32768S, -2147483648, -9223372036854775807L, -0.0F, -1e300D, -0.01BD, '',
     X'', DATE'0001-01-01', TIMESTAMP'9999-12-31 23:59:59.999Z', TIMESTAMP_NTZ'0001-01-01 00:00:00',
     NULL, array(), map(), map(), NULL, NULL),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL)
    AS t (id, bool, byte, short, int, long, float, double, decimal, text, bytes, day, instant,
          local, struct, list, map, numbered, nested, nothing)
"""


@pytest.mark.parametrize("skip_nulls", [True, False])
def test_values_are_those_of_to_json(spark, tmp_path, skip_nulls):
    frame = spark.sql(VALUES)
    keep = {"ignoreNullFields": str(skip_nulls).lower()}
    whole = to_json(struct("*"), options=keep)
    wanted = [row[0] for row in frame.orderBy("id").select(whole).collect()]
    save(frame.orderBy("id"), tmp_path, **keep)
    found = [line.decode() for line in lines(tmp_path)]
    assert len(found) == 3
    for ours, sparks in zip(found, wanted, strict=True):
        mine = json.loads(ours, parse_float=Decimal)
        assert mine == json.loads(sparks, parse_float=Decimal)
        assert list(mine) == list(json.loads(sparks))
    # Equal bytes except for the exponents of the second.
    assert [found[0], found[2]] == [wanted[0], wanted[2]]


def test_values_that_differ_from_to_json(spark, tmp_path):
    frame = spark.sql(
        """SELECT TIMESTAMP'2024-01-01 00:00:00.123456Z' AS micros,
        CAST(1e-10 AS DECIMAL(38, 18)) AS small, 1e300D AS large, 1e-7D AS tiny,
        map(DATE'2024-01-01', 1, DATE'2024-01-02', 2) AS days,
        map(true, 1) AS truths, parse_json('{"b": [1, 2.50, "x", null], "a": {}}') AS variant"""
    )
    save(frame, tmp_path)
    (line,) = lines(tmp_path)
    assert line.decode() == (
        '{"micros":"2024-01-01T00:00:00.123456Z","small":0.000000000100000000,'
        '"large":1e300,"tiny":1e-7,"days":{"2024-01-01":1,"2024-01-02":2},'
        '"truths":{"true":1},"variant":{"a":{},"b":[1,2.50,"x",null]}}'
    )


def test_variants_are_those_of_to_json(spark, tmp_path):
    texts = [
        '{"z": [1, -2.5, 1e100, true, false, null, "é\\n"], "a": {"b": {"c": []}}}',
        "[]",
        '"' + "x" * 100 + '"',
        "12345678901234567890",
        "1" * 300,
        json.dumps({f"key{n}": n for n in range(300)}),
        json.dumps(list(range(1000))),
    ]
    frame = spark.createDataFrame([(text,) for text in texts], "t string").coalesce(1)
    frame = frame.selectExpr("parse_json(t) AS v")
    save(frame, tmp_path)
    wanted = [json.loads(row[0]) for row in frame.select(to_json("v")).collect()]
    assert [row["v"] for row in rows(tmp_path)] == wanted


def test_the_session_zone_changes_no_instant(spark, tmp_path):
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    headrace.spark.register(session)
    frame = session.sql("SELECT TIMESTAMP'2024-07-01 00:00:00' AS t")
    save(frame, tmp_path)
    assert rows(tmp_path) == [{"t": "2024-07-01T04:00:00.000Z"}]


@pytest.mark.parametrize("column", ["_raw binary", "value string"])
def test_lines_are_written_as_they_are(spark, load, tmp_path, column):
    source = tmp_path / "lines.jsonl"
    given = [f'{{"n" :{n},  "n": [1.0, "\\u00e9 é"]}}'.encode() for n in range(3000)]
    source.write_bytes(b"\n".join(given) + b"\n")
    name, _type = column.split()
    frame = load(source, "_raw binary", maxPartitionBytes="4KiB")
    frame = frame.select(col("_raw").cast(_type).alias(name))
    assert frame.rdd.getNumPartitions() > 10
    options = {} if name == "_raw" else {"lines": "true"}
    save(frame, tmp_path / "out", **options)
    assert lines(tmp_path / "out") == given
    again = load(tmp_path / "out", "_raw binary")
    assert [row._raw for row in again.collect()] == given
    assert is_sound(tmp_path / "out")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["1", "{"], r"row 1 of partition 0 of the frame: byte 1: "),
        (["1", "1", " "], r"row 2 .* it is blank.*mode=DROPMALFORMED"),
        (["1\n2"], "row 0 .* it has a newline"),
        ([None], "row 0 .* it is null"),
        (["1 2"], "row 0 .* byte 2"),
    ],
)
def test_lines_that_are_not_json_fail_the_job(spark, tmp_path, values, reason):
    frame = spark.createDataFrame([(value,) for value in values], "_raw string")
    with pytest.raises(Exception, match=rf"(?s)UnwritableRecordError.*{reason}"):
        save(frame.coalesce(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_numbers_without_json(spark, tmp_path):
    frame = spark.sql(
        "SELECT 1 AS id, array(named_struct('x', DOUBLE('NaN'))) AS list, FLOAT('-inf') AS f"
    )
    message = r"column list\[0\].x: NaN has no JSON"
    with pytest.raises(Exception, match=message):
        save(frame, tmp_path)
    with pytest.raises(Exception, match="column f: -Infinity has no JSON"):
        save(frame.select("f"), tmp_path)
    assert files(tmp_path) == []
    save(frame, tmp_path, nonFinite="null")
    assert lines(tmp_path) == [b'{"id":1,"list":[{}]}']
    save(frame, tmp_path, "overwrite", nonFinite="null", ignoreNullFields="false")
    assert lines(tmp_path) == [b'{"id":1,"list":[{"x":null}],"f":null}']


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 AS a, INTERVAL '1' DAY AS b", "column b: values of type duration"),
        ("SELECT map(array(1), 2) AS m", "column m: a map with keys of type list"),
        ("SELECT named_struct('a', 1, 'a', 2) AS s", "two columns are called s.a"),
    ],
)
def test_a_type_without_json_is_refused_before_anything_is_written(
    spark, tmp_path, query, message
):
    with pytest.raises(Exception, match=message):
        save(spark.sql(query), tmp_path / "out")
    assert not (tmp_path / "out").exists()


# Files


def test_no_file_is_larger_than_its_limit(spark, tmp_path):
    frame = spark.range(0, 20_000, 1, 3).selectExpr("id", "sha2(string(id), 256) AS h")
    save(frame, tmp_path, codec="gzip", level=1, blockBytes="8KiB", maxBytes="64KiB")
    metadata = headrace.ShardSet(tmp_path).metadata
    assert len(metadata.parts) > 10
    assert max(part.bytes for part in metadata.parts) <= 64 << 10
    assert metadata.limits.max_bytes == 64 << 10
    assert (metadata.compression.codec, metadata.compression.level) == ("gzip", 1)
    assert ids(tmp_path) == list(range(20_000))
    # An append keeps the options that it does not give.
    save(frame.limit(10), tmp_path)
    assert headrace.ShardSet(tmp_path).metadata.compression == metadata.compression
    assert headrace.ShardSet(tmp_path).metadata.limits == metadata.limits
    assert is_sound(tmp_path)


def test_the_same_frame_gives_the_same_files(spark, tmp_path):
    frame = spark.range(0, 5000, 1, 4).selectExpr("id", "id * 7919 AS word")
    for name in ("a", "b"):
        save(frame, tmp_path / name, maxRecords="700", name="set")
    found = files(tmp_path / "a")
    assert found == files(tmp_path / "b")
    assert len(found) == 2 * 8 + 1
    for path in found:
        same = (tmp_path / name / path for name in ("a", "b"))
        assert len({path.read_bytes() for path in same}) == 1


def test_many_partitions_keep_their_order(spark, tmp_path):
    save(spark.range(0, 1000, 1, 60), tmp_path)
    assert ids(tmp_path) == list(range(1000))
    assert len(headrace.ShardSet(tmp_path).metadata.parts) == 60


def test_an_empty_frame_makes_an_empty_set(spark, tmp_path):
    empty = spark.range(0).repartition(5)
    save(empty, tmp_path)
    assert files(tmp_path) == ["rows.meta-00000001.json"]
    assert rows(tmp_path) == []
    save(spark.range(3), tmp_path)
    save(empty, tmp_path)
    assert sorted(ids(tmp_path)) == [0, 1, 2]
    save(empty, tmp_path, "overwrite")
    assert rows(tmp_path) == []


def test_partitions(spark, tmp_path):
    frame = spark.range(0, 100, 1, 3).selectExpr(
        "id", "named_struct('k', IF(id % 3 = 0, NULL, CONCAT('k/', id % 3))) AS s"
    )
    save(frame, tmp_path, partitionBy="s.k")
    parts = headrace.ShardSet(tmp_path).metadata.parts
    assert {part.partition for part in parts} == {
        ("s.k", None),
        ("s.k", "k/1"),
        ("s.k", "k/2"),
    }
    assert ids(tmp_path) == [n for k in (0, 1, 2) for n in range(k, 100, 3)]
    assert is_sound(tmp_path)


# Modes


def test_append_and_overwrite(spark, tmp_path):
    save(spark.range(3).coalesce(1), tmp_path)
    save(spark.range(3, 5).coalesce(1), tmp_path)
    assert ids(tmp_path) == [0, 1, 2, 3, 4]
    assert is_sound(tmp_path)
    save(spark.range(9, 10), tmp_path, "overwrite")
    assert ids(tmp_path) == [9]
    save(spark.range(1), f"file://{tmp_path}", "overwrite", name="other")
    assert rows(tmp_path / "other") == [{"id": 0}]
    assert rows(tmp_path / "rows") == [{"id": 9}]


@pytest.mark.parametrize("mode", ["errorifexists", "ignore"])
def test_other_modes_are_refused(spark, tmp_path, mode):
    with pytest.raises(Exception, match=r"(?i)mode|not support"):
        save(spark.range(3), tmp_path / "out", mode)
    assert not (tmp_path / "out").exists()


def test_spark_refuses_its_own_partition_by(spark, tmp_path):
    writer = spark.range(3).write.format("headrace").mode("append")
    with pytest.raises(Exception, match=r"(?i)partition"):
        writer.partitionBy("id").save(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compression": "gzip"}, "no option compression"),
        ({"codec": "lzma"}, "files are written as"),
        ({"maxRecords": "many"}, "option maxRecords is many"),
        ({"name": "../x"}, "cannot be the name of a set"),
        ({"ignoreNullFields": "1"}, "it must be true or false"),
    ],
)
def test_options_are_refused_before_anything_is_made(spark, tmp_path, options, message):
    with pytest.raises(Exception, match=message):
        save(spark.range(3), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_an_append_to_an_incompatible_set_is_refused(spark, tmp_path):
    save(spark.range(3), tmp_path)
    with pytest.raises(Exception, match="its parts are zstd, gzip cannot be appended"):
        save(spark.range(3), tmp_path, codec="gzip")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    with pytest.raises(Exception, match="no set of shards"):
        save(spark.range(3), tmp_path / "notes")


# Failures


def failing(name, *, before=None, commit=None):
    """Return a source whose tasks or commit can fail."""

    class Writer(HeadraceWriter):
        def write(self, iterator):
            return super().write(self.watched(iterator))

        def watched(self, iterator):
            for batch in iterator:
                yield batch
                if before is not None:
                    before(TaskContext.get())

        def commit(self, messages):
            if commit == "before":
                raise RuntimeError("the driver fails before it publishes")
            super().commit(messages)
            if commit == "after":
                raise RuntimeError("the driver fails when it has published")

    class Source(HeadraceSource):
        @classmethod
        def name(cls):
            return name

        def writer(self, schema, overwrite):
            made = super().writer(schema, overwrite)
            made.__class__ = Writer
            return made

    return Source


def first_attempt_fails(task):
    if task.attemptNumber() == 0 and task.partitionId() % 2:
        raise RuntimeError("the first attempt fails")


def every_attempt_fails(task):
    if task.partitionId() == 1:
        raise RuntimeError("every attempt fails")


def test_a_task_that_fails_once_is_written_once(spark, tmp_path):
    spark.dataSource.register(failing("fails-once", before=first_attempt_fails))
    frame = spark.range(0, 1000, 1, 4)
    save(frame, tmp_path / "a", source="fails-once", maxRecords="100")
    assert ids(tmp_path / "a") == list(range(1000))
    assert is_sound(tmp_path / "a")
    save(frame, tmp_path / "b", maxRecords="100")
    for path in files(tmp_path / "b"):
        whole = (tmp_path / "b" / path).read_bytes()
        assert (tmp_path / "a" / path).read_bytes() == whole


def test_a_task_that_fails_upstream_is_written_once(spark, tmp_path):
    def broken(batches):
        for batch in batches:
            yield batch
            first_attempt_fails(TaskContext.get())

    frame = spark.range(0, 1000, 1, 4).mapInArrow(broken, "id long")
    save(frame, tmp_path)
    assert ids(tmp_path) == list(range(1000))
    assert is_sound(tmp_path)


def test_a_job_that_fails_leaves_the_set_as_it_was(spark, tmp_path):
    spark.dataSource.register(failing("fails-always", before=every_attempt_fails))
    frame = spark.range(0, 100, 1, 3)
    with pytest.raises(Exception, match="every attempt fails"):
        save(frame, tmp_path / "new", source="fails-always")
    assert not (tmp_path / "new").exists()
    save(spark.range(3), tmp_path)
    before = files(tmp_path)
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="every attempt fails"):
            save(frame, tmp_path, mode, source="fails-always")
        assert files(tmp_path) == before
    assert sorted(ids(tmp_path)) == [0, 1, 2]


def test_a_driver_that_fails_before_it_publishes(spark, tmp_path):
    spark.dataSource.register(failing("fails-before", commit="before"))
    save(spark.range(3), tmp_path)
    before = files(tmp_path)
    with pytest.raises(Exception, match="fails before it publishes"):
        save(spark.range(9), tmp_path, source="fails-before", jobId="a")
    assert files(tmp_path) == before
    save(spark.range(9), tmp_path, jobId="a")
    assert len(ids(tmp_path)) == 12


def test_a_driver_that_fails_when_it_has_published(spark, tmp_path):
    spark.dataSource.register(failing("fails-after", commit="after"))
    with pytest.raises(Exception, match="fails when it has published"):
        save(spark.range(9), tmp_path, source="fails-after", jobId="a")
    assert len(ids(tmp_path)) == 9
    assert is_sound(tmp_path)
    save(spark.range(9), tmp_path, jobId="a")
    assert len(ids(tmp_path)) == 9


def test_a_repeated_job_is_in_the_set_once(spark, tmp_path):
    for _again in range(2):
        save(spark.range(3), tmp_path, "overwrite", jobId="first")
        save(spark.range(3, 5), tmp_path, jobId="second")
    assert sorted(ids(tmp_path)) == [0, 1, 2, 3, 4]
    metadata = headrace.ShardSet(tmp_path).metadata
    assert metadata.run["jobIds"] == ["first", "second"]
    assert metadata.generation == 2


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_two_jobs_at_once(spark, tmp_path, mode):
    def several(first):
        # Spark's writer looks for Python sources in the session that is active in its
        # thread, and this makes it so.
        spark.createDataFrame([(1,)], "a int")
        for start in range(first, first + 300, 100):
            save(spark.range(start, start + 100, 1, 2), tmp_path, mode)

    threads = [threading.Thread(target=several, args=(n,)) for n in (0, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = ids(tmp_path)
    if mode == "append":
        assert sorted(found) == [*range(300), *range(1000, 1300)]
        assert is_sound(tmp_path)
    else:
        assert found in ([*range(200, 300)], [*range(1200, 1300)])
    assert headrace.ShardSet(tmp_path).metadata.generation == 6
    hidden = {path.name for path in tmp_path.glob(".*")}
    assert hidden == ({".rows.superseded"} if mode == "overwrite" else set())


def test_floats_are_read_back_as_they_were(spark, tmp_path):
    numbers = [0.1, 1 / 3, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 123456789.0]
    frame = spark.createDataFrame([(n,) for n in numbers], "x double").coalesce(1)
    save(frame, tmp_path)
    found = [row["x"] for row in rows(tmp_path)]
    assert found == numbers
    assert math.copysign(1, found[5]) == -1
