"""One query by two engines, and tasks without Spark."""

import pickle
from dataclasses import astuple
from typing import NamedTuple

from headrace.engines.spark.asking import Chunk, TaskRun
from headrace.errors import HeadraceError
from tests.reference.keyed_rows import elements


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
    """Do what a shuffle does, with Python's own sort."""
    rows = [
        Shuffled(number, fragment, first + each.position, each.line, each.key)
        for number, task in enumerate(tasks)
        for fragment, first, keyed in TaskRun(query).keyed(task)
        for each in elements(keyed)
    ]
    rows.sort(key=lambda row: row.key, reverse=query.shuffle.descending)
    for row in rows:
        if query.nulls or row.line != b"null":
            yield 0, Chunk(0, 0, lines=row.line + b"\n")


class Shuffled(NamedTuple):
    """An element with its place."""

    task: int
    fragment: int
    row: int
    line: bytes
    key: bytes


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
