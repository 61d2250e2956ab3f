"""What ``headrace index`` commands do with ``--graph``.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from headrace.api.graph_index import (
    build_graph_index,
    check_graph_index,
    compact_graph_index,
    graph_index_stats,
    update_graph_index,
)
from headrace.api.key_index import one_source
from headrace.cli.commands.index_build import VERSIONS
from headrace.cli.commands.index_update import FULL_REQUIRED
from headrace.cli.ending import ending_cleanly
from headrace.cli.key_index_building import (
    fields_seen,
    say_full_required,
    say_up_to_date,
    say_upgraded,
    skipped_to,
)
from headrace.cli.key_index_options import refuse_key_of_graph, tell_as_asked
from headrace.errors import GraphIndexError, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.index_update import Updated
    from headrace.cli.output import Console
    from headrace.engines.local.key_build import Built
    from headrace.kernel.graph import GraphWritten


def build(options: Namespace, console: Console) -> int:
    """Build a graph index."""
    tell_as_asked(options, console)
    _refuse_keys(options)
    source = one_source(options.file)
    names = {"from": options.from_, "pred": options.pred, "to": options.to}
    console.emit(
        "build_start",
        f"{source.location}: building the graph index of its edges",
        source=source.location,
        **names,
    )
    began = time.monotonic()
    with (
        ending_cleanly(),
        console.progress() as report,
        skipped_to(options.errors, source.location) as skipped,
    ):
        built = build_graph_index(
            options.file,
            options.from_,
            options.pred,
            options.to,
            reverse=options.reverse,
            version=VERSIONS[options.format],
            memory=options.memory,
            threads=options.threads,
            index=options.out,
            index_dir=options.index_dir,
            force=options.force,
            strict=options.strict,
            max_line=options.max_line,
            progress=lambda done, _records: report(done, source.size),
            skipped=skipped,
        )
    duration = int((time.monotonic() - began) * 1000)
    say_upgraded(console, built)
    if built.written.edges == 0 and built.lines.lines > built.lines.blank:
        seen = ", ".join(fields_seen(source.location)) or "none"
        console.emit(
            "no_edges_indexed",
            f"{source.location}: no row is such an edge; fields of the first rows: {seen}",
            source=source.location,
            **names,
        )
    _say_complete(console, built, duration)
    return 0


def _refuse_keys(options: Namespace) -> None:
    if options.on is not None or options.mode != "multi" or options.compact:
        raise UsageError("--on, --mode and --compact are of keys; leave --graph out")
    if options.from_ is None or options.to is None:
        raise UsageError(
            "name the fields of an edge: --from FIELD --pred FIELD --to FIELD"
        )


def check(options: Namespace, console: Console) -> int:
    """Print whether a graph index can be used."""
    tell_as_asked(options, console)
    refuse_key_of_graph(options)
    total = one_source(options.file).size
    with console.progress() as report:
        found = check_graph_index(
            options.file,
            deep=options.deep,
            index=options.index,
            index_dir=options.index_dir,
            progress=lambda done, _records: report(done, total),
        )
    console.text(json.dumps(found) + "\n")
    return 0 if found["valid"] and found["fresh"] else 1


def stats(options: Namespace, console: Console) -> int:
    """Print the numbers of a graph index."""
    tell_as_asked(options, console)
    refuse_key_of_graph(options)
    found = graph_index_stats(
        options.file, index=options.index, index_dir=options.index_dir
    )
    console.text(json.dumps(found, indent=2 if options.pretty else None) + "\n")
    return 0


def compact(options: Namespace, console: Console) -> int:
    """Make one index of a graph index and its delta."""
    tell_as_asked(options, console)
    refuse_key_of_graph(options)
    try:
        with ending_cleanly():
            built = compact_graph_index(
                options.file, index=options.index, index_dir=options.index_dir
            )
    except GraphIndexError as error:
        return _full_required(console, options.file, error)
    if built is None:
        console.emit("update_mode", f"{options.file}: has no delta", mode="none")
    else:
        _say_compacted(console, built)
    return 0


def update(options: Namespace, console: Console) -> int:
    """Bring a graph index up to date."""
    tell_as_asked(options, console)
    refuse_key_of_graph(options)
    source = one_source(options.file)
    try:
        with (
            ending_cleanly(),
            console.progress() as report,
            skipped_to(options.errors, source.location) as skipped,
        ):
            updated = update_graph_index(
                options.file,
                full=options.full,
                memory=options.memory,
                threads=options.threads,
                index=options.index,
                index_dir=options.index_dir,
                strict=options.strict,
                progress=lambda done, _records: report(done, source.size),
                skipped=skipped,
            )
    except GraphIndexError as error:
        return _full_required(console, source.location, error)
    _say_updated(console, source.location, updated)
    return 0


def _full_required(console: Console, location: str, error: GraphIndexError) -> int:
    if error.kind not in FULL_REQUIRED:
        raise error
    reason = "index_corrupt" if error.kind == "corrupt" else error.reason
    say_full_required(console, location, reason, graph=True)
    return 1


def _say_updated(
    console: Console, location: str, updated: Updated[GraphWritten]
) -> None:
    built = updated.built
    if built is None:
        say_up_to_date(console, location, revalidated=updated.revalidated)
        return
    say_upgraded(console, built)
    new, skipped = built.lines.records, built.lines.skipped
    console.emit(
        "update_mode",
        f"{built.path}: {new} {'edges' if updated.mode == 'full' else 'new edges'}",
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


def _say_complete(console: Console, built: Built[GraphWritten], duration: int) -> None:
    written, skipped = built.written, built.lines.skipped
    causes = ", ".join(f"{count} {cause}" for cause, count in skipped.items())
    message = f"{_in_words(built)}{f'; passed over: {causes}' if causes else ''}"
    places = [
        f"line {row.line}, byte {row.offset}: {row.reason}"
        for row in built.first_skipped
    ]
    console.emit(
        "build_complete",
        "\n  ".join([message, *places]),
        index=str(built.path),
        records=written.edges,
        skipped=sum(skipped.values()),
        causes=skipped,
        pending=built.lines.pending,
        first_skipped=[row._asdict() for row in built.first_skipped],
        nodes=written.nodes,
        predicates=written.predicates,
        version=written.version,
        size_bytes=written.size,
        duration_ms=duration,
    )


def _say_compacted(console: Console, built: Built[GraphWritten]) -> None:
    say_upgraded(console, built)
    written = built.written
    console.emit(
        "index_compacted",
        f"{_in_words(built)}; one index with its delta",
        index=str(built.path),
        records=written.edges,
        nodes=written.nodes,
        predicates=written.predicates,
        version=written.version,
        size_bytes=written.size,
    )


def _in_words(built: Built[GraphWritten]) -> str:
    written = built.written
    return (
        f"{built.path}: {written.edges} edges, {written.nodes} nodes, "
        f"{written.predicates} predicates, {written.size} bytes"
    )
