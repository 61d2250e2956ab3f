"""The classes that PySpark calls for ``spark.read.format("headrace")``.

A `HeadraceSource` and its `HeadraceReader` are made on the driver, in a process
without a SparkSession, pickled, and sent to the tasks; so they hold plain data
only, and the kernel is reached in `read` alone.

There is no `pushFilters`, on purpose: Spark 4.3 keeps the filters of one use of
a DataFrame for the next use of it, and answers wrongly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from headrace.engines.spark.columns import DEFAULT_SCHEMA, Column, checked
from headrace.engines.spark.options import ReadOptions, read_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql.types import StructType


class HeadraceSource(DataSource):
    """Newline-delimited JSON files as rows of raw lines with their positions."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._read_options = read_options(options)

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str:
        return DEFAULT_SCHEMA

    # Spark calls it with `schema=`.
    def reader(self, schema: StructType) -> HeadraceReader:
        columns = checked(
            Column(field.name, field.dataType.simpleString(), field.nullable)
            for field in schema.fields
        )
        return HeadraceReader(self._read_options, columns)


class HeadraceReader(DataSourceReader):
    """One read: its partitions on the driver, their rows in the tasks."""

    def __init__(self, options: ReadOptions, columns: tuple[Column, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        from headrace.engines.spark.splits import plan

        number_rows = any(column.name == "_row" for column in self._columns)
        return [
            InputPartition(fragments)
            for fragments in plan(self._options, number_rows=number_rows)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from headrace.engines.spark.batches import read_fragment

        # Spark makes up a partition of None where there are no files.
        for fragment in partition.value or ():
            yield from read_fragment(
                fragment,
                self._columns,
                max_line=self._options.max_line,
                batch_bytes=self._options.batch_bytes,
            )
