"""Stage metrics: the time, shuffle and memory that Spark counted for our jobs.

Jobs get a *tag*; the status store, which Spark keeps for its web page even without a page, has
the stages of all jobs with that tag. It is read when the work is done. Where it cannot be
read, as over Spark Connect, there are no metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_PATIENCE_MS = 5_000
"""How long to wait until Spark has counted the last tasks."""


@dataclass(frozen=True, slots=True)
class SparkStage:
    """A stage, all its attempts together; times are sums over its tasks."""

    number: int
    name: str
    attempts: int
    tasks: int
    failed_tasks: int
    killed_tasks: int
    seconds: float
    cpu_seconds: float
    gc_seconds: float
    shuffle_read_bytes: int
    shuffle_written_bytes: int
    spilled_memory_bytes: int
    spilled_disk_bytes: int
    peak_memory_bytes: int
    """The peak of execution memory, which tasks hold for sorts and joins outside of Python."""


def tag_jobs(spark: SparkSession, tag: str) -> bool:
    """Tag the further jobs of this thread; false if their metrics could not be read."""
    from pyspark.sql import is_remote

    if is_remote():
        return False
    spark.sparkContext.addJobTag(tag)
    return True


def stages_with(spark: SparkSession, tag: str) -> tuple[SparkStage, ...]:
    """Return the stages of jobs with this tag; later jobs of this thread do not get it."""
    from py4j.protocol import Py4JError

    context = spark.sparkContext
    context.removeJobTag(tag)
    try:
        java = context._jsc.sc()
        java.listenerBus().waitUntilEmpty(_PATIENCE_MS)
        jobs = java.statusTracker().getJobIdsForTag(tag)
        status = java.statusStore()
        numbers = {
            number for job in jobs for number in _each(status.job(job).stageIds())
        }
        found = [_stage(status, number) for number in sorted(numbers)]
    except (Py4JError, AttributeError):
        # Another version of Spark has other names, or has dropped old stages.
        return ()
    return tuple(stage for stage in found if stage is not None)


def _stage(status: Any, number: int) -> SparkStage | None:  # noqa: ANN401
    last = status.lastStageAttempt(number)
    # Without the tasks one by one, and without their quantiles.
    details, of_status, summaries, quantiles = False, None, False, None
    attempts = [
        status.stageAttempt(number, each, details, of_status, summaries, quantiles)._1()
        for each in range(last.attemptId())
    ]
    attempts.append(last)
    if not sum(each.numCompleteTasks() + each.numFailedTasks() for each in attempts):
        return None  # skipped: another job had its result already

    def total(what: str) -> int:
        return sum(int(getattr(each, what)()) for each in attempts)

    return SparkStage(
        number=number,
        name=str(last.name()).partition(" at ")[0],
        attempts=len(attempts),
        tasks=total("numCompleteTasks"),
        failed_tasks=total("numFailedTasks"),
        killed_tasks=total("numKilledTasks"),
        seconds=total("executorRunTime") / 1e3,
        cpu_seconds=round(total("executorCpuTime") / 1e9, 3),
        gc_seconds=total("jvmGcTime") / 1e3,
        shuffle_read_bytes=total("shuffleReadBytes"),
        shuffle_written_bytes=total("shuffleWriteBytes"),
        spilled_memory_bytes=total("memoryBytesSpilled"),
        spilled_disk_bytes=total("diskBytesSpilled"),
        peak_memory_bytes=max(int(each.peakExecutionMemory()) for each in attempts),
    )


def _each(several: Any) -> Iterator[int]:  # noqa: ANN401
    """Yield the elements of a Scala sequence."""
    for at in range(several.size()):
        yield several.apply(at)
