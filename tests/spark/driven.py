"""A stream whose reader is driven by hand, as Spark would, without Java.

Offsets go through JSON as they do in a checkpoint directory; a *restart* is a new reader that
knows nothing but those.
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
    """Return a value as it is in another process."""
    return PICKLED.loads(PICKLED.dumps(value))


class Stream:
    """A streaming read and its checkpoint: the offsets of batches, of which all were done."""

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
        """Run a batch; return its rows, None if there is nothing to read."""
        planned = self.plan(limit)
        return None if planned is None else self.run(planned)

    def plan(self, limit=None):
        """Say how far the next batch goes, as Spark writes down before it begins."""
        start = self.end
        if start is None:
            start = self.reader.initialOffset()
            self._end = json.dumps(start)
        limit = self.reader.getDefaultReadLimit() if limit is None else limit
        end = json.dumps(self.reader.latestOffset(json.loads(self._end), limit))
        return None if end == self._end else end

    def run(self, end):
        """Run a batch up to an offset, and be done with it."""
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
        """Run batches until there is nothing more of what there is now."""
        self.reader.prepareForTriggerAvailableNow()
        batches = []
        while (rows := self.batch()) is not None:
            batches.append(rows)
        self.restart()
        return batches

    def rest(self):
        """Return all rows that are there."""
        return [row for batch in self.available_now() for row in batch]


EVERYTHING = ReadAllAvailable()
