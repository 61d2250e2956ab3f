"""The Spark that a pipeline runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.engines.spark.extra import needing_pyspark
from headrace.engines.spark.shared import refuse_unshared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from pyspark.sql import SparkSession

    TellTasks: TypeAlias = Callable[[int, int], object]

T = TypeVar("T")


class Session:
    """A session, given or started when the first task needs it."""

    def __init__(
        self,
        name: str,
        master: str,
        spark: SparkSession | None,
        conf: Mapping[str, object],
    ) -> None:
        self._conf = conf
        self._name = f"headrace {name}"
        self._master = master
        self._spark = spark
        self.master: str | None = None
        """Where it runs, if anybody needed it."""

    def refuse_unshared(self, path: Path) -> None:
        """Raise if tasks may run where `path` is another directory than here."""
        master = self._master
        if self._spark is not None:
            from pyspark.sql import is_remote

            from headrace.engines.spark.session import tasks_at

            # What is local to a server of Spark Connect need not be so to us.
            master = "Spark Connect" if is_remote() else tasks_at(self._spark)
        refuse_unshared(path, master)

    def get(self) -> SparkSession:
        """Return the session."""
        with needing_pyspark():
            from headrace.engines.spark.session import register, session
        if self._spark is None:
            self._spark = session(self._master, self._name, self._conf)
        elif self.master is None:
            register(self._spark)
        self.master = str(self._spark.conf.get("spark.master"))
        return self._spark

    def run_each(
        self, do: Callable[[int], T], count: int, tell: TellTasks | None = None
    ) -> list[T]:
        """Do tasks 0 to `count`, and return their results in that order."""
        if count == 0:
            return []
        spark = self.get()
        from headrace.engines.spark.tasks import run_each

        return run_each(spark, do, count, tell)
