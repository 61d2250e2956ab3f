"""One query by two engines, and tasks without Spark."""

import pickle
from collections import defaultdict
from dataclasses import astuple
from typing import NamedTuple

from headrace.engines.spark.asking import Chunk, Firsts, Joined, Sorting, TaskRun
from headrace.errors import HeadraceError
from headrace.kernel.order_keys import KeyedRows
from headrace.kernel.programs import SiftedRow, Sources, Stage, StreamQuery
from headrace.kernel.rows import RowBatch
from tests.reference.keyed_rows import Element, elements


def in_process(query, tasks):
    """Run tasks one after the other, with all that passes between processes pickled."""
    query, tasks = pickle.loads(pickle.dumps((query, tasks)))
    if query.gives == "shuffled":
        yield from shuffled_in_process(query, tasks)
        return
    for number, task in enumerate(tasks):
        for chunk in TaskRun(query).ask_all(task):
            yield number, pickle.loads(pickle.dumps(chunk))


def shuffled_in_process(query, tasks):
    """Do what a shuffle does, with Python's own sort and dictionaries."""
    rows = list(keyed_rows(query, tasks))
    match query.shuffle:
        case Sorting(descending=descending):
            rows.sort(key=lambda row: row.of.key, reverse=descending)
            lines = [row.of.line for row in rows]
            wanted = [line for line in lines if query.nulls or line != b"null"]
            yield from ((0, Chunk(0, 0, lines=line + b"\n")) for line in wanted)
        case Firsts():
            firsts = {row.of.key: row for row in reversed(rows)}
            for row in rows:
                if firsts[row.of.key] is row:
                    yield passed_on(row, row.of.line)
        case Joined(join, other, other_tasks):
            lines = defaultdict(list)
            for row in keyed_rows(other, other_tasks):
                lines[row.of.key].append(row.of.line)
            lines.pop(b"", None)
            for row in rows:
                for line in joined(query, join, row.of, lines[row.of.key]):
                    yield passed_on(row, line)


def keyed_rows(query, tasks):
    """Yield all elements in their order, each with its place."""
    for number, task in enumerate(tasks):
        for fragment, first, keyed in TaskRun(query).keyed(task):
            for each in elements(keyed):
                yield Shuffled(number, fragment, first + each.position, each)


def passed_on(row, line):
    """Return an element on its way to the driver."""
    sifted = SiftedRow(row.row, row.of.offset, line)
    return row.task, Chunk(row.fragment, 0, passed_on=[sifted])


def joined(query, join, left, lines):
    """Return what one element becomes, joined with those of its key and no others."""
    filling = StreamQuery(
        [Stage.table(join.kind, join.right_key, None)],
        reduction="count",
        limit=None,
        nulls=True,
        max_memory=1 << 20,
        held_before=0,
        max_depth=256,
        sources=None if query.known is None else Sources(list(query.known), 256),
    )
    filling.answer(RowBatch.of_contents(0, lines), 0)
    stage = Stage.join(join.kind, join.key, filling.table(), join.name)
    keyed = KeyedRows(None, stages=[stage]).of(RowBatch.of_contents(0, [left.line]))
    return [element.line for element in elements(keyed)]


class Shuffled(NamedTuple):
    """An element with its place."""

    task: int
    fragment: int
    row: int
    of: Element


def outcome(dataset, query, **options):
    """Return all that a run gives: its bytes, its error, what it counted."""
    try:
        result = dataset.query(query, **options)
    except HeadraceError as error:
        return said(error)
    lines, error = [], None
    try:
        lines.extend(result.lines())
    except HeadraceError as raised:
        error = said(raised)
    stats = result.stats
    counts = (stats.rows, stats.emitted, stats.filtered, stats.skipped, stats.blank)
    errors = [said(each) for each in stats.errors]
    named = [(name, astuple(counts)) for name, counts in stats.named]
    return b"".join(lines), error, counts, stats.bad, errors, named


def said(error):
    """Return all that an error knows."""
    return type(error).__name__, error.args, str(error)
