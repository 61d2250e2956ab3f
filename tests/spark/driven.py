"""A stream whose reader the test calls as Spark would, without Java.

Offsets pass through JSON as in a checkpoint directory; a *restart* is a new reader that
gets only the offsets.
"""

import json

from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from headrace.engines.spark.source.data_source import HeadraceSource

PICKLED = CloudPickleSerializer()

LINES = StructType(
    [
        StructField("_file", StringType()),
        StructField("_row", LongType()),
        StructField("_raw", BinaryType()),
    ]
)


def sent(value):
    """Return a value as another process unpickles it."""
    return PICKLED.loads(PICKLED.dumps(value))


class Stream:
    """A streaming read and its checkpoint: the offset of the last finished batch."""

    def __init__(self, *paths, schema=LINES, **options):
        self._options = {
            "paths": json.dumps([str(path) for path in paths]),
            **{name.lower(): str(value) for name, value in options.items()},
        }
        self._schema = schema
        self._end = None
        self.restart()

    def restart(self, **options):
        self._options |= {name.lower(): str(value) for name, value in options.items()}
        self.reader = self._made()

    def _made(self):
        return HeadraceSource(dict(self._options)).streamReader(schema=self._schema)

    @property
    def end(self):
        """The offset of the last batch."""
        return None if self._end is None else json.loads(self._end)

    def batch(self, limit=None):
        """Run a batch; return its rows, None without new rows."""
        planned = self.plan(limit)
        return None if planned is None else self.run(planned)

    def plan(self, limit=None):
        """Return the end offset of the next batch, which Spark stores before the batch begins."""
        start = self.end
        if start is None:
            start = self.reader.initialOffset()
            self._end = json.dumps(start)
        limit = self.reader.getDefaultReadLimit() if limit is None else limit
        end = json.dumps(self.reader.latestOffset(json.loads(self._end), limit))
        return None if end == self._end else end

    def run(self, end):
        """Run and finish a batch up to an offset."""
        rows = self.rows(self.end, json.loads(end))
        self._end = end
        return rows

    def rows(self, start, end):
        """Return the rows between two offsets, as tasks in other processes read them."""
        tasks = [sent(each) for each in self.reader.partitions(start, end)]
        reader = sent(self._made())
        return [
            tuple(row.values())
            for task in tasks
            for batch in reader.read(task)
            for row in batch.to_pylist()
        ]

    def available_now(self):
        """Run batches up to the current end."""
        self.reader.prepareForTriggerAvailableNow()
        batches = []
        while (rows := self.batch()) is not None:
            batches.append(rows)
        self.restart()
        return batches

    def rest(self):
        """Return all remaining rows."""
        return [row for batch in self.available_now() for row in batch]


EVERYTHING = ReadAllAvailable()
