"""``headrace shard publish``: copy a set of shards to an object store."""

from argparse import Namespace

from headrace.cli.argument import SET, Argument
from headrace.cli.console import Console, ending_cleanly

ABOUT = """\
Copies all files of a set below URL, and then the metadata that commits it, as the next
generation of the set of that name. Readers see the previous generation until the new one is
complete; of several commands that publish at the same time, the last one wins. Previous
generations stay until `headrace shard vacuum` removes them. The store must be able to create a
file only if it does not exist, as S3, Google Cloud Storage and Azure do; other stores are refused.
Prints the URL of the metadata."""

EXAMPLES = """\
headrace shard publish shards "file://$PWD/store"
    # in place of s3://bucket/events; `headrace query` reads the set by its URL
"""

ARGUMENTS = (
    SET,
    Argument(
        "url", "text", "where to copy it: s3://…, gs://…, abfs://…", metavar="URL"
    ),
)


def run(options: Namespace, console: Console) -> int:
    """Publish the set, and print the URL of its metadata."""
    from headrace.store.shards.shard_set import ShardSet

    with ending_cleanly():
        console.text(f"{ShardSet(options.set).publish(options.url)}\n")
    return 0
