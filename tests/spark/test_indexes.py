"""Index builds by Spark tasks: the bytes of a local build."""

import json
import random
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace
from headrace.cli.app import main
from headrace.engines.spark.tasks.jobs import run_each
from headrace.errors import DuplicateKeyError
from tests.features.rows.test_index_jobs import (
    BUILDS,
    FILES,
    build_here,
    outcome,
    written,
)
from tests.reference.compressed import FORMS
from tests.reference.index_jobs import build_by_tasks, leftovers

pytestmark = pytest.mark.spark

MASTER = "local[2,4]"


def line(number):
    if number % 97 == 0:
        return ["{bad", "", '{"k":null}'][number % 3]
    key = "hot" if number % 5 == 0 else number
    return json.dumps({"k": key, "from": number % 40, "pred": "é", "to": number % 7})


TEXT = "".join(line(number) + "\n" for number in range(5000)).encode() + b'{"k": 1'


@pytest.fixture
def paths(tmp_path):
    forms = ["plain", "gzip, blocks of lines", "zstd, blocks of lines"]
    paths = []
    for number, form in enumerate(forms):
        paths.append(tmp_path / f"{number}.jsonl")
        paths[-1].write_bytes(FORMS[form](TEXT[: len(TEXT) - number * 1000]))
    paths.append(tmp_path / "empty.jsonl")
    paths[-1].write_bytes(b"")
    return paths


def edges(sources, **options):
    return headrace.GraphIndex.build_each(
        sources, "from", "pred", "to", incoming=True, **options
    )


def keys(sources, **options):
    return headrace.KeyIndex.build_each(sources, "k", **options)


@pytest.mark.parametrize(
    ("build", "options"),
    [
        pytest.param(keys, {}, id="keys"),
        pytest.param(keys, {"index_version": 2}, id="compact"),
        pytest.param(edges, {}, id="edges"),
    ],
)
def test_the_bytes_are_the_same(spark, paths, build, options):
    found = []
    for engine in ({}, {"engine": "spark", "master": MASTER, "partition_bytes": 20000}):
        skipped = []
        built = list(build(paths, skipped=skipped.extend, **options, **engine))
        assert len(built) == 4
        found.append((built, skipped, [each.path.read_bytes() for each in built]))
        for each in built:
            each.path.unlink()
    assert found[0] == found[1]
    assert leftovers(paths[0].parent) == []


# Tests without Spark cover many more files.
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    files=FILES, options=BUILDS, strict=st.booleans(), partition=st.integers(100, 4000)
)
def test_the_bytes_are_the_same_for_any_files(
    spark, tmp_path, files, options, strict, partition
):
    paths = written(tmp_path, files)
    options = replace(options, strict=strict, fragment_bytes=partition)
    here = outcome(build_here, paths, options)
    there = outcome(
        lambda paths, options: build_by_tasks(
            paths, options, partition, partial(run_each, spark)
        ),
        paths,
        options,
    )
    assert (there[0], there[2]) == (here[0], here[2])
    if here[2] is None:
        assert there[1] == here[1]
    assert leftovers(tmp_path) == []


def test_an_error_of_a_task_is_that_of_a_thread(spark, paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raised = []
    for engine in ({}, {"engine": "spark", "master": MASTER, "partition_bytes": 20000}):
        with pytest.raises(DuplicateKeyError) as error:
            headrace.KeyIndex.build("0.jsonl", "k", mode="unique", **engine)
        raised.append(str(error.value))
    assert raised[0] == raised[1]
    assert raised[0].startswith("0.jsonl: lines 6 and 11 both have the key 'hot'")
    assert not list(tmp_path.glob("*.jnx*"))


def test_lines_are_counted_by_tasks_and_checkpoints_kept(spark, tmp_path):
    path = tmp_path / "large.jsonl"
    path.write_bytes(b'{"id": 1, "text": "abcdefgh"}\n' * 300_000 + b"{}")
    found = []
    for engine in (
        {},
        {"engine": "spark", "master": MASTER, "partition_bytes": "2MiB"},
    ):
        with headrace.open(path) as dataset:
            count = dataset.count(**engine)
        sidecar = path.with_name("large.jsonl.ckpt")
        found.append((count, sidecar.read_bytes()))
        sidecar.unlink()
    assert found[0] == found[1]
    assert found[0][0] == 300_001


def test_tasks_classify_lines_as_threads_do(spark, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    kinds = [b'{"a": 1}', b"", b"{bad", b'"%s"' % (b"x" * 90), b"[1, 2]", b"\xff"]
    chance = random.Random(7)
    text = b"\n".join(chance.choice(kinds) for _ in range(3000))
    forms = ["plain", "zstd, blocks of lines", "gzip"]
    files = [f"{number}.jsonl" for number in range(4)]
    for file, form in zip(files, forms, strict=False):
        (tmp_path / file).write_bytes(FORMS[form](text))
    (tmp_path / files[-1]).write_bytes(b"")
    with headrace.open(files, max_line=60) as dataset:
        expected = dataset.stats()
        found = dataset.stats(engine="spark", master=MASTER, partition_bytes=2000)
    assert found == expected
    assert expected.bad > 0
    assert expected.too_long > 0
    said = []
    for engine in ([], ["--engine", "spark", "--master", MASTER]):
        code = main(["count", "--stats", "--strict", *engine, *files])
        said.append((code, capfd.readouterr()))
    assert said[0] == said[1]
    assert said[0][0] == 1
