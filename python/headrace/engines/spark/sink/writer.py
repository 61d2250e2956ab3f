"""The classes that PySpark calls for ``df.write`` and ``writeStream`` with ``format("headrace")``.

A `HeadraceWriter` is made on the driver, in a process without a SparkSession, and
pickled to the tasks and to another such process for the commit; so it contains plain data
only. Spark may run a task twice, even at the same time; `commit` receives the message of
one attempt at each task, and the job removes the staged parts of the other attempts.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headrace.engines.spark.session.version_guard import SameVersion
from headrace.engines.spark.sink.options import begin_job, check_partition, path_keys
from headrace.errors import BadRecordError, UnwritableRecordError, UsageError
from headrace.store.shards.job.job import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from headrace.engines.spark.sink.options import StreamWriteOptions, WriteOptions
    from headrace.store.shards.metadata import Part
    from headrace.store.shards.write.set_writer import AttemptWriter

_LEFT_OUT = "a read with the option mode=DROPMALFORMED leaves such lines out"


@dataclass(frozen=True)
class StagedParts(WriterCommitMessage):
    """The parts that an attempt at a task has staged."""

    task: int
    parts: tuple[Part, ...]


class HeadraceWriter(DataSourceArrowWriter):
    """One write: the driver runs its job, the tasks write its rows."""

    def __init__(
        self,
        options: WriteOptions,
        schema: StructType,
        *,
        overwrite: bool,
        token: str | None = None,
    ) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        from headrace.engines.spark.sink.arrow_to_json import (
            check_schema,
            is_raw,
            may_be_bad,
        )

        try:
            arrow_schema = to_arrow_schema(schema, timezone="UTC")
        except ValueError as error:
            # PySpark has no Arrow type for the elements of `array()`.
            raise UsageError(
                f"the frame cannot be written: {error}; cast columns without a type, such "
                "as array() or null"
            ) from error
        check_schema(arrow_schema)
        if not is_raw(arrow_schema, lines=options.lines):
            check_partition(options.partition_by, arrow_schema.names)
        self._version = SameVersion()  # unpickled first
        self._options = options
        self._job = begin_job(
            options,
            overwrite=overwrite,
            validate=may_be_bad(arrow_schema, lines=options.lines),
            token=token,
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedParts:
        task = TaskContext.get().partitionId()
        if self._job.done:
            return StagedParts(task, ())
        with self._job.attempt(task, path_keys(self._job.partition_by)) as rows:
            for batch in iterator:
                self._write(batch, rows, task)
            return StagedParts(task, rows.close())

    def _write(self, batch: pa.RecordBatch, rows: AttemptWriter, task: int) -> None:
        from headrace.engines.spark.sink.arrow_to_json import is_raw, json_lines
        from headrace.kernel.arrow.lines import NoJsonError

        before, target = rows.records, self._job.home.names.text
        skip_nulls, null_for_nan = self._options.skip_nulls, self._options.null_for_nan
        try:
            for lines in json_lines(
                batch,
                skip_nulls=skip_nulls,
                null_for_nan=null_for_nan,
                raw=self._options.lines,
            ):
                rows.write_lines(lines)
        except (NoJsonError, BadRecordError) as error:
            if isinstance(error, NoJsonError):
                row, what = before + error.row, f"column {error.path}: {error.reason}"
            else:
                row, what = error.record - 1, f"byte {error.offset}: {error.reason}"
            if is_raw(batch.schema, lines=self._options.lines):
                what += f" ({_LEFT_OUT})"
            raise UnwritableRecordError(target, task, row, what) from None

    def commit(
        self, messages: list[WriterCommitMessage | None], batch: Batch | None = None
    ) -> None:
        staged = [each for each in messages if isinstance(each, StagedParts)]
        if len(staged) != len(messages):
            # Committing the others would lose rows.
            raise AssertionError("a task ended without a commit message")
        if not self._job.done:
            staged.sort(key=lambda each: each.task)
            self._job.commit((each.parts for each in staged), batch=batch)
        self._job.close()

    # Spark also calls it after a failed `commit`, even if the set was already published.
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        staged = [each for each in messages if isinstance(each, StagedParts)]
        if len(staged) != len(messages):
            # Otherwise `commit` ran, and readers may already see the parts.
            self._job.drop(part for each in staged for part in each.parts)
        self._job.close()


_QUERY = "sql.streaming.queryId"
"""The id that Spark keeps in the checkpoint directory; a new directory gets a new id."""


@dataclass(frozen=True)
class StagedBatch(WriterCommitMessage):
    """The parts that an attempt at a task of a batch has staged."""

    staged: StagedParts
    query: str


class StreamWriter(DataSourceStreamArrowWriter):
    """One batch, a separate job: the driver runs it, the tasks write its rows.

    A writer is made before each batch, pickled to the tasks, and made once more in another process
    for the commit; all of them derive the directory of staged parts from the name of the stream.
    Only tasks know the id of their query, so they return it with their parts.
    """

    def __init__(
        self, options: StreamWriteOptions, schema: StructType, *, overwrite: bool
    ) -> None:
        token = sha256(options.stream.encode()).hexdigest()[:16]
        self._batches = HeadraceWriter(
            options.write, schema, overwrite=overwrite, token=token
        )
        self._stream = options.stream

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedBatch:
        query = TaskContext.get().getLocalProperty(_QUERY)
        return StagedBatch(self._batches.write(iterator), query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        staged = [each for each in messages if isinstance(each, StagedBatch)]
        if len(staged) != len(messages) or len({each.query for each in staged}) != 1:
            # Committing the others would lose rows.
            raise AssertionError("a task ended without a commit message")
        batch = Batch(self._stream, staged[0].query, batchId)
        self._batches.commit([each.staged for each in staged], batch)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        self._batches.abort(
            [
                each.staged if isinstance(each, StagedBatch) else each
                for each in messages
            ]
        )
