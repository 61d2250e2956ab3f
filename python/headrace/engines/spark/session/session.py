"""Spark session: start or join one, and register the format "headrace" in it.

A session made here is for embedded use: quiet, without a web page, on UTC, with
Python workers of this interpreter. Reading needs none of these settings:
any session works after `register`.
"""

import logging
import os
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession, is_remote

from headrace.engines.spark.session.java import ensure_java
from headrace.engines.spark.session.master import Place, check_master, is_local
from headrace.engines.spark.source.data_source import source_at
from headrace.errors import MasterUnreachableError, UsageError

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

_CONNECT = "sc://"
_STANDALONE = "spark://"
_CONNECT_PORT = 15002
_ADDRESS = re.compile(r"(?P<host>\[[^]]+\]|[^:]+)(:(?P<port>\d+))?")

_PATIENCE = 10.0
"""Seconds to wait until a master accepts a connection."""

# PySpark logs every failed query here as JSON, besides raising it.
_ECHOING_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def register(spark: SparkSession) -> None:
    """Register the format "headrace", for ``spark.read.format("headrace")``, in `spark`."""
    _use_this_python(spark)
    spark.dataSource.register(source_at(tasks_at(spark), _zone_of(spark)))


def _use_this_python(spark: SparkSession) -> None:
    """Run tasks on this machine with this interpreter, which has headrace.

    By default Spark starts the `python3` of the PATH.
    """
    named = "PYSPARK_PYTHON" in os.environ
    if not named and is_local(tasks_at(spark)) and not is_remote():
        spark.sparkContext.pythonExec = sys.executable


def _zone_of(spark: SparkSession) -> str:
    """Return the zone in which a session reads timestamps without an offset."""
    return str(spark.conf.get("spark.sql.session.timeZone", "UTC"))


def tasks_at(spark: SparkSession) -> str:
    """Return the master of a session; with Spark Connect, the master of the server.

    Empty if the server does not report it.
    """
    try:
        return str(spark.conf.get("spark.master", ""))
    except PySparkException:
        return ""


def session(
    master: str,
    app_name: str,
    conf: Mapping[str, object],
    *,
    shows_progress: bool = False,
) -> SparkSession:
    """Start Spark at `master`, or return the session that already runs there.

    `conf` overrides the defaults, and its Java options are appended to ours; a session
    that runs already keeps all its settings except those in `conf`. A Spark Connect
    server keeps its own settings. `shows_progress`: the caller shows the progress, so
    a Spark that is started here draws no progress bars.
    """
    check_master(master)
    if master.startswith(_CONNECT):
        return _connected(master, conf)
    # Only this attribute finds the session of another thread.
    running = SparkContext._active_spark_context
    if running is None:
        _prepare(master)
        chosen = settings(master, conf, shows_progress=shows_progress)
    elif running.master == master:
        chosen = {name: _spelled(value) for name, value in conf.items()}
    else:
        raise UsageError(
            f"Spark already runs in this process, at {running.master}: stop() that "
            f"session before you start {master}, or use it after "
            "headrace.spark.register(spark)"
        )
    builder = SparkSession.builder.master(master).appName(app_name)
    for name, value in chosen.items():
        builder = builder.config(name, value)
    try:
        if running is None:
            with deferred_interrupts():
                _start_context(master, app_name, chosen)
        with deferred_interrupts():
            spark = builder.getOrCreate()
            register(spark)
    except (PySparkRuntimeError, Py4JError) as error:
        # PySpark may know only that Java ended; Java printed the reason on stderr.
        reason = _reason(error)
        raise UsageError(f"Spark did not start at {master}: {reason}") from error
    return spark


def session_at(place: Place, *, shows_progress: bool = False) -> SparkSession:
    """Return the session of a place, made ready for tasks; see `session`."""
    if isinstance(place, str):
        return session(place, "headrace", {}, shows_progress=shows_progress)
    _use_this_python(place)
    return place


