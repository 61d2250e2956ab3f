"""``headrace shard check``: check every byte of a set of shards."""

from argparse import Namespace

from headrace.cli.argument import SET
from headrace.cli.console import Console
from headrace.cli.flags import flag

ABOUT = """\
Prints each part with its rows, its bytes and "ok", or its faults. Compares size and digest of
the file, and checksum, length and rows of every block, with the metadata. Exits with 1 if there is
a fault."""

EXAMPLES = """\
headrace shard check shards  # the set in a directory
headrace shard check shards/rows  # the set of that name
"""

ARGUMENTS = (
    SET,
    flag("--threads", "one for each part", otherwise="one for each core"),
    flag("--json", "an object for each part"),
)


def run(options: Namespace, console: Console) -> int:
    """Print the faults of each part."""
    from headrace.api.shards.check import check_shards
    from headrace.cli.io.report import print_json
    from headrace.store.shards.shard_set import ShardSet

    shards = ShardSet(options.set)
    total = shards.metadata.total_bytes
    wrong = 0
    with console.progress() as report:
        checked = check_shards(
            shards, threads=options.threads, progress=lambda done: report(done, total)
        )
        for part in checked:
            faults = list(map(str, part.faults))
            if options.json:
                facts = {
                    "path": part.part.path,
                    "rows": part.part.records,
                    "bytes": part.part.bytes,
                    "faults": faults,
                }
                print_json(facts, console)
            else:
                verdict = "; ".join(faults) or "ok"
                counts = f"{part.part.records} rows\t{part.part.bytes} bytes"
                console.text(f"{part.part.path}\t{counts}\t{verdict}\n")
            wrong += bool(part.faults)
    if not wrong:
        return 0
    parts = len(shards.metadata.parts)
    message = f"{shards.path}: {wrong} of {parts} parts are not what was written; fetch or write the set again"
    console.emit("error", message, error="BadSetError", path=shards.path, parts=wrong)
    return 1
