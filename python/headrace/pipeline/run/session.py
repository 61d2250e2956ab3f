"""The Spark session of a pipeline run, and the context that its jobs share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from uuid import uuid4

from headrace.engines.spark.session.master import (
    check_master,
    master_of,
    needing_pyspark,
    refuse_unshared,
)
from headrace.engines.spark.tasks.stage_metrics import stages_with, tag_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from pyspark.sql import SparkSession

    from headrace.engines.index.collect import ScanOptions
    from headrace.engines.index.set_slices import MakeSegments
    from headrace.engines.spark.tasks.stage_metrics import SparkStage
    from headrace.pipeline.run.inputs import Inputs
    from headrace.pipeline.spec import Pipeline
    from headrace.pipeline.state.layout import Layout

    TellTasks: TypeAlias = Callable[[int, int], object]

T = TypeVar("T")


class Session:
    """A Spark session, given, or started for the first task."""

    def __init__(
        self,
        name: str,
        master: str,
        spark: SparkSession | None,
        *,
        shows_progress: bool,
    ) -> None:
        self._shows_progress = shows_progress
        self._name = f"headrace {name}"
        self._master = master
        self._spark = spark
        self.master: str | None = None
        """The master, if the session was needed."""
        self._tag: str | None = None
        self._is_tagged = False

    def refuse_unshared(self, path: Path) -> None:
        """Raise if tasks may run on machines where `path` is another directory."""
        if self._spark is None:
            check_master(self._master)
        refuse_unshared(path, master_of(self._spark or self._master))

    def get(self) -> SparkSession:
        """Return the session."""
        with needing_pyspark():
            from headrace.engines.spark.session.session import register, session
        if self._spark is None:
            self._spark = session(
                self._master, self._name, {}, shows_progress=self._shows_progress
            )
        elif self.master is None:
            register(self._spark)
        self.master = str(self._spark.conf.get("spark.master"))
        if self._tag is not None and not self._is_tagged:
            self._is_tagged = tag_jobs(self._spark, self._tag)
        return self._spark

    @contextmanager
    def counted(self) -> Iterator[list[SparkStage]]:
        """Yield a list that has the Spark stages of the block at its end."""
        self._tag = f"headrace-{uuid4().hex}"
        stages: list[SparkStage] = []
        try:
            yield stages
        finally:
            if self._is_tagged and self._spark is not None:
                stages += stages_with(self._spark, self._tag)
            self._tag, self._is_tagged = None, False

    def run_each(
        self, do: Callable[[int], T], count: int, tell: TellTasks | None = None
    ) -> list[T]:
        """Run tasks 0 to `count`, and return their results in that order."""
        if count == 0:
            return []
        spark = self.get()
        from headrace.engines.spark.tasks.jobs import run_each

        return run_each(spark, do, count, tell)

    def make_segments(self, options: ScanOptions, task_bytes: int) -> MakeSegments:
        """Return the maker of segments of a set index, in tasks."""
        spark = self.get()
        from headrace.engines.spark.index.set_segments import ByTasks

        return ByTasks(spark, task_bytes, options)


class RunContext(NamedTuple):
    """The pipeline of a run, its directory, its session, and the files of its named sources."""

    pipeline: Pipeline
    layout: Layout
    session: Session
    named: Mapping[str, Inputs]
