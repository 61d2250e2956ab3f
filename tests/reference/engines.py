"""One query by two engines, and tasks without Spark."""

import pickle
from dataclasses import astuple

from headrace.engines.spark.asking import TaskRun
from headrace.errors import HeadraceError


def in_process(query, tasks):
    """Run tasks one after the other, with all that passes between processes pickled."""
    query, tasks = pickle.loads(pickle.dumps((query, tasks)))
    for number, task in enumerate(tasks):
        for chunk in TaskRun(query).ask_all(task):
            yield number, pickle.loads(pickle.dumps(chunk))


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
