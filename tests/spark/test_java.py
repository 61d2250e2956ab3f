"""Finding Java before Spark fails to."""

import os
import sys

import pytest

import headrace.spark
from headrace.errors import JavaNotFoundError

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
        pytest.param("hello", 0, "does not say which version", id="other"),
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
def test_no_java_gives_the_cure_in_one_line(nowhere, monkeypatch, java_home, problem):
    if java_home:
        monkeypatch.setenv("JAVA_HOME", java_home)
    with pytest.raises(JavaNotFoundError) as caught:
        headrace.spark.ensure_java()
    message = str(caught.value)
    assert problem in message
    assert "Java 17" in message
    assert "install" in message
    assert "\n" not in message
