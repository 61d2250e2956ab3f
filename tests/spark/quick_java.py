"""A quick start of the tests' Java: no optimizing compiler, and an archive of classes.

``python -m tests.spark.quick_java`` runs one session, and Java stores the classes that it
loaded in `ARCHIVE`. Later starts map them into memory, which saves half of their time.
`make test` makes the archive; without it the tests only take longer.
"""

import os
import tempfile
from pathlib import Path

from tests.stores import ROOT

ARCHIVE = ROOT / "target" / "spark-classes.jsa"
QUICK_PYTHON = Path(__file__).with_name("quick_python")
_PLAIN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Another Java, or another version of Spark, starts without the archive.
_MAPPED = f'{_PLAIN} "-XX:SharedArchiveFile={ARCHIVE}" -Xlog:cds*=off'

QUICK_START = _MAPPED if ARCHIVE.exists() else _PLAIN

ENVIRONMENT = {
    "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
    "SPARK_LAUNCHER_OPTS": _PLAIN,
    "SPARK_SUBMIT_OPTS": QUICK_START,
    # Python imports quick_python/sitecustomize.py when it starts.
    "PYTHONPATH": os.pathsep.join(
        filter(None, [str(QUICK_PYTHON), os.environ.get("PYTHONPATH")])
    ),
}
"""The variables with which each driver, master and worker of Spark starts quickly."""


def make_archive():
    """Do a little of everything that the tests do in one session, and store its classes."""
    import headrace.spark

    with tempfile.TemporaryDirectory(dir=ARCHIVE.parent) as place:
        made = Path(place, "classes.jsa")
        storing = f'{_PLAIN} "-XX:ArchiveClassesAtExit={made}" -Xlog:cds*=off'
        settings = {
            "spark.driver.extraJavaOptions": storing,
            "spark.sql.shuffle.partitions": 1,
        }
        spark = headrace.spark.session("local[2]", "classes", **settings)
        java = spark.sparkContext._gateway.proc
        _use(spark, Path(place))
        spark.stop()
        # Java stores its classes and exits when its standard input is closed.
        java.stdin.close()
        java.wait()
        made.replace(ARCHIVE)


def _use(spark, place):
    data, out, streamed = (str(place / name) for name in ("a.jsonl", "out", "streamed"))
    Path(data).write_text('{"id": 1, "word": "a"}\n{"id": 2, "word": "b"}\n')
    reader = spark.read.format("headrace").schema("id long, word string")
    frame = reader.load(data)
    frame.groupBy("word").count().orderBy("word").collect()
    frame.write.format("headrace").mode("append").save(out)
    spark.sparkContext.parallelize([2, 1], 2).sortBy(int).collect()
    spark.read.json(data).createOrReplaceTempView("rows")
    spark.sql("SELECT a.id FROM rows a JOIN rows b ON a.id = b.id").collect()
    lines = spark.readStream.format("headrace").schema("_raw binary").load(data)
    stream = lines.writeStream.format("headrace").trigger(availableNow=True)
    stream = stream.option("checkpointLocation", f"{streamed}.checkpoint")
    stream.start(streamed).awaitTermination()


if __name__ == "__main__":
    make_archive()
