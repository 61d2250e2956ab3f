"""What PySpark calls for ``spark.readStream.format("headrace")``.

One `StreamReader` lives as long as its query, in a Python process beside the driver: it says
how far each batch goes. Others are made for each batch and pickled to the tasks, which read
the fragments of the batch as those of any read. So nothing that decides is kept in here:
offsets say all, and what is remembered only saves looking twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from headrace.engines.spark.stream.offset import decode, encode
from headrace.engines.spark.stream.options import Budget
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit

    from headrace.engines.spark.source.data_source import LineReader, RecordReader
    from headrace.engines.spark.stream.inputs import Growing
    from headrace.engines.spark.stream.offset import Offset, Place
    from headrace.engines.spark.stream.options import StreamOptions


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One streaming read: its batches on the driver, their rows in the tasks."""

    def __init__(self, options: StreamOptions, rows: LineReader | RecordReader) -> None:
        self._rows = rows  # the first that is unpickled knows the version
        self._options = options
        self._source: Growing | None = None
        self._target: Mapping[str, Place] | None = None

    @property
    def _growing(self) -> Growing:
        if self._source is None:
            from headrace.engines.spark.stream.inputs import growing

            self._source = growing(self._options, numbered=self._rows.numbered)
        return self._source

    def initialOffset(self) -> Offset:  # noqa: N802, Spark calls it so
        source, starting = self._growing, self._options.starting
        match starting.lower():
            case "earliest":
                return encode(source.kind, source.earliest())
            case "latest":
                return encode(source.kind, source.latest())
            case _:
                return self._given(starting)

    def _given(self, text: str) -> Offset:
        # The compiled core stays out of what Spark imports to discover us.
        from headrace.kernel.values import InvalidJsonError, parse

        try:
            offset = parse(text.encode())
        except InvalidJsonError:
            offset = None
        if not isinstance(offset, dict):
            raise UsageError(
                f"option startingOffsets is {text}; it is earliest, latest or an offset as JSON"
            )
        return encode(self._growing.kind, self._places(offset))

    def _places(self, offset: Offset) -> dict[str, Place]:
        return decode(offset, self._growing.kind, self._growing.place)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        budget = self._options.budget
        if budget.max_bytes is not None:
            return ReadMaxBytes(budget.max_bytes)
        if budget.max_rows is not None:
            return ReadMaxRows(budget.max_rows)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._growing.latest()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        # Spark can pass on one limit only, so it tells no more than whether there are any.
        everything = isinstance(limit, ReadAllAvailable)
        budget = Budget() if everything else self._options.budget
        source = self._growing
        latest = source.latest() if self._target is None else self._target
        return encode(source.kind, source.within(self._places(start), latest, budget))

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        return encode(self._growing.kind, self._growing.latest())

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        from headrace.engines.spark.source.partitions import packed

        files = self._growing.fragments(self._places(start), self._places(end))
        flat = (fragment for file in files for fragment in file)
        most = self._options.read.partition_bytes
        return [InputPartition(fragments) for fragments in packed(flat, most)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._rows.read(partition)
