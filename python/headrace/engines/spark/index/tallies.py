"""Tallies by tasks: check every line of files, with the result of a local scan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.engines.rows.tally import TallyTasks
from headrace.engines.spark.source.partitions import absolute, packed
from headrace.errors import HeadraceError
from headrace.kernel.tally import Stats
from headrace.physical.fragment import fragments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.engines.index.jobs import RunEach
    from headrace.engines.rows.tally import Tallying
    from headrace.store.files.source import Source


def tally_by_tasks(
    sources: Sequence[Source],
    how: Tallying,
    run_each: RunEach,
    partition_bytes: int,
    tell: Callable[[int, int], object] | None = None,
) -> Stats:
    """Count the lines of all sources by kind."""
    cut = [fragments(absolute(source), partition_bytes) for source in sources]
    tasks = tuple(packed((part for file in cut for part in file), partition_bytes))
    try:
        done = run_each(TallyTasks(tasks, how), len(tasks), tell)
    except HeadraceError as error:
        raise _in_our_words(error, sources) from error
    found = iter([each for task in done for each in task])
    total = Stats()
    for source, parts in zip(sources, cut, strict=True):
        of_file = Stats()
        for _part in parts:
            of_file += next(found).after(of_file.lines)
        # Tasks have absolute paths; the result has the given ones.
        bad = (replace(each, path=source.location) for each in of_file.first_bad)
        total += replace(of_file, first_bad=tuple(bad))
    return total


def _in_our_words(error: HeadraceError, sources: Sequence[Source]) -> HeadraceError:
    """Return the error with the path of the file as it was given."""
    path, *facts = error.args
    for source in sources:
        if path == absolute(source).location:
            return type(error)(source.location, *facts)
    return error
