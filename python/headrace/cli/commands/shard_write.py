"""``headrace shard write``: rows to a set of compressed files of limited size."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.console import counted
from headrace.cli.options.common import BAD_ROWS, FILES, OPTIONS
from headrace.cli.options.write import BLOCK_BYTES, LEVEL, THREADS
from headrace.cli.registry import Example
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.shard_writer import ShardWriter
    from headrace.cli.console import Console

ABOUT = """\
No file is ever larger than --max-bytes, which counts compressed bytes as they lie on
disk, and no row is split. Files are made of blocks that are compressed by themselves:
zcat and zstdcat read them as ever, and headrace enters them anywhere.

The set appears in one instant when all of it is written, and replaces an earlier one
of that name; whoever reads sees the one or the other. Prints the file that committed
it. What was replaced is put out of sight, into .NAME.superseded, and removed after
--grace by the next writer or `headrace shard vacuum`. A set that has rows is not
replaced by nothing, as from a command in front that failed, without --allow-empty.

Rows must be JSON: the first that is not ends it all, unless --on-error says
otherwise; --trusted does not look."""

EXAMPLES = (
    Example(
        "headrace shard write app.jsonl --out shards --max-bytes 64MiB",
        "zstd files of at most 64 MiB each",
    ),
    Example(
        "headrace shard write logs --out shards --name logs --codec gzip --level 9",
        "all rows of a directory, as small as gzip can",
    ),
    Example(
        "headrace shard write app.jsonl --out shards --partition-by level",
        "a directory for each level",
    ),
    Example(
        "headrace query '$.filter(ms > 100)' --matches app.jsonl "
        "| headrace shard write --out slow",
        "what another command prints",
    ),
)

ARGUMENTS = (
    FILES,
    Argument(
        "out",
        "directory",
        "the directory of the set; it is made if it is not there",
        ("--out",),
        metavar="DIR",
    ),
    Argument(
        "name",
        "text",
        "the name of the set (rows unless told)",
        ("--name",),
        metavar="NAME",
        default="rows",
    ),
    Argument(
        "max_bytes",
        "size",
        "how large a file may be, compressed (64MiB unless told)",
        ("--max-bytes",),
        metavar="SIZE",
        default=64 << 20,
    ),
    Argument(
        "max_records",
        "number",
        "how many rows may be in a file",
        ("--max-records",),
        metavar="N",
    ),
    Argument(
        "max_logical_bytes",
        "size",
        "how large a file may be after decompression",
        ("--max-logical-bytes",),
        metavar="SIZE",
    ),
    Argument(
        "codec",
        "choice",
        "how files are compressed (zstd unless told)",
        ("--codec",),
        choices=("zstd", "gzip", "none"),
        default="zstd",
    ),
    LEVEL,
    BLOCK_BYTES,
    Argument(
        "partition_by",
        "text",
        "a directory KEY=value for each value of this field, such as user.country",
        ("--partition-by",),
        metavar="KEY",
    ),
    THREADS,
    Argument(
        "grace",
        "duration",
        "how long what is replaced stays for those who read it [default: 10m]",
        ("--grace",),
        metavar="AGE",
    ),
    Argument(
        "allow_empty",
        "switch",
        "replace a set that has rows by one that has none",
        ("--allow-empty",),
    ),
    *BAD_ROWS,
    Argument(
        "trusted",
        "switch",
        "do not check that rows are JSON: faster, for data known to be good",
        ("--trusted",),
    ),
    *OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Write the set and print the file that committed it."""
    from headrace.api.shard_writer import ShardWriter
    from headrace.cli.console import ending_cleanly
    from headrace.cli.io.inputs import files, open_dataset, watching
    from headrace.cli.io.rejected_rows import collecting
    from headrace.cli.io.results import policy
    from headrace.cli.options.write import threads_of
    from headrace.errors import UsageError
    from headrace.store.shards.vacuum.local import GRACE

    if options.out is None:
        raise UsageError("say where to write: --out DIR")
    with ExitStack() as stack:
        dataset = stack.enter_context(open_dataset(options, files(options)))
        report = stack.enter_context(console.progress())
        stack.enter_context(watching(dataset.sources, report, dataset.bytes_read))
        stack.enter_context(ending_cleanly())
        chosen = policy(options)
        refused = None
        if chosen == "collect":
            refused = stack.enter_context(collecting(options.errors, console))
        writer = ShardWriter(
            options.out,
            name=options.name,
            codec=options.codec,
            level=options.level,
            block_bytes=options.block_bytes,
            max_bytes=options.max_bytes,
            max_records=options.max_records,
            max_logical_bytes=options.max_logical_bytes,
            validate=not options.trusted,
            on_error="abort" if chosen == "abort" else refused or "skip",
            threads=threads_of(options.threads),
            partition_by=options.partition_by,
            allow_empty=options.allow_empty,
            grace=GRACE if options.grace is None else options.grace / 1000,
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
        said = " / ".join(f"{name} {count}" for name, count in counts.items())
        console.emit("stats", said, **counts)
    elif writer.skipped:
        kept = "" if options.errors is None else f"; see {options.errors}"
        message = f"{counted(writer.skipped, 'bad row')} left out{kept}"
        console.emit("bad_rows", message, bad=writer.skipped, errors=options.errors)
