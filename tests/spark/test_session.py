"""Sessions, registration and discovery."""

import subprocess
import sys
import textwrap
from importlib import import_module

import pytest
from pyspark.sql.datasource import DataSource

import headrace.spark
import pyspark_headrace
from headrace.engines.spark.session.master import check_master
from headrace.engines.spark.session.session import settings
from headrace.errors import MasterUnreachableError, MissingExtraError, UsageError
from tests.spark.cluster import free_port

pytestmark = pytest.mark.spark


def run(program, *arguments):
    """Run a Python program in a separate process and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_public_names():
    assert headrace.spark.__all__ == ["ensure_java", "register", "session"]


def test_importing_headrace_imports_no_spark():
    run(
        """
        import sys, headrace, headrace.spark, headrace.engines.spark.session.java
        assert not {"pyspark", "pyarrow", "py4j"} & set(sys.modules), sys.modules
        """
    )


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow"])
def test_a_missing_extra_is_named(monkeypatch, missing):
    for module in list(sys.modules):
        if module.partition(".")[0] == missing or module.startswith(
            "headrace.engines.spark."
        ):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"headrace\[spark\]") as caught:
        headrace.spark.session()
    assert missing in str(caught.value)


def test_the_module_spark_discovers():
    assert issubclass(pyspark_headrace.DefaultSource, DataSource)
    assert pyspark_headrace.DefaultSource.name() == "headrace"


def test_spark_finds_the_format_by_itself(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n2\n3")
    done = run(
        """
        import os, sys
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession
        spark = (
            SparkSession.builder.master("local[1,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
        print(spark.read.format("headrace").load(sys.argv[1]).count())
        """,
        path,
    )
    assert done.stdout == "3\n"


def test_a_session_is_quiet(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n2\n3")
    done = run(
        """
        import sys, headrace.spark
        spark = headrace.spark.session("local[1,4]")
        print(spark.read.format("headrace").load(sys.argv[1]).count())
        try:
            spark.read.format("headrace").load("missing.jsonl").count()
        except Exception as error:
            print(type(error).__name__)
        spark.stop()
        """,
        path,
    )
    assert done.stdout == "3\nAnalysisException\n"
    # Java prints this before it reads any setting.
    lines = done.stderr.splitlines()
    assert [line for line in lines if "incubator modules" not in line] == []


def test_a_second_call_returns_the_same_session(spark):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    again = headrace.spark.session("local[2,4]", **{"spark.sql.ansi.enabled": True})
    assert again.sparkContext is spark.sparkContext
    assert again.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_another_master_is_refused_while_one_runs(spark):
    with pytest.raises(UsageError, match=r"already runs .* at local\[2,4\]"):
        headrace.spark.session("local[1]")


def test_an_invalid_master_is_a_usage_error():
    done = run(
        """
        import headrace.spark
        from headrace.errors import UsageError
        try:
            headrace.spark.session("nonsense")
        except UsageError as error:
            print(error)
        """
    )
    assert done.stdout.startswith("nonsense is not a Spark master; use local[*")
    # Java was not even started.
    assert done.stderr == ""


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[2]",
        "local[*]",
        "local[*, 4]",
        "local-cluster[2,1,1024]",
        "yarn",
        "k8s://https://h:1",
        "databricks://x",
    ],
)
def test_valid_masters(master):
    check_master(master)


@pytest.mark.parametrize("master", ["", "foo", "local[x]", "local[]", "host:7077"])
def test_invalid_masters(master):
    with pytest.raises(UsageError, match="is not a Spark master"):
        check_master(master)


@pytest.mark.parametrize("masters", [1, 2])
def test_an_unreachable_master_is_reported_before_java_starts(masters):
    ports = ",".join(f"127.0.0.1:{free_port()}" for _ in range(masters))
    done = run(
        """
        import sys
        import headrace.spark
        from headrace.errors import MasterUnreachableError
        try:
            headrace.spark.session(sys.argv[1])
        except MasterUnreachableError as error:
            print(error)
        """,
        f"spark://{ports}",
    )
    assert done.stdout.startswith(f"no Spark master answers at spark://{ports}: ")
    assert done.stdout.endswith("; check the address, or start one there\n")
    assert done.stdout.count("\n") == 1
    # Java was not even started.
    assert done.stderr == ""


@pytest.mark.parametrize("master", ["spark://host", "spark://:7077", "spark://h:x"])
def test_a_master_needs_host_and_port(master):
    done = run(
        """
        import sys
        import headrace.spark
        from headrace.errors import UsageError
        try:
            headrace.spark.session(sys.argv[1])
        except UsageError as error:
            print(error)
        """,
        master,
    )
    assert done.stdout == f"master {master} is not spark://HOST:PORT\n"


def test_spark_connect_needs_more_packages(monkeypatch):
    # Not by a dotted name: the test of missing extras imports the module a second time.
    module = import_module("headrace.engines.spark.session.session")
    monkeypatch.setattr(module, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"pip install 'pyspark\[connect\]'"):
        headrace.spark.session("sc://127.0.0.1")


def test_a_server_of_spark_connect_that_does_not_answer(monkeypatch):
    # Not by a dotted name: the test of missing extras imports the module a second time.
    module = import_module("headrace.engines.spark.session.session")
    monkeypatch.setattr(module, "find_spec", lambda _name: True)
    url = f"sc://127.0.0.1:{free_port()}/;user_id=me"
    with pytest.raises(
        MasterUnreachableError, match=f"no Spark master answers at {url}"
    ):
        headrace.spark.session(url)


def test_registering_again_is_harmless(spark, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n")
    headrace.spark.register(spark)
    headrace.spark.register(spark.newSession())
    assert spark.read.format("headrace").load(str(path)).count() == 1


def test_settings_of_the_caller_win():
    chosen = settings(
        "local[2]",
        {
            "spark.ui.enabled": True,
            "spark.sql.shuffle.partitions": 3,
            "spark.driver.extraJavaOptions": "-Xss4m",
        },
    )
    assert chosen["spark.ui.enabled"] == "true"
    assert chosen["spark.sql.shuffle.partitions"] == "3"
    assert chosen["spark.driver.extraJavaOptions"].endswith(" -Xss4m")
    assert chosen["spark.sql.session.timeZone"] == "UTC"


def test_only_an_embedded_spark_is_tied_to_this_machine():
    assert settings("local[*,4]", {})["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in settings("spark://example.org:7077", {})


def test_functions_run_in_the_given_session_or_the_active_one(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1, "from": "x", "to": "y"}\n{"a": 2}\n')
    run(
        """
        import sys
        from pyspark.sql import SparkSession
        import headrace, headrace.spark

        spark = SparkSession.builder.master("local[1]").appName("mine").getOrCreate()
        tasks = spark.sparkContext.statusTracker()
        rows = headrace.open(sys.argv[1])
        given = {"engine": "spark", "spark": spark}
        assert rows.query("$.rows().sum(a)", **given).to_list() == [3]
        headrace.spark.register(spark)
        assert rows.query("a", **given).to_list() == [1, 2]
        assert (rows.count(**given), rows.stats(**given).records) == (2, 2)
        (built,) = rows.index(on="a", **given)
        assert built.path.name.endswith(".jnx"), built
        assert list(rows.graph().on_spark(spark=spark).expand(["x"], 1))
        assert spark.sparkContext.appName == "mine"

        for other in (rows.query, lambda _query, **by: rows.count(**by)):
            try:
                other("a", master="local[2]", **given)
            except headrace.HeadraceError as error:
                assert "leave out master" in str(error), error
            else:
                raise AssertionError("a master beside a session is refused")

        found = rows.query("$.rows().sum(a)", engine="spark")
        assert found.to_list() == [3], found.to_list()
        assert headrace.spark.session().sparkContext.master == "local[1]"
        """,
        path,
    )


def test_a_session_is_refused_without_spark(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n')
    with headrace.open(path) as rows:
        for run_here in (
            lambda: rows.query("a", spark=object()),
            lambda: rows.count(spark=object()),
            lambda: rows.index(on="a", spark=object()),
        ):
            with pytest.raises(
                headrace.HeadraceError, match="spark is for engine='spark'"
            ):
                run_here()


def test_a_session_of_another_python_reads_with_this_one(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n')
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    run(
        """
        import os, sys
        os.environ.pop("PYSPARK_PYTHON", None)
        os.environ["PATH"] = sys.argv[1] + os.pathsep + os.environ["PATH"]
        from pyspark.sql import SparkSession
        import headrace.spark

        spark = SparkSession.builder.master("local[1]").getOrCreate()
        headrace.spark.register(spark)
        read = spark.read.format("headrace").schema("a long")
        assert read.load(sys.argv[1] + "/a.jsonl").count() == 1
        """,
        tmp_path,
    )
