"""``headrace index update``: bring an index up to date with a file that has grown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.arguments import Argument
from headrace.cli.key_index_options import (
    ERRORS,
    EVENTS,
    GRAPH,
    KEY,
    MEMORY,
    PLACES,
    SOURCE,
    STRICT,
    THREADS,
)
from headrace.cli.table import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.index_update import Updated
    from headrace.cli.output import Console
    from headrace.kernel.key_index import Written

ABOUT = """\
Only rows that were appended to FILE are read; they go to a delta beside the index, which
becomes one with it when it has more than a quarter of its rows. What the index covers is
proven to be the same, by hashes of all of it. If FILE was changed otherwise, an event says
why, the exit code is 1, and --full builds the index anew, as it was. The index of a FILE
that only looks different, as a copy does, takes note of that."""

EXAMPLES = (
    Example("headrace index update app.jsonl", "index the rows that were appended"),
    Example("headrace index update app.jsonl --full", "index all rows again"),
)

ARGUMENTS = (
    SOURCE,
    KEY,
    GRAPH,
    Argument("full", "switch", "build the index anew, as it was", ("--full",)),
    MEMORY,
    THREADS,
    STRICT,
    ERRORS,
    *PLACES,
    *EVENTS,
)

FULL_REQUIRED = ("stale", "corrupt")
"""What is wrong with an index that can be built anew."""


def run(options: Namespace, console: Console) -> int:
    """Bring it up to date."""
    if options.graph:
        from headrace.cli.graph_indexes import update

        return update(options, console)
    return _update(options, console)


def _update(options: Namespace, console: Console) -> int:
    from headrace.api.key_index import one_source
    from headrace.api.key_index_update import update_lookup_index
    from headrace.cli.ending import ending_cleanly
    from headrace.cli.key_index_building import say_full_required, skipped_to
    from headrace.cli.key_index_options import fields, tell_as_asked
    from headrace.errors import KeyIndexError

    tell_as_asked(options, console)
    source = one_source(options.file)
    try:
        with (
            ending_cleanly(),
            console.progress() as report,
            skipped_to(options.errors, source.location) as skipped,
        ):
            updated = update_lookup_index(
                options.file,
                None if options.key is None else fields(options.key),
                full=options.full,
                memory=options.memory,
                threads=options.threads,
                index=options.index,
                index_dir=options.index_dir,
                strict=options.strict,
                progress=lambda done, _records: report(done, source.size),
                skipped=skipped,
            )
    except KeyIndexError as error:
        if error.kind not in FULL_REQUIRED:
            raise
        reason = "index_corrupt" if error.kind == "corrupt" else error.reason
        say_full_required(console, source.location, reason)
        return 1
    _say(console, source.location, updated)
    return 0


def _say(console: Console, location: str, updated: Updated[Written]) -> None:
    from headrace.cli.key_index_building import (
        say_compacted,
        say_full_required,
        say_up_to_date,
        say_upgraded,
    )

    built = updated.built
    if built is None:
        say_up_to_date(console, location, revalidated=updated.revalidated)
        return
    if updated.mode == "full":
        say_upgraded(console, built)
    new, skipped = built.lines.records, built.lines.skipped
    console.emit(
        "update_mode",
        f"{built.path}: {new} {'rows' if updated.mode == 'full' else 'new rows'}",
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
        say_compacted(console, updated.compacted)
    if updated.full_advised is not None:
        say_full_required(console, location, updated.full_advised)
