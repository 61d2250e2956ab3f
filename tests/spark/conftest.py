"""One Spark for all tests: starting it costs more than everything else here."""

import pytest

import headrace.spark


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    session = headrace.spark.session(
        "local[2,4]",
        "headrace-tests",
        **{
            "spark.default.parallelism": 2,
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse"),
            "spark.ui.showConsoleProgress": False,
        },
    )
    yield session
    session.stop()


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
