"""Starting Spark, and telling it about our source.

A session made here is for embedded use: quiet, without a web page, on UTC, with
the Python workers of this very interpreter. Nothing of it is needed to read:
any session that has been through `register` will do.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from headrace.engines.spark.java import ensure_java
from headrace.engines.spark.source import HeadraceSource
from headrace.errors import MasterUnreachableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

_STANDALONE = "spark://"
_PATIENCE = 10.0
"""Seconds that a master has to take a connection."""

# PySpark logs every failed query here as JSON, besides raising it.
_ECHOING_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("headrace")`` known to `spark`."""
    spark.dataSource.register(HeadraceSource)


def session(master: str, app_name: str, conf: Mapping[str, object]) -> SparkSession:
    """Start Spark at `master`, or return the session that already runs there.

    `conf` is laid over the defaults, its Java options added to ours; a session
    that runs already keeps all its settings but those in `conf`.
    """
    # The session of another thread is found here only.
    running = SparkContext._active_spark_context
    if running is None:
        _prepare(master)
        chosen = settings(master, conf)
    elif running.master == master:
        chosen = {name: _spelled(value) for name, value in conf.items()}
    else:
        raise UsageError(
            f"Spark already runs in this process, at {running.master}: stop() that "
            f"session before asking for {master}, or use it after "
            "headrace.spark.register(spark)"
        )
    builder = SparkSession.builder.master(master).appName(app_name)
    for name, value in chosen.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except (PySparkRuntimeError, Py4JError) as error:
        # PySpark may know only that Java ended; Java has said why on stderr.
        reason = _reason(error)
        raise UsageError(f"Spark did not start at {master}: {reason}") from error
    register(spark)
    return spark


def _prepare(master: str) -> None:
    """See to what must be right before Java starts."""
    ensure_java()
    _reach(master)
    if is_local(master):
        # Spark's own default is whatever `python3` is on PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name in _ECHOING_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _reach(master: str) -> None:
    """Raise unless a master of a cluster of Spark's own answers; that takes Spark minutes."""
    if not master.startswith(_STANDALONE):
        return
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _colon, port = address.rpartition(":")
        if not (host and port.isdecimal()):
            raise UsageError(f"master {master} is not spark://HOST:PORT")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
        except (OSError, OverflowError) as error:
            reason = str(error)
        else:
            return
    raise MasterUnreachableError(master, reason)


def _reason(error: Exception) -> str:
    """Return what went wrong, without Java's trace."""
    lines = str(error).splitlines() or [type(error).__name__]
    return next((line[2:] for line in lines if line.startswith(": ")), lines[0])


def settings(master: str, conf: Mapping[str, object]) -> dict[str, str]:
    """Return the whole configuration of a session at `master`, as Spark spells it."""
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": _spelled(sys.stderr.isatty()),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # A crash in native code then shows the Python stack it came from.
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    }
    if is_local(master):
        # One machine needs no address that others can reach, nor a resolvable
        # host name.
        chosen["spark.driver.host"] = "127.0.0.1"
        chosen["spark.driver.bindAddress"] = "127.0.0.1"
    chosen |= {name: _spelled(value) for name, value in conf.items()}
    quiet = f"-Dlog4j2.configurationFile={_log_settings().as_uri()}"
    chosen[_JAVA_OPTIONS] = f"{quiet} {chosen.get(_JAVA_OPTIONS, '')}".rstrip()
    return chosen


def is_local(master: str) -> bool:
    """Say whether the tasks of `master` run in this process's own JVM.

    >>> is_local("local[*,4]"), is_local("local-cluster[2,1,1024]")
    (True, False)
    """
    return master == "local" or master.startswith("local[")


def _log_settings() -> Path:
    return Path(str(files("headrace.engines.spark") / "log4j2.properties"))


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
