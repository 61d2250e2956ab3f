"""Set indexes: building, updating and checking the key index of a set of shards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.api.index.build import Engine, refuse_unfit
from headrace.api.index.report import index_stats, invalid
from headrace.engines.index import set as engines
from headrace.engines.index.collect import ScanOptions
from headrace.engines.index.index_paths import place_of_set
from headrace.engines.index.set_slices import MakeSegments, SetScan, slices
from headrace.engines.local.index_build import InThreads
from headrace.errors import KeyIndexError, UsageError
from headrace.kernel.key_index import KeyIndex, Meta, Written
from headrace.kernel.rows import SidecarError, reading
from headrace.store.index.set import stored as store
from headrace.store.index.stored_index import Unreadable, Where
from headrace.store.shards.opened_set import OpenedSet, open_set

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.engines.index.kinds import Built, KeyBuild
    from headrace.engines.index.set import SetUpdated
    from headrace.store.shards.shard_set import ShardSet


def build_somewhere(
    shards: ShardSet, wanted: KeyBuild, where: Where, engine: Engine
) -> Built[Written]:
    """Build the index of a set in the first place where it can be written."""
    if wanted.version == 1:
        raise UsageError(
            f"{shards.path}: the index of a set is of version 2; leave the version out"
        )
    refuse_unfit(engine, wanted)
    opened = open_set(shards)
    path = place_of_set(opened.path, wanted.fields, where)
    make, wanted = _made_by(engine, wanted, path)
    return engines.build(opened, path, wanted, make).built


def _made_by(
    engine: Engine, wanted: KeyBuild, path: Path
) -> tuple[MakeSegments, KeyBuild]:
    """Return the maker of segments, threads or tasks of Spark, and how rows are read for it."""
    if engine.name == "local":
        return InThreads(wanted), wanted
    # A key lookup does not load Spark's modules.
    from headrace.api.spark_engine import task_bytes
    from headrace.engines.spark.session.master import (
        chosen_place,
        master_of,
        needing_pyspark,
        refuse_unshared,
    )

    size, place = task_bytes(engine.partition_bytes), chosen_place(engine.place)
    refuse_unshared(path.parent, master_of(place))
    with needing_pyspark():
        from headrace.engines.spark.index.set_segments import by_tasks
    fine = replace(wanted, fragment_bytes=min(wanted.fragment_bytes, size))
    return by_tasks(place, size, fine), fine


def update(
    shards: ShardSet,
    fields: tuple[str, ...] | None,
    where: Where,
    wanted: KeyBuild,
    engine: Engine,
    *,
    full: bool,
) -> SetUpdated:
    """Index the parts that were added to a set, or with `full` all parts again."""
    refuse_unfit(engine, wanted)
    stored = store.INDEXES.required(shards.path, where, fields)
    opened = open_set(shards)
    make, wanted = _made_by(engine, wanted, stored.path)
    if not full:
        return engines.update(opened, stored.path, wanted, make)
    if isinstance(stored, store.SetStored):
        wanted = engines.as_it_was(stored.manifest, wanted)
    elif fields is None or stored.fault != "corrupt":
        raise KeyIndexError(opened.path, str(stored.path), stored.fault, stored.reason)
    made = engines.build(opened, stored.path, wanted, make)
    return engines.SetUpdated(made)


def compact(
    shards: ShardSet, fields: tuple[str, ...] | None, where: Where
) -> Built[Written] | None:
    """Merge base and delta; None if there is no delta."""
    stored = store.INDEXES.required(shards.path, where, fields)
    made = engines.compact(open_set(shards), stored.path, InThreads())
    return None if made is None else made.built


def check(
    shards: ShardSet,
    fields: tuple[str, ...] | None,
    where: Where,
    *,
    deep: bool,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Read all of an index, and compare the set with the parts that it was built from."""
    stored = store.INDEXES.required(shards.path, where, fields)
    if isinstance(stored, Unreadable):
        return invalid(stored)
    opened = open_set(shards)
    try:
        with reading(str(stored.path)):
            stored.index.verify()
        usable, fresh = store.fitting(stored, opened)
        of_all = (
            not deep or fresh.state != "fresh" or _has_all(usable, opened, progress)
        )
    except SidecarError as error:
        return invalid(Unreadable(stored.path, "corrupt", error.damage))
    if not of_all:
        reason = "its rows are not those of the set"
        return invalid(Unreadable(stored.path, "corrupt", reason))
    report: dict[str, Any] = {"valid": True, "fresh": fresh.state == "fresh"}
    if fresh.state != "fresh":
        report["reason"] = fresh.reason
    return {
        **report,
        "index": str(stored.path),
        "records": usable.whole.records,
        "keys": usable.whole.keys,
        "size_bytes": _size(stored),
        **_layers(stored),
    }


def _has_all(
    stored: store.SetStored, opened: OpenedSet, progress: Callable[[int, int], None]
) -> bool:
    """Whether the index has all rows of the set, and no others."""
    manifest = stored.manifest
    how = SetScan(
        opened.path,
        opened.parts,
        opened.sources,
        manifest.key,
        unique=False,
        max_line=manifest.max_line,
        max_depth=manifest.max_depth,
        segments=len(manifest.base.segments),
    )
    cut = slices(opened.parts, ScanOptions().bytes_at_once)
    all_runs = InThreads().collect(
        how, cut, lambda part, counts: progress(part.end, counts.lines.records)
    )
    deltas = manifest.delta.segments if manifest.delta else ()
    for number, runs in enumerate(all_runs):
        base = stored.path / manifest.base.segments[number].name
        delta = stored.path / deltas[number].name if deltas else None
        with reading(str(stored.path)):
            if not KeyIndex(base, delta).is_of_all([runs], opened.data):
                return False
    return True


def stats(
    shards: ShardSet,
    fields: tuple[str, ...] | None,
    where: Where,
    describe: Callable[[Meta], dict[str, Any]],
) -> dict[str, Any]:
    """Return what an index covers and how large it is; `describe` adds what its kind counts."""
    stored = store.INDEXES.required(shards.path, where, fields)
    if isinstance(stored, Unreadable):
        raise KeyIndexError(shards.path, str(stored.path), stored.fault, stored.reason)
    report = index_stats(stored, shards.path, "set", describe, _size(stored))
    return report | _layers(stored)


def _size(stored: store.SetStored) -> int:
    return sum(layer.bytes for layer, _parts in stored.manifest.layers)


def _layers(stored: store.SetStored) -> dict[str, Any]:
    """Return how many parts and segments an index has, and what its delta has."""
    manifest, delta = stored.manifest, stored.manifest.delta
    report: dict[str, Any] = {
        "edition": manifest.edition,
        "parts": len(manifest.parts),
        "segments": len(manifest.base.segments),
    }
    if delta is not None:
        share = delta.records / max(stored.whole.records, 1)
        report["delta"] = {
            "parts": delta.parts,
            "records": delta.records,
            "keys": delta.keys,
            "size_bytes": delta.bytes,
            "share": round(share, 2),
        }
    return report
