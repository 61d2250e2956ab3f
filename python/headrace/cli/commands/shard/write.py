"""``headrace shard write``: write rows to a set of compressed files of limited size."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.argument import FILES
from headrace.cli.console import Console, counted, ending_cleanly
from headrace.cli.flags import BAD_ROWS, READING, WRITING, flag
from headrace.errors import UsageError
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.shards.writer import ShardWriter

ABOUT = """\
No file is larger than --max-bytes, in compressed bytes on disk, and no row is split. Files
consist of blocks that are compressed separately: zcat and zstdcat read them, and headrace reads
any row of them without those before it.

The set appears atomically when all of it is written, and replaces an earlier set of that name;
readers see either one. Prints the file that committed it. Replaced files are moved to
.NAME.superseded, and removed after --grace by the next writer or `headrace shard vacuum`. A set
with rows is not replaced by a set without rows, such as the output of a command that failed,
except with --allow-empty.

Rows must be JSON: the first that is not ends the command, except with --on-error skip or collect;
--trusted does not check."""

EXAMPLES = """\
headrace shard write app.jsonl --out shards --max-bytes 64MiB
    # zstd files of at most 64 MiB each
headrace shard write logs --out shards --set-name logs --codec gzip --level 9
    # all rows of a directory, as small as gzip can make them
headrace shard write app.jsonl --out shards --partition-by level
    # a directory for each level
headrace query '$.filter(ms > 100)' --matches app.jsonl | headrace shard write --out slow
    # the output of another command
"""

ARGUMENTS = (
    FILES,
    flag("--out", "a directory, created if it does not exist"),
    flag("--set-name", default="rows"),
    flag("--max-bytes", default="64MiB"),
    flag("--max-records"),
    flag("--max-logical-bytes"),
    flag("--codec", default="zstd"),
    *WRITING,
    flag("--partition-by"),
    flag("--grace", "for readers of the set that is replaced", otherwise="10m"),
    flag("--allow-empty"),
    *BAD_ROWS,
    flag("--trusted"),
    *READING,
)


def run(options: Namespace, console: Console) -> int:
    """Write the set and print the file that committed it."""
    from headrace.api.options import ShardOptions
    from headrace.api.shards.writer import ShardWriter
    from headrace.cli.io.inputs import files, given, open_dataset, threads_of, watching
    from headrace.cli.io.rejected import collecting
    from headrace.cli.io.results import policy
    from headrace.store.shards.vacuum.local import GRACE

    if options.out is None:
        raise UsageError("name the directory of the set: --out DIR")
    with ExitStack() as stack:
        dataset = stack.enter_context(open_dataset(options, files(options)))
        watch = watching(console, dataset.sources, dataset.bytes_read)
        stack.enter_context(watch)
        stack.enter_context(ending_cleanly())
        chosen = policy(options)
        refused = None
        if chosen == "collect":
            refused = stack.enter_context(collecting(options.errors, console))
        writer = ShardWriter(
            options.out,
            **given(options, ShardOptions)
            | {
                "name": options.set_name,
                "validate": not options.trusted,
                "on_error": "abort" if chosen == "abort" else refused or "skip",
                "threads": threads_of(options.threads),
                "grace": GRACE
                if options.grace is None
                else options.grace.total_seconds(),
            },
        )
        with writer:
            for batch in dataset.batches():
                if refused is not None:
                    refused.rows = batch.rows
                writer.write_rows(batch.path, batch.rows)
    _report(writer, options, console)
    console.text(f"{Path(options.out) / writer.metadata_path.name}\n")
    return 0


def _report(writer: ShardWriter, options: Namespace, console: Console) -> None:
    metadata = writer.close()
    facts = {
        "parts": len(metadata.parts),
        "records": metadata.total_records,
        "bytes": metadata.total_bytes,
        "logical_bytes": metadata.total_logical_bytes,
    }
    message = (
        f"{counted(metadata.total_records, 'row')} in {counted(len(metadata.parts), 'file')}: "
        f"{format_size(metadata.total_logical_bytes)} as {format_size(metadata.total_bytes)}"
    )
    console.emit("written", message, generation=metadata.generation, **facts)
    if options.stats:
        counts = {
            "rows": writer.records + writer.skipped,
            "emitted": writer.records - writer.blank,
            "skipped": writer.skipped,
            "blank": writer.blank,
        }
        summary = " / ".join(f"{name} {count}" for name, count in counts.items())
        console.emit("stats", summary, **counts)
    elif writer.skipped:
        kept = "" if options.errors is None else f"; see {options.errors}"
        message = f"{counted(writer.skipped, 'bad row')} left out{kept}"
        console.emit("bad_rows", message, bad=writer.skipped, errors=options.errors)
