"""Building indexes of files, one for each file, with the engine that the caller chose."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from headrace.api.options import place_of_tasks, refuse_for_local, refuse_other
from headrace.engines.index.collect import ScanOptions, no_progress
from headrace.engines.index.index_paths import place_of
from headrace.engines.local import index_build
from headrace.errors import HeadraceError, UsageError
from headrace.kernel.values import MAX_DEPTH
from headrace.store.files.units import parse_size
from headrace.store.index.stored_index import Where, writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.api import options as api
    from headrace.engines.index.kinds import AnyBuild, Built
    from headrace.engines.spark.session.master import Place
    from headrace.store.files.source import Source

A = TypeVar("A", bound="AnyBuild")

MAX_LINE = 64 << 20
MEMORY = 256 << 20
LEAST_MEMORY = 1 << 20


class Engine(NamedTuple):
    """Which engine builds indexes: threads of this process, or tasks of Spark."""

    name: api.Engine = "local"
    place: Place | None = None
    partition_bytes: int | str | None = None


def engine_of(options: api.EngineOptions) -> Engine:
    """Return the engine that options name."""
    return Engine(
        options.get("engine", "local"),
        place_of_tasks(options),
        options.get("partition_bytes"),
    )


def scan_of(options: api.IndexScanOptions) -> ScanOptions:
    """Return how options want rows to be read for an index."""
    return ScanOptions(
        memory=memory_of(options.get("memory", MEMORY)),
        threads=options.get("threads"),
        strict=options.get("strict", False),
        progress=options.get("progress", no_progress),
        skipped=options.get("skipped"),
    )


def with_options(wanted: A, options: api.IndexBuildOptions) -> A:
    """Return a build whose rows are read as options want."""
    return replace(
        scan_of(options).again(wanted),
        max_line=parse_size(options.get("max_line", MAX_LINE)),
        max_depth=options.get("max_depth", MAX_DEPTH),
    )


def memory_of(memory: int | str) -> int:
    """Return how many bytes of memory to use."""
    return max(parse_size(memory), LEAST_MEMORY)


def place_wanted(options: api.IndexPlace, *, files: int = 1) -> Where:
    """Return where options say that the index is, or that of each of several files."""
    return where_of(options.get("index"), options.get("index_dir"), files=files)


def where_of(
    index: str | os.PathLike[str] | None,
    index_dir: str | os.PathLike[str] | None,
    *,
    files: int = 1,
) -> Where:
    """Return where the index of a file is, or that of each of several files."""
    if index is not None and files > 1:
        raise UsageError(f"index: there is an index for each of {files} files")
    path, directory = (
        None if place is None else os.fspath(place) for place in (index, index_dir)
    )
    return Where(path, directory)


def checked_version(options: api.IndexBuildOptions) -> int | None:
    """Return the version of the index file, None if it is not given."""
    version = options.get("index_version")
    if version not in (None, 1, 2):
        raise UsageError(f"index_version is 1 or 2, not {version!r}")
    return version


def build_files(
    sources: Iterable[Source],
    wanted: AnyBuild,
    where: Where,
    engine: Engine,
    *,
    force: bool = False,
) -> Iterator[Built[Any]]:
    """Build the index of each source in the first place where it can be written."""
    refuse_unfit(engine, wanted)
    if engine.name == "local":
        for source in sources:
            path = place_of(source, wanted, where, force=force)
            with writing(path):
                built = index_build.build(source, path, wanted)
            yield built
        return
    yield from _by_tasks(sources, wanted, where, engine, force=force)


def refuse_unfit(engine: Engine, wanted: ScanOptions) -> None:
    """Raise if an option is not for the engine."""
    refuse_other("engine", engine.name, ("local", "spark"))
    if engine.name == "spark":
        if wanted.threads is not None:
            raise UsageError("threads is for engine='local' (--engine local)")
        if isinstance(engine.place, str):
            from headrace.engines.spark.session.master import check_master

            check_master(engine.place)
    elif engine.place is not None or engine.partition_bytes is not None:
        is_master = isinstance(engine.place, str)
        refuse_for_local(
            master=engine.place if is_master else None,
            spark=None if is_master else engine.place,
            partition_bytes=engine.partition_bytes,
        )


def _by_tasks(
    sources: Iterable[Source],
    wanted: AnyBuild,
    where: Where,
    engine: Engine,
    *,
    force: bool,
) -> Iterator[Built[Any]]:
    # A key lookup does not load Spark's modules.
    from headrace.api.spark_engine import task_bytes, tasks_at
    from headrace.engines.index.jobs import MOST_TOGETHER, Target, build_together
    from headrace.engines.spark.session.master import (
        chosen_place,
        master_of,
        refuse_unshared,
    )

    size, place = task_bytes(engine.partition_bytes), chosen_place(engine.place)
    waiting, failure = iter(sources), None
    while failure is None and (some := list(islice(waiting, MOST_TOGETHER))):
        targets = []
        for source in some:
            try:
                path = place_of(source, wanted, where, force=force)
                refuse_unshared(path.parent, master_of(place))
            except (HeadraceError, OSError) as error:
                # As with threads, the error comes behind the indexes before it.
                failure = error
                break
            targets.append(Target(source, path, wanted))
        if targets:
            yield from build_together(targets, tasks_at(place), size)
    if failure is not None:
        raise failure