def _connected(url: str, conf: Mapping[str, object]) -> SparkSession:
    """Return the session at a server of Spark Connect."""
    if find_spec("grpc") is None:
        raise UsageError(
            "sc:// needs more packages; run: pip install 'pyspark[connect]'"
        )
    _reach(url)
    builder = SparkSession.builder.remote(url)
    for name, value in conf.items():
        builder = builder.config(name, _spelled(value))
    try:
        spark = builder.getOrCreate()
        register(spark)
    except PySparkException as error:
        raise UsageError(f"no session at {url}: {_reason(error)}") from error
    return spark


def _start_context(master: str, app_name: str, chosen: Mapping[str, str]) -> None:
    """Start Java; from then on PySpark cancels all jobs on Ctrl-C."""
    conf = SparkConf().setMaster(master).setAppName(app_name)
    SparkContext.getOrCreate(conf.setAll(list(chosen.items())))


def _prepare(master: str) -> None:
    """Set the environment that Java needs, and check that the master can be reached."""
    java = ensure_java()
    if not os.environ.get("JAVA_HOME") and shutil.which("java") != str(java):
        # Spark itself would not find it.
        os.environ["JAVA_HOME"] = str(java.parent.parent)
    _reach(master)
    if is_local(master):
        # Spark's own default is the `python3` of the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name in _ECHOING_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _reach(master: str) -> None:
    """Raise if the address of the master is known and does not answer; PySpark takes minutes."""
    reasons = []
    for host, port in _addresses(master):
        try:
            socket.create_connection((host, port), _PATIENCE).close()
        except (OSError, OverflowError) as error:
            reasons.append(str(error))
        else:
            return
    if reasons:
        raise MasterUnreachableError(master, reasons[-1])


def _addresses(master: str) -> list[tuple[str, int]]:
    """Return the addresses in the URL of a master, empty if it has none.

    >>> _addresses("spark://a:7077,[::1]:7077"), _addresses("local[2]")
    ([('a', 7077), ('::1', 7077)], [])
    >>> _addresses("sc://host/;token=secret")
    [('host', 15002)]
    """
    scheme, _slashes, rest = master.partition("://")
    if f"{scheme}://" not in (_CONNECT, _STANDALONE):
        return []
    found = []
    for address in rest.partition("/")[0].split(","):
        parts = _ADDRESS.fullmatch(address)
        if parts is None or (parts["port"] is None and scheme != "sc"):
            raise UsageError(f"master {master} is not {scheme}://HOST:PORT")
        port = int(parts["port"] or _CONNECT_PORT)
        found.append((parts["host"].strip("[]"), port))
    return found


def _reason(error: Exception) -> str:
    """Return the message of the error without Java's stack trace."""
    lines = str(error).splitlines() or [type(error).__name__]
    return next((line[2:] for line in lines if line.startswith(": ")), lines[0])


def settings(
    master: str, conf: Mapping[str, object], *, shows_progress: bool = False
) -> dict[str, str]:
    """Return the whole configuration of a session at `master`, as Spark spells it."""
    chosen = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": _spelled(
            not shows_progress and sys.stderr.isatty()
        ),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # A crash in native code then shows the Python stack it came from.
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    }
    if is_local(master):
        # Other machines need not reach a local driver, and its host name need not
        # be resolvable.
        chosen["spark.driver.host"] = "127.0.0.1"
        chosen["spark.driver.bindAddress"] = "127.0.0.1"
    chosen |= {name: _spelled(value) for name, value in conf.items()}
    quiet = f"-Dlog4j2.configurationFile={_log_settings().as_uri()}"
    chosen[_JAVA_OPTIONS] = f"{quiet} {chosen.get(_JAVA_OPTIONS, '')}".rstrip()
    return chosen


def _log_settings() -> Path:
    return Path(str(files("headrace.engines.spark") / "log4j2.properties"))


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# Windows has only some of these signals.
_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP until the block ends.

    If PySpark is interrupted while it starts Java, it leaves a Java process behind that never
    ends; after the start, PySpark fails if it is interrupted between two of its calls.

    A handler that was set in the block stays. A signal without a handler in Python, which
    is ignored or ends the process, is not delayed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs signal handlers in the main thread only
        return
    received: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    before = {
        number: signal.signal(number, note)
        for number in _SIGNALS
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is note:
                signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)
