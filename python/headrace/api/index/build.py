"""Building indexes of files, each its own, by the engine that was chosen."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from headrace.engines.index.kinds import Built, KeyBuild
from headrace.engines.index.places import place_of
from headrace.engines.local import graph_build, key_build
from headrace.errors import HeadraceError, UsageError
from headrace.store.index.file import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from headrace.engines.index.collect import ScanOptions
    from headrace.engines.index.kinds import AnyBuild
    from headrace.store.files.source import Source
    from headrace.store.index.file import Where

EngineName: TypeAlias = Literal["local", "spark"]


class Engine(NamedTuple):
    """Who builds indexes: threads of this process, or tasks of Spark."""

    name: EngineName = "local"
    master: str | None = None
    partition_bytes: int | str | None = None


def build_each(
    sources: Iterable[Source],
    asked: AnyBuild,
    where: Where,
    engine: Engine,
    *,
    force: bool = False,
) -> Iterator[Built[Any]]:
    """Build the index of each source in the first place where it can be written."""
    refuse_unfit(engine, asked)
    if engine.name == "local":
        for source in sources:
            path = place_of(source, asked, where, force=force)
            with writing(path):
                built = _built_here(source, path, asked)
            yield built
        return
    yield from _by_tasks(sources, asked, where, engine, force=force)


def refuse_unfit(engine: Engine, asked: ScanOptions) -> None:
    """Raise if something is asked for that an engine does not know."""
    if engine.name not in ("local", "spark"):
        raise UsageError(f"engine is 'local' or 'spark', not {engine.name!r}")
    if engine.name == "spark":
        if asked.threads is not None:
            raise UsageError("threads is for engine='local' (--engine local)")
        if engine.master is not None:
            from headrace.engines.spark.session.master import check_master

            check_master(engine.master)
    elif engine != Engine():
        from headrace.api.local_engine import refuse_for_local

        refuse_for_local(**engine._asdict() | {"name": None})


def _built_here(source: Source, path: Path, asked: AnyBuild) -> Built[Any]:
    if isinstance(asked, KeyBuild):
        return key_build.build(source, path, asked)
    return graph_build.build(source, path, asked)


def _by_tasks(
    sources: Iterable[Source],
    asked: AnyBuild,
    where: Where,
    engine: Engine,
    *,
    force: bool,
) -> Iterator[Built[Any]]:
    # Whoever looks keys up need not wait for what only this needs.
    from headrace.api.spark import task_bytes, tasks_at
    from headrace.engines.index.jobs import MOST_TOGETHER, Target, build_together
    from headrace.engines.spark.session.master import chosen_master
    from headrace.engines.spark.session.shared_storage import refuse_unshared

    size = task_bytes(engine.partition_bytes)
    waiting, failure = iter(sources), None
    while failure is None and (some := list(islice(waiting, MOST_TOGETHER))):
        targets = []
        for source in some:
            try:
                path = place_of(source, asked, where, force=force)
                refuse_unshared(path.parent, chosen_master(engine.master))
            except (HeadraceError, OSError) as error:
                # As of threads: it comes behind the indexes before it.
                failure = error
                break
            targets.append(Target(source, path, asked))
        if targets:
            yield from build_together(targets, tasks_at(engine.master), size)
    if failure is not None:
        raise failure
