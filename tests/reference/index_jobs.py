"""Index jobs without Spark: tasks run in this process, pickled as for another one."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from headrace.engines.index.jobs import Target, build_together
from headrace.store.files.source import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.engines.index.kinds import AnyBuild, Built


def done_twice(do: Callable[[int], Any], count: int, _tell: object = None) -> list[Any]:
    """Run all tasks twice, as Spark may; return the results of the second time."""
    for _ in range(2):
        sent = pickle.loads(pickle.dumps(do))
        results = [pickle.loads(pickle.dumps(sent(task))) for task in range(count)]
    return results


def build_by_tasks(
    paths: Sequence[Path],
    options: AnyBuild,
    partition_bytes: int,
    run_each: Any = done_twice,
    suffix: str = ".jnx",
) -> list[Built[Any]]:
    """Build the index of each file beside it."""
    targets = [
        Target(source, path.with_name(path.name + suffix), options)
        for path in paths
        for source in expand(path)
    ]
    return list(build_together(targets, run_each, partition_bytes))


def leftovers(directory: Path) -> list[str]:
    """Return the hidden files of a directory, which are temporary."""
    return sorted(path.name for path in directory.iterdir() if path.name[0] == ".")
