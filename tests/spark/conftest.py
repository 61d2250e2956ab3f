"""One Spark session and one cluster for all tests: their start costs more than the tests."""

import os
import sys

import pytest

import headrace.spark
from tests.spark.cluster import LOOPBACK, cluster
from tests.spark.driver import Driver
from tests.stores import on_path


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    # Workers import the object store of the tests from it.
    os.environ["PYTHONPATH"] = on_path(os.environ.get("PYTHONPATH", ""))
    session = headrace.spark.session(
        "local[2,4]",
        "headrace-tests",
        **{
            "spark.default.parallelism": 2,
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse"),
            "spark.ui.showConsoleProgress": False,
        },
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def master(tmp_path_factory):
    """Give the URL of the master of a standalone cluster with two workers."""
    # Spark starts no second copy of a task on the same host.
    second = "127.0.0.2" if sys.platform == "linux" else LOOPBACK
    with cluster(tmp_path_factory.mktemp("cluster"), (LOOPBACK, second)) as url:
        yield url


@pytest.fixture(scope="session")
def driver(master, tmp_path_factory):
    """Give a driver of the cluster, whose workers can be sabotaged."""
    made = Driver(master, tmp_path_factory.mktemp("driver"))
    yield made
    made.close()


@pytest.fixture
def load(spark):
    """Read with the given schema and options."""

    def load(paths, schema=None, **options):
        reader = spark.read.format("headrace").options(**options)
        if schema is not None:
            reader = reader.schema(schema)
        many = isinstance(paths, list)
        return reader.load([str(path) for path in paths] if many else str(paths))

    return load
