"""``headrace row``: rows by number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.cli.argument import FILE, Argument
from headrace.cli.flags import READING
from headrace.errors import RowOutOfRangeError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from headrace.api.dataset import Batch, Dataset
    from headrace.cli.console import Console

ABOUT = """\
Rows are numbered from 0; a negative number counts from the end. N:M are the rows
from N up to M, without M; either may be left out. A range may reach past the end, a
single row may not.

After a large file was read to its end, the places of its rows are stored beside it (see
--index-dir and --no-index), and any row is found without reading those before it."""

EXAMPLES = """\
headrace row app.jsonl 0  # the first row
headrace row app.jsonl -1  # the last row
headrace row app.jsonl 20:23  # rows 20, 21 and 22
headrace row app.jsonl -5:  # the last five
"""

ARGUMENTS = (
    FILE,
    Argument("rows", "rows", "the row, or the range of rows", metavar="N[:M]"),
    *READING,
)


def run(options: Namespace, console: Console) -> int:
    """Print the rows."""
    from headrace.cli.io.inputs import print_rows

    single = options.rows.single
    choose = _one if single else _some
    return print_rows(
        lambda dataset: choose(dataset, options),
        options.file,
        options,
        console,
        must_deliver=single,
    )


def _one(dataset: Dataset[bytes], options: Namespace) -> Iterable[Batch]:
    row: int = options.rows.start
    if row >= 0:
        found = list(dataset.batches(row, row + 1))
    else:
        found = _from_the_end(dataset, -row)
    if not found:
        raise RowOutOfRangeError(options.file, row, len(dataset))
    return found


def _from_the_end(dataset: Dataset[bytes], distance: int) -> list[Batch]:
    from headrace.cli.io.inputs import MOST_HELD

    if distance > MOST_HELD:
        row = len(dataset) - distance
        return list(dataset.batches(row, row + 1)) if row >= 0 else []
    found = dataset.tail_batches(distance)
    if sum(len(batch.rows) for batch in found) < distance:
        return []
    return [replace(found[0], rows=found[0].rows.slice(0, 1))]


def _some(dataset: Dataset[bytes], options: Namespace) -> Iterable[Batch]:
    from headrace.cli.io.inputs import last_rows

    start, stop, _single = options.rows
    if start is not None and start < 0 and stop is None:
        return last_rows(dataset, -start)
    if (start or 0) < 0 or (stop or 0) < 0:
        wanted = range(len(dataset))[start:stop]
        start, stop = wanted.start, wanted.stop
    return dataset.batches(start or 0, stop)
