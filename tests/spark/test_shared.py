"""Outputs of a cluster: only in directories that are declared as shared."""

import json
import os
import sys

import pytest
from pyspark.sql.types import LongType, StructField, StructType

import headrace
from headrace.engines.spark.session.master import refuse_unshared
from headrace.engines.spark.source.data_source import HeadraceSource, source_at
from headrace.errors import NotSharedError
from headrace.pipeline import Pipeline, Source
from tests.reference.shard_sets import write
from tests.spark.cluster import SETTINGS, run_driver
from tests.stores.shelf import shelf

pytestmark = pytest.mark.spark

REMOTE = ["spark://host:7077", "yarn", "k8s://https://host:6443", "sc://host"]


@pytest.mark.parametrize(
    "master", ["local", "local[2,4]", "local-cluster[2,1,512]", ""]
)
def test_on_this_machine_nothing_is_declared(tmp_path, master):
    refuse_unshared(tmp_path, master)


@pytest.mark.parametrize("master", REMOTE)
@pytest.mark.parametrize(
    ("declared", "path", "allowed"),
    [
        pytest.param("", "/data/out", False, id="nothing"),
        pytest.param("/data", "/data/out", True, id="below"),
        pytest.param("/data", "/data", True, id="itself"),
        pytest.param("/data", "/database", False, id="like it"),
        pytest.param("/data", "/data/../home/out", False, id="beside"),
        pytest.param(f"/a{os.pathsep}/data/", "/data/out", True, id="several"),
        pytest.param("/", "/home/me/out", True, id="all"),
    ],
)
def test_declared_directories(monkeypatch, master, declared, path, allowed):
    monkeypatch.setenv("HEADRACE_SHARED", declared)
    if allowed:
        refuse_unshared(path, master)
        return
    with pytest.raises(NotSharedError, match=r"say that it is one: HEADRACE_SHARED=/"):
        refuse_unshared(path, master)


def test_a_pipeline_is_refused_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADRACE_SHARED", raising=False)
    made = Pipeline("events", "out", Source("raw"), base=str(tmp_path))
    with pytest.raises(NotSharedError) as caught:
        made.run("spark://127.0.0.1:1")
    assert str(tmp_path / "out") in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_index_is_refused_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.delenv("HEADRACE_SHARED", raising=False)
    (tmp_path / "a.jsonl").write_text('{"id":1}\n')
    write(tmp_path / "set", ['{"id":1}'])
    headrace.KeyIndex.build(tmp_path / "set", "id")
    spark = {"engine": "spark", "master": "spark://127.0.0.1:1"}
    for build, path in (
        (headrace.KeyIndex.build, "a.jsonl"),
        (headrace.KeyIndex.build, "set"),
        (headrace.KeyIndex.update, "set"),
    ):
        with pytest.raises(NotSharedError):
            build(tmp_path / path, "id", **spark)
    with pytest.raises(NotSharedError):
        headrace.GraphIndex.build(tmp_path / "a.jsonl", "id", None, "to", **spark)
    assert not list(tmp_path.rglob("*.jsonl.jnx*"))


@pytest.mark.parametrize("master", REMOTE)
def test_every_machine_sees_an_object_store(tmp_path, monkeypatch, master):
    monkeypatch.delenv("HEADRACE_SHARED", raising=False)
    schema = StructType([StructField("id", LongType())])
    for path, allowed in ((shelf(tmp_path / "a"), True), (str(tmp_path / "b"), False)):
        for make in ("writer", "streamWriter"):
            writer = getattr(source_at(master)({"path": path}), make)
            if allowed:
                writer(schema, overwrite=False)
            else:
                with pytest.raises(NotSharedError):
                    writer(schema, overwrite=False)


def test_a_source_that_spark_discovers_has_no_master():
    assert HeadraceSource.master == ""
    assert source_at("yarn").master == "yarn"
    assert source_at("yarn").name() == "headrace"


DRIVER = f"""
import json, os, sys
del os.environ["HEADRACE_SHARED"]
import headrace, headrace.spark

master, path, directory = sys.argv[1:]
spark = headrace.spark.session(master, **{SETTINGS})

def error_of(do):
    try:
        do()
    except Exception as error:
        return str(error)

def reader():
    return spark.read.format("headrace").schema("id long")

print(json.dumps([
    error_of(lambda: reader().load(path).write.format("headrace").mode("append").save(directory)),
    error_of(lambda: reader().option("badRecordsPath", directory).load(path).collect()),
    error_of(lambda: headrace.Pipeline("p", directory, headrace.pipeline.Source(path)).run(spark=spark)),
    os.path.exists(directory),
    reader().load(path).count(),
]))
spark.stop()
"""


@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform == "win32", reason="spark-class is a shell script")
def test_a_cluster_writes_to_declared_directories_only(master, tmp_path):
    path, out = tmp_path / "rows.jsonl", tmp_path / "out"
    path.write_text('{"id": 1}\n{"id": 2}\n')
    printed = run_driver(DRIVER, master, str(path), str(out))
    *refused, exists, rows = json.loads(printed)
    for said in refused:
        assert f"HEADRACE_SHARED={out}" in said
        assert f"tasks of {master}" in said
    assert (exists, rows) == (False, 2)
