"""A row provider for CSV, which uses only the public protocol."""

import csv
import io
import json

import headrace


class CsvRows(headrace.RowProvider):
    """Provides the records of a CSV text as objects of strings; the first names the fields."""

    def __init__(self, text, *, location="table.csv", lanes=True, positions=True):
        self.location = location
        self.decoded = 0
        self.requested = []
        self.cancelled = 0
        self.taken = 0
        self._lanes = lanes
        self._positions = positions
        self._text = io.StringIO(text, newline="")
        self._reader = csv.reader(self._text)
        self._header = next(self._reader, [])
        self._wanted = range(len(self._header))
        self._place = headrace.Position(1, 0)
        self._scratch = bytearray()
        # Counted separately, since the CSV reader reads ahead.
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))

    def capabilities(self):
        return headrace.Capabilities(positions=self._positions, lanes=self._lanes)

    def request_lanes(self, lanes):
        self.requested.append(lanes)
        if self._lanes and lanes.fields is not None:
            self._wanted = [
                at for at, name in enumerate(self._header) if name in lanes.fields
            ]

    def next_row(self):
        if self.cancelled:
            return None
        first = self._reader.line_num
        record = next(self._reader, None)
        if record is None:
            return None
        self.taken += 1
        self.decoded += len(self._wanted)
        self._place = headrace.Position(first + 1, self._starts[first])
        row = {self._header[at]: record[at] for at in self._wanted if at < len(record)}
        # The memory of the last row is reused.
        self._scratch[:] = json.dumps(row).encode()
        return memoryview(bytes(self._scratch))

    def position(self):
        return self._place

    def cancel(self):
        self.cancelled += 1
