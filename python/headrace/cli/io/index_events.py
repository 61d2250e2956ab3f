"""Building, updating and checking an index of any kind, with their events.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

import shlex
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from headrace.api.index.build import MEMORY, where_of
from headrace.api.index.graph import GraphIndex
from headrace.api.index.key import KeyIndex
from headrace.api.index.report import invalid
from headrace.api.options import (
    GraphIndexBuildOptions,
    IndexCheckOptions,
    IndexPlace,
    IndexUpdateOptions,
    KeyIndexBuildOptions,
    KeyIndexUpdateOptions,
)
from headrace.cli.console import Console, counted, ending_cleanly
from headrace.cli.io.index_trouble import fields_seen, say_keyless, say_no_edges
from headrace.cli.io.inputs import given
from headrace.cli.io.report import print_report
from headrace.engines.rows import rejected
from headrace.errors import KeyIndexError, UsageError
from headrace.kernel.graph import GraphWritten
from headrace.store.files.atomic import destination, replacing
from headrace.store.index.stored_index import Unreadable, place_options
from headrace.store.index.subject import each_with_rows, sources_with_rows, subject_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from headrace.api.index.update import Updated
    from headrace.engines.index.kinds import Built
    from headrace.kernel.key_index import Skipped, Written
    from headrace.store.files.source import Source
    from headrace.store.shards.shard_set import ShardSet

    AnyBuilt: TypeAlias = Built[Written] | Built[GraphWritten]

T = TypeVar("T")


@contextmanager
def _skipped_to(
    path: str | None, location: str
) -> Iterator[Callable[[Sequence[Skipped]], None] | None]:
    """Write lines without a key to a file, which appears when it is complete."""
    if path is None:
        yield None
        return
    with replacing(destination(path)) as file:
        yield lambda rows: file.writelines(_as_line(location, row) for row in rows)


def _as_line(location: str, row: Skipped) -> bytes:
    line, offset, cause, reason = row
    return rejected.as_line(
        {**rejected.facts(location, line, offset, reason, None), "cause": cause}
    )


def _say_upgraded(console: Console, built: AnyBuilt) -> None:
    """Emit an event about version 1 having no room."""
    written = built.written
    if written.why is not None:
        console.emit(
            "format_upgraded",
            f"{built.path}: version 1 has no room for it ({written.why}): version 2",
            reason=written.why,
            **{"from": 1, "to": 2},
        )


def build_indexes(options: Namespace, console: Console) -> int:
    """Build an index of each file or set, and emit events about them."""
    sources: Sequence[Source | ShardSet]
    builds: Callable[..., Iterator[Built[Any]]]
    if options.index_version is not None:
        options.index_version = int(options.index_version)
    if options.graph:
        _refuse_keys(options)
        edge = (options.from_field, options.pred_field, options.to_field)
        of = dict(zip(("from", "pred", "to"), edge, strict=True))
        what, sources = "graph index of its edges", sources_with_rows(options.files)
        builds = partial(GraphIndex.build_each, sources, *edge)
    else:
        _refuse_edges(options)
        of = {"key": ",".join(options.on)}
        what, sources = f"index of {of['key']}", each_with_rows(options.files)
        builds = partial(KeyIndex.build_each, sources, options.on)
    family = GraphIndexBuildOptions if options.graph else KeyIndexBuildOptions
    _refuse_for_several(options, len(sources))
    every = [subject_of(source) for source in sources]
    total = 0
    with (
        ending_cleanly(),
        console.progress() as report,
        _skipped_to(options.errors, every[0].location) as skipped,
    ):
        made: Iterator[Built[Any]] = builds(
            **given(options, family),
            progress=lambda done, _records: report(done, total),
            skipped=skipped,
        )
        for subject in every:
            location = subject.location
            total, began = subject.size, time.monotonic()
            message = f"{location}: building the {what}"
            console.emit("build_start", message, source=location, **of)
            built = next(made)
            duration = int((time.monotonic() - began) * 1000)
            _say_upgraded(console, built)
            if built.lines.records == 0 and built.lines.lines > built.lines.blank:
                if options.graph:
                    seen = ", ".join(fields_seen(location)) or "none"
                    say_no_edges(console, location, of, seen)
                else:
                    say_keyless(console, location, of["key"], "no_keys_indexed")
            _say_complete(console, built, duration)
    return 0


def _refuse_keys(options: Namespace) -> None:
    if options.on is not None or options.mode != "multi" or options.compact:
        raise UsageError("--on, --mode and --compact are for keys; leave --graph out")
    if options.from_field is None or options.to_field is None:
        raise UsageError(
            "name the fields of an edge: --from-field FIELD --pred-field FIELD "
            "--to-field FIELD"
        )


def _refuse_edges(options: Namespace) -> None:
    edge = (options.from_field, options.pred_field, options.to_field)
    if edge != (None, None, None) or options.incoming:
        raise UsageError(
            "--from-field, --pred-field, --to-field and --incoming are for --graph; give "
            "that too"
        )
    if options.on is None:
        raise UsageError("name the field of the key: --on FIELD, or --graph for edges")
    if options.compact and options.index_version == 1:
        raise UsageError("--compact is --index-version 2; give one of them")
    if options.compact:
        options.index_version = 2


def _refuse_for_several(options: Namespace, count: int) -> None:
    """Raise if an option is for one file, and there are more."""
    if count > 1:
        if options.index is not None:
            raise UsageError(f"--index: there is an index for each of {count} files")
        if options.errors is not None:
            raise UsageError("--errors is for one FILE; name one")


def _say_complete(console: Console, built: AnyBuilt, duration: int) -> None:
    """Emit an event with the counts of an index that was built."""
    skipped = built.lines.skipped
    causes = ", ".join(f"{count} {cause}" for cause, count in skipped.items())
    places = [
        f"line {row.line}, byte {row.offset}: {row.reason}"
        for row in built.first_skipped
    ]
    not_indexed = f"; not indexed: {causes}" if causes else ""
    records, counts = _counted(built)
    console.emit(
        "build_complete",
        "\n  ".join([f"{_in_words(built)}{not_indexed}", *places]),
        index=str(built.path),
        records=records,
        skipped=sum(skipped.values()),
        causes=skipped,
        pending=built.lines.pending,
        first_skipped=[row._asdict() for row in built.first_skipped],
        **counts,
        version=built.written.version,
        size_bytes=built.written.size,
        duration_ms=duration,
    )


def _say_compacted(console: Console, built: AnyBuilt) -> None:
    """Emit an event about a merged index and delta."""
    _say_upgraded(console, built)
    records, counts = _counted(built)
    console.emit(
        "index_compacted",
        f"{_in_words(built)}; the delta is merged",
        index=str(built.path),
        records=records,
        **counts,
        version=built.written.version,
        size_bytes=built.written.size,
    )


def _counted(built: AnyBuilt) -> tuple[int, dict[str, int]]:
    """Return the rows of an index, and its other counts."""
    written = built.written
    if isinstance(written, GraphWritten):
        return written.edges, {"nodes": written.nodes, "predicates": written.predicates}
    return written.records, {"keys": written.keys}


def _in_words(built: AnyBuilt) -> str:
    records, counts = _counted(built)
    rows_by_kind = {_row_of(built): records} | {
        name.removesuffix("s"): count for name, count in counts.items()
    }
    words = ", ".join(counted(count, name) for name, count in rows_by_kind.items())
    return f"{built.path}: {words}, {built.written.size} bytes"


def _row_of(built: AnyBuilt) -> str:
    return "edge" if isinstance(built.written, GraphWritten) else "row"


def _chosen(
    options: Namespace, of_graph: Callable[..., T], of_key: Callable[..., T]
) -> Callable[..., T]:
    """Return a function of the kind of index that options name, for FILE."""
    if not options.graph:
        return partial(of_key, options.file, options.on)
    if options.on is not None:
        raise UsageError("--graph: a file has one graph index; leave --on out")
    return partial(of_graph, options.file)


def update_index(options: Namespace, console: Console) -> int:
    """Update an index, and emit events about it."""
    update: Callable[..., Updated[Any]] = _chosen(
        options, GraphIndex.update, KeyIndex.update
    )
    family = IndexUpdateOptions if options.graph else KeyIndexUpdateOptions
    spark = (options.master, options.partition_bytes)
    if options.graph and (options.engine != "local" or spark != (None, None)):
        raise UsageError(
            "--engine, --master and --partition-bytes are for the key index of a set; "
            "leave --graph out"
        )
    subject = subject_of(options.file)
    location, size = subject.location, subject.size

    def work() -> None:
        with (
            ending_cleanly(),
            console.progress() as report,
            _skipped_to(options.errors, location) as skipped,
        ):
            updated = update(
                **given(options, family),
                progress=lambda done, _records: report(done, size),
                skipped=skipped,
            )
        _say_updated(options, console, location, updated)

    return _unless_full_required(options, console, location, work)


def compact_index(options: Namespace, console: Console) -> int:
    """Merge an index and its delta, and emit events about it."""
    compact: Callable[..., Built[Any] | None] = _chosen(
        options, GraphIndex.compact, KeyIndex.compact
    )
    if options.graph:
        memory = MEMORY if options.memory is None else options.memory
        compact = partial(compact, memory=memory)
    elif options.memory is not None:
        raise UsageError("--memory is for --graph: merging keys takes next to none")

    def work() -> None:
        with ending_cleanly():
            built = compact(**given(options, IndexPlace))
        if built is None:
            console.emit("update_mode", f"{options.file}: has no delta", mode="none")
        else:
            _say_compacted(console, built)

    return _unless_full_required(options, console, options.file, work)


def _say_updated(
    options: Namespace,
    console: Console,
    location: str,
    updated: Updated[Any],
) -> None:
    built = updated.built
    if built is None:
        _say_up_to_date(console, location, revalidated=updated.revalidated)
        return
    _say_upgraded(console, built)
    new, skipped = built.lines.records, built.lines.skipped
    row = _row_of(built)
    console.emit(
        "update_mode",
        f"{built.path}: {counted(new, row if updated.mode == 'full' else f'new {row}')}",
        mode=updated.mode,
        new_records=new,
        skipped=sum(skipped.values()),
        causes=skipped,
        first_skipped=[row._asdict() for row in built.first_skipped],
        pending=built.lines.pending,
        index=str(built.path),
        size_bytes=built.written.size,
    )
    if updated.compacted is not None:
        _say_compacted(console, updated.compacted)
    if updated.full_advised is not None:
        _say_full_required(options, console, location, updated.full_advised)


def _say_up_to_date(console: Console, location: str, *, revalidated: bool) -> None:
    """Emit events about an index that has all rows."""
    if revalidated:
        console.emit(
            "index_revalidated",
            f"{location}: looks different, but is the same; its index records that",
            source=location,
        )
    console.emit("update_mode", f"{location}: the index is up to date", mode="none")


def _unless_full_required(
    options: Namespace, console: Console, location: str, work: Callable[[], None]
) -> int:
    """Return 0, or 1 with an event if the index must be built again."""
    try:
        work()
    except KeyIndexError as error:
        if error.kind not in ("stale", "corrupt"):
            raise
        reason = "index_corrupt" if error.kind == "corrupt" else error.reason
        _say_full_required(options, console, location, reason)
        return 1
    return 0


def _say_full_required(
    options: Namespace, console: Console, location: str, reason: str
) -> None:
    graph = " --graph" if options.graph else ""
    if options.on is not None:
        graph += f" --on {shlex.quote(','.join(options.on))}"
    where = where_of(options.index, options.index_dir)
    place = place_options(where)
    console.emit(
        "update_mode",
        f"{location}: the index must be built again ({reason}): "
        f"run `headrace index update {location}{graph}{place} --full`",
        mode="full_required",
        reason=reason,
    )


def index_stats(options: Namespace) -> dict[str, Any]:
    """Return the numbers of an index."""
    stats = _chosen(options, GraphIndex.stats, KeyIndex.stats)
    return stats(**given(options, IndexPlace))


def check_index(options: Namespace, console: Console) -> int:
    """Print whether an index can be used; return 1 if not."""
    check = _chosen(options, GraphIndex.check, KeyIndex.check)
    total = subject_of(options.file).size
    try:
        with console.progress() as report:
            found = check(
                **given(options, IndexCheckOptions),
                progress=lambda done, _records: report(done, total),
            )
    except KeyIndexError as error:
        if error.kind == "missing":
            missing = invalid(Unreadable(Path(error.index), "missing", error.reason))
            print_report(missing, options, console)
        raise
    print_report(found, options, console)
    return 0 if found["valid"] and found["fresh"] else 1
