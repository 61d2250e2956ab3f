"""Errors of packages that are not installed, of Java and of Spark clusters."""

from __future__ import annotations

from headrace.errors.error import HeadraceError


class JavaNotFoundError(HeadraceError):
    """Spark cannot be started without Java."""

    WHAT = "Spark needs Java 17 or later, but {reason}"
    ADVICE = (
        "install it (pip install 'headrace[jre]'; Debian, Ubuntu: apt-get install "
        "openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME"
    )

    reason: str


class SparkFailedError(HeadraceError):
    """Spark could not run tasks."""

    WHAT = "Spark could not run the tasks: {reason}"
    ADVICE = "see its log, and that every node has headrace and the files"

    reason: str


class MasterUnreachableError(HeadraceError):
    """No Spark master answers at an address."""

    WHAT = "no Spark master answers at {master}: {reason}"
    ADVICE = "check the address, or start one there"

    master: str
    reason: str


class NotSharedError(HeadraceError):
    """Tasks on other machines would write to a directory that the driver may not see."""

    WHAT = (
        "{path}: tasks of {master} may run on other machines, and would write it there"
    )
    ADVICE = (
        "name a directory that every machine sees at the same path, and say that it is "
        "one: HEADRACE_SHARED={path}"
    )

    path: str
    master: str


class OtherVersionError(HeadraceError):
    """A node of the cluster has another headrace than the driver."""

    WHAT = "this node has headrace {found}, but the driver {wanted}"
    ADVICE = "install the same version in the Python of every node (PYSPARK_PYTHON)"

    found: str
    wanted: str
