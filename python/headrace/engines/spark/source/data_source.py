"""The format "headrace": the classes that PySpark calls to read and write it.

A `HeadraceSource` and its readers are made on the driver, in a process
without a SparkSession, pickled, and sent to the tasks; so they contain plain data
only, and only `read` calls the kernel.

A read returns *lines* (every line is a row, and is not parsed) or *records* (each
row is parsed); its columns and options decide which.

There is no `pushFilters`, on purpose: Spark 4.3 keeps the filters of one use of
a DataFrame for the next use of it, and answers wrongly.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from headrace.engines.spark.session.master import refuse_unshared
from headrace.engines.spark.session.version_guard import SameVersion, freeze_when_warm
from headrace.engines.spark.sink.options import (
    is_write,
    stream_write_options,
    write_options,
)
from headrace.engines.spark.source.meta_columns import (
    DEFAULT_SCHEMA,
    NUMBERED,
    RAW,
    Column,
    checked,
    of_lines,
)
from headrace.engines.spark.source.options import ReadOptions, local_path, read_options
from headrace.engines.spark.stream.options import stream_options
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.engines.spark.sink.writer import HeadraceWriter, StreamWriter
    from headrace.engines.spark.source.record_batches import Quarantine, Records
    from headrace.engines.spark.stream.reader import StreamReader


class HeadraceSource(DataSource):
    """Newline-delimited JSON files as lines with their positions, or as records."""

    master: ClassVar[str] = ""
    """The master that runs the tasks; empty if it is not known."""

    time_zone: ClassVar[str] = "UTC"
    """The time zone of the session in which the format was registered."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)
        # Spark does not report whether it will read or write; a misspelt option fails here.
        if not is_write(options):
            stream_options(options)

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> str | StructType:
        options = stream_options(self._given).read
        if not (options.infer or options.columns or options.variant):
            return DEFAULT_SCHEMA
        from headrace.engines.spark.source.schema_inference import (
            found_columns,
            spark_struct,
        )

        return StructType.fromJson(spark_struct(found_columns(options)))

    # Spark calls it with `schema=`.
    def reader(self, schema: StructType) -> Reader:
        return self._reader(schema, read_options(self._given))

    def _reader(self, schema: StructType, options: ReadOptions) -> Reader:
        if options.bad_records is not None:
            refuse_unshared(local_path(options.bad_records), self.master)
        columns = checked(
            (
                Column(field.name, field.dataType.simpleString(), field.nullable)
                for field in schema.fields
            ),
            options.corrupt,
        )
        _refuse_ignored(options, schema.names)
        # A read without columns counts records, not lines.
        if schema.names and of_lines(schema.names) and not options.looks_inside:
            return Reader(options, columns)
        from pyspark.sql.pandas.types import to_arrow_schema

        from headrace.engines.spark.source.record_batches import records

        arrow_schema = to_arrow_schema(schema, timezone="UTC")
        zone = options.time_zone or self.time_zone
        planned = records(arrow_schema, columns, options.variant, zone)
        return Reader(options, planned.ours, planned)

    # Spark calls it with the two in this order.
    def writer(self, schema: StructType, overwrite: bool) -> HeadraceWriter:  # noqa: FBT001
        from headrace.engines.spark.sink.writer import HeadraceWriter

        options = write_options(self._given)
        self._refuse_unshared(options.place)
        return HeadraceWriter(options, schema, overwrite=overwrite)

    def _refuse_unshared(self, place: Path | str) -> None:
        # Every machine sees the same object store.
        if isinstance(place, Path):
            refuse_unshared(place, self.master)

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: N802
        from headrace.engines.spark.stream.reader import StreamReader

        options = stream_options(self._given)
        if options.read.infer:
            raise UsageError(
                "the columns of a stream never change: leave inferSchema out, "
                "and name them with .schema(...)"
            )
        return StreamReader(options, self._reader(schema, options.read))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:  # noqa: FBT001, N802
        from headrace.engines.spark.sink.writer import StreamWriter

        freeze_when_warm()
        options = stream_write_options(self._given)
        self._refuse_unshared(options.write.place)
        return StreamWriter(options, schema, overwrite=overwrite)


def _refuse_ignored(options: ReadOptions, names: Sequence[str]) -> None:
    """Raise if an option needs columns that the schema does not have."""
    if options.columns is not None and tuple(names) != options.columns:
        raise UsageError(
            "option columns chooses among inferred columns: leave it out with a "
            "schema, which names its columns itself"
        )
    if options.query is not None and tuple(names) == RAW:
        raise UsageError(
            "option query returns the columns, and the schema names none of them: use "
            ".schema(...) with its fields, or inferSchema"
        )


def source_at(master: str, time_zone: str = "UTC") -> type[HeadraceSource]:
    """Return the source class for a session in a time zone, whose tasks run at `master`.

    Spark makes the source in a process without the session; attributes of the class
    are pickled with it.
    """
    known = {"master": master, "time_zone": time_zone}
    return type(HeadraceSource.__name__, (HeadraceSource,), known)


class Reader(DataSourceReader):
    """One read: the driver plans its partitions, the tasks read their rows.

    Rows with columns that are `planned` are parsed, and blank lines are not rows; otherwise every
    line is a row.
    """

    def __init__(
        self,
        options: ReadOptions,
        columns: tuple[Column, ...],
        planned: Records | None = None,
    ) -> None:
        self._version = SameVersion()  # unpickled first
        self._options = options
        self._columns = columns
        self._planned = planned

    @property
    def numbered(self) -> bool:
        """Whether a column needs row numbers."""
        return any(column.name in NUMBERED for column in self._columns)

    def partitions(self) -> list[InputPartition]:
        from headrace.engines.spark.source.partitions import plan

        return [
            InputPartition(fragments)
            for fragments in plan(self._options, number_rows=self.numbered)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark makes up a partition of None where there are no files.
        fragments = partition.value or ()
        if self._planned is None:
            from headrace.engines.spark.source.line_batches import read_fragment

            for fragment in fragments:
                yield from read_fragment(fragment, self._columns, self._options)
            return
        from headrace.engines.spark.source.record_batches import FragmentReader

        with self._quarantine() as quarantine:
            reader = FragmentReader(self._planned, self._options, quarantine)
            for fragment in fragments:
                yield from reader.read(fragment)

    def _quarantine(self) -> AbstractContextManager[Quarantine | None]:
        from headrace.engines.spark.source.record_batches import Quarantine

        if self._options.bad_records is None:
            return nullcontext()
        task = TaskContext.get()
        attempt = "" if task is None else f"{task.partitionId()}-{task.taskAttemptId()}"
        return Quarantine(self._options.bad_records, attempt)
