"""Stream writer: the class that PySpark calls for ``writeStream.format("headrace")``.

Each batch is a separate job (`headrace.engines.spark.sink.writer`). A `StreamWriter` is made
before it, pickled to the tasks, and made once more in another process for the commit; all of
them derive the directory of staged parts from the name of the stream. Only tasks know the id
of their query, so they return it with their parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from headrace.engines.spark.sink.writer import HeadraceWriter, StagedParts
from headrace.store.shards.job.job import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from headrace.engines.spark.sink.options import StreamWriteOptions

_QUERY = "sql.streaming.queryId"
"""The id that Spark keeps in the checkpoint directory; a new directory gets a new id."""


@dataclass(frozen=True)
class StagedBatch(WriterCommitMessage):
    """The parts that an attempt at a task of a batch has staged."""

    staged: StagedParts
    query: str


class StreamWriter(DataSourceStreamArrowWriter):
    """One batch: the driver runs its job, the tasks write its rows."""

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
