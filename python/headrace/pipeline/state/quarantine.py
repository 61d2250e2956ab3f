"""Quarantine: files of rejected rows, with their line numbers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.engines.rows.step_tasks import OTHER_REASONS, Numbering, NumberingTasks
from headrace.engines.spark.source.partitions import first_row
from headrace.pipeline.state.ledger import QuarantineFile
from headrace.store.files import system

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.engines.rows.step_tasks import RowsDone, RowTasks
    from headrace.pipeline.run.session import Session

_REASONS = 20
"""Limit on the distinct reasons in a ledger."""


def write_down(
    session: Session,
    tasks: RowTasks,
    done: Sequence[RowsDone],
    target: Callable[[int], Path],
) -> tuple[tuple[QuarantineFile, ...], dict[str, int]]:
    """Write the rejected rows of each task to a file; return the files, and the reasons.

    The files are written in the staging directory, where leftovers of killed tasks do no harm, and
    moved.
    """
    before = _rows_before(tasks, done)
    staged = {
        task: each.rejected
        for task, each in enumerate(done)
        if each.rejected is not None
    }
    targets = {task: target(task) for task in staged}
    files = tuple(
        Numbering(tasks.staging / staged[task], before[task], tasks.staging / path.name)
        for task, path in targets.items()
    )
    results = session.run_each(NumberingTasks(files), len(files))
    reasons: Counter[str] = Counter()
    listed = []
    for path, found in zip(targets.values(), results, strict=True):
        for made in tasks.staging.glob(f"{path.name}*"):
            system.calls.rename(made, path.with_name(made.name))
        reasons.update(found)
        listed.append(QuarantineFile(path.name, sum(found.values())))
    return tuple(listed), commonest(reasons)


def _rows_before(tasks: RowTasks, done: Sequence[RowsDone]) -> list[tuple[int, ...]]:
    """Return, for the fragments of each task, the number of rows before them in their files."""
    so_far: Counter[str] = Counter()
    rejected = any(each.rejected for each in done)
    before = []
    for fragments, each in zip(tasks.fragments, done, strict=True):
        of_task = []
        for fragment, rows in zip(fragments, each.rows, strict=True):
            path = fragment.source.location
            if fragment.start == 0:
                # A file may be read twice; then the count begins again.
                so_far[path] = 0
            elif path not in so_far:
                # Another job has read the rows before it.
                so_far[path] = first_row(fragment) if rejected else 0
            of_task.append(so_far[path])
            so_far[path] += rows
        before.append(tuple(of_task))
    return before


def commonest(reasons: Counter[str]) -> dict[str, int]:
    """Return the commonest reasons, and after them the sum of the others.

    >>> commonest(Counter({"other reasons": 9, "validate: it is not JSON": 2}))
    {'validate: it is not JSON': 2, 'other reasons': 9}
    """
    known = Counter(reasons)
    del known[OTHER_REASONS]
    common = dict(known.most_common(_REASONS))
    if others := reasons.total() - sum(common.values()):
        common[OTHER_REASONS] = others
    return common
