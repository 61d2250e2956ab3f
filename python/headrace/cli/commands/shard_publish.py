"""``headrace shard publish``: a set of shards to an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.options.write import SET
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Copies all files of a set below URL, and then the metadata that commits it, as the next
generation of the set of its name there. Readers see the one before until all of this one
is there; of several who publish at the same time, the set is that of the last. What was published
before stays until `headrace shard vacuum` removes it. The store must be able to create a
file only if it is not there, which S3, Google Cloud Storage and Azure are; one that
cannot is refused. Prints the URL of the metadata."""

EXAMPLES = (
    Example(
        'headrace shard publish shards "file://$PWD/store"',
        "what s3://bucket/events would be; `headrace query` reads it by its URL",
    ),
)

ARGUMENTS = (
    SET,
    Argument(
        "url", "text", "where it is to be: s3://…, gs://…, abfs://…", metavar="URL"
    ),
    *OUTPUT_OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Publish it, and print what commits it."""
    from headrace.cli.console import ending_cleanly
    from headrace.store.shards.shard_set import ShardSet

    with ending_cleanly():
        console.text(f"{ShardSet(options.set).publish(options.url)}\n")
    return 0
