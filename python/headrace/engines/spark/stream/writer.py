"""What PySpark calls for ``writeStream.format("headrace")``.

Each batch is a job of its own (`headrace.engines.spark.sink.writer`). A `StreamWriter` is made
before it, pickled to the tasks, and made once more in another process for the commit; all of
them agree on where parts are put aside by the name of the stream. Only tasks are told which
query they are of, so they pass it on.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from headrace.engines.spark.sink.writer import HeadraceWriter, PartsAside
from headrace.store.shards.job.stream_batches import Batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from headrace.engines.spark.sink.options import StreamWriteOptions

_QUERY = "sql.streaming.queryId"
"""The id that Spark keeps in the checkpoint directory: a query has another one without it."""


@dataclass(frozen=True)
class BatchAside(WriterCommitMessage):
    """What an attempt at a task of a batch has put aside."""

    aside: PartsAside
    query: str


class StreamWriter(DataSourceStreamArrowWriter):
    """One batch: its job on the driver, its rows in the tasks."""

    def __init__(
        self, options: StreamWriteOptions, schema: StructType, *, overwrite: bool
    ) -> None:
        token = sha256(options.stream.encode()).hexdigest()[:16]
        self._batches = HeadraceWriter(
            options.write, schema, overwrite=overwrite, token=token
        )
        self._stream = options.stream

    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchAside:
        query = TaskContext.get().getLocalProperty(_QUERY)
        return BatchAside(self._batches.write(iterator), query)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        told = [each for each in messages if isinstance(each, BatchAside)]
        if len(told) != len(messages) or len({each.query for each in told}) != 1:
            # Committing the others would lose rows.
            raise AssertionError("a task is said to be done, but has told nothing")
        batch = Batch(self._stream, told[0].query, batchId)
        self._batches.commit([each.aside for each in told], batch)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803, ARG002
        self._batches.abort(
            [each.aside if isinstance(each, BatchAside) else each for each in messages]
        )
