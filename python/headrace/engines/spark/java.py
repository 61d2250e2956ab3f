"""Finding a Java that Spark can start.

Spark looks in ``JAVA_HOME``, then on ``PATH``, and a wrong ``JAVA_HOME`` is
fatal even where ``PATH`` has a good Java. Its own message for all of this is
``JAVA_GATEWAY_EXITED``, so the same places are looked at here first, in the
same order, and the one that is wrong is named.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from headrace.errors import JavaNotFoundError

OLDEST = 17
"""The oldest major version of Java that Spark 4 runs on."""

# "17.0.15", "21", "22-ea", and "1.8.0_292" from the days when 8 was called 1.8.
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def ensure_java() -> Path:
    """Return the `java` that Spark would start, if it is new enough."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home, "bin", "java.exe" if os.name == "nt" else "java")
        place = f"JAVA_HOME={home}"
        if not java.is_file():
            raise JavaNotFoundError(f"{place} has no bin/{java.name}")
    else:
        found = shutil.which("java")
        if found is None:
            raise JavaNotFoundError(
                "there is no java on PATH, and JAVA_HOME is not set"
            )
        java = Path(found)
        place = found
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
        # macOS has a /usr/bin/java that only says that there is no Java.
        raise JavaNotFoundError(f"{place} does not run: {error}") from error
    version = _VERSION.search(answer.stderr + answer.stdout)
    if version is None:
        raise JavaNotFoundError(f"{place} does not say which version of Java it is")
    return int(version[1])
