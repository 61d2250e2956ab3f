"""Stream reader: the class that PySpark calls for ``spark.readStream.format("headrace")``.

One `StreamReader` lives as long as its query, in a Python process beside the driver, and
chooses the end of each batch. Others are made for each batch and pickled to the tasks, which
read the fragments of the batch as in any read. Therefore offsets contain the whole state of a
stream; the attributes of a reader are only caches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from headrace.engines.spark.stream.offset import Offset, Place, decode, encode
from headrace.engines.spark.stream.options import Budget, StreamOptions
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from headrace.engines.spark.source.data_source import Reader
    from headrace.engines.spark.stream.inputs import StreamInput


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One streaming read: the driver plans its batches, the tasks read their rows."""

    def __init__(self, options: StreamOptions, rows: Reader) -> None:
        self._rows = rows  # unpickled first, checks the version
        self._options = options
        self._source: StreamInput | None = None
        self._target: Mapping[str, Place] | None = None

    @property
    def _input(self) -> StreamInput:
        if self._source is None:
            from headrace.engines.spark.stream.inputs import stream_input

            self._source = stream_input(self._options, numbered=self._rows.numbered)
        return self._source

    def initialOffset(self) -> Offset:  # noqa: N802, Spark calls it so
        source, starting = self._input, self._options.starting
        match starting.lower():
            case "earliest":
                return encode(source.kind, source.earliest())
            case "latest":
                return encode(source.kind, source.latest())
            case _:
                return self._given(starting)

    def _given(self, text: str) -> Offset:
        # Spark imports this module to discover the format; the compiled core loads later.
        from headrace.kernel.values import InvalidJsonError, parse

        try:
            offset = parse(text.encode())
        except InvalidJsonError:
            offset = None
        if not isinstance(offset, dict):
            raise UsageError(
                f"option startingOffsets is {text}; it must be earliest, latest or an offset as JSON"
            )
        return encode(self._input.kind, self._places(offset))

    def _places(self, offset: Offset) -> dict[str, Place]:
        return decode(offset, self._input.kind, self._input.place)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        budget = self._options.budget
        if budget.max_bytes is not None:
            return ReadMaxBytes(budget.max_bytes)
        if budget.max_rows is not None:
            return ReadMaxRows(budget.max_rows)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._input.latest()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        # Spark passes one limit only, so `limit` just shows whether there is a limit.
        everything = isinstance(limit, ReadAllAvailable)
        budget = Budget() if everything else self._options.budget
        source = self._input
        latest = source.latest() if self._target is None else self._target
        return encode(source.kind, source.within(self._places(start), latest, budget))

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        return encode(self._input.kind, self._input.latest())

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        from headrace.engines.spark.source.partitions import packed

        files = self._input.fragments(self._places(start), self._places(end))
        flat = (fragment for file in files for fragment in file)
        most = self._options.read.partition_bytes
        return [InputPartition(fragments) for fragments in packed(flat, most)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._rows.read(partition)
