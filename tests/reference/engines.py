"""One query by two engines, and tasks without Spark."""

import pickle
from dataclasses import astuple
from typing import NamedTuple

from headrace.engines.spark.asking import Chunk, Sorting, TaskRun
from headrace.errors import HeadraceError
from headrace.kernel.programs import SiftedRow
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
    rows = [
        Shuffled(number, fragment, first + each.position, each)
        for number, task in enumerate(tasks)
        for fragment, first, keyed in TaskRun(query).keyed(task)
        for each in elements(keyed)
    ]
    if isinstance(query.shuffle, Sorting):
        rows.sort(key=lambda row: row.of.key, reverse=query.shuffle.descending)
        for row in rows:
            if query.nulls or row.of.line != b"null":
                yield 0, Chunk(0, 0, lines=row.of.line + b"\n")
        return
    firsts = {row.of.key: row for row in reversed(rows)}
    for row in rows:
        if firsts[row.of.key] is row:
            passed_on = SiftedRow(row.row, row.of.offset, row.of.line)
            yield row.task, Chunk(row.fragment, 0, passed_on=[passed_on])


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
