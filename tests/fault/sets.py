"""Sets whose records name their set, so that a mixture of two shows."""

import json

import headrace
from headrace.api.shards.shard_set import shard_lines
from headrace.store.shards.options import limits, pack_options
from headrace.store.shards.write.set_writer import SetWriter


def count(number):
    """Return the number of records in a set, by its number."""
    return 20 + number * 7 % 60


def write(directory, number):
    """Write the set with a number, in several small files."""
    codec = ("none", "gzip", "zstd")[number % 3]
    options = pack_options(
        codec,
        level=None,
        options=None,
        block_bytes="256KiB",
        limits=limits(None, 40, None),
        validate=True,
        max_depth=256,
        threads=1,
    )
    # Not `headrace.ShardWriter`: a child starts faster without it.
    with SetWriter(directory, "rows", options) as writer:
        for i in range(count(number)):
            writer.write({"set": number, "i": i})


def read(directory):
    """Return the number of the committed set; raise unless it is whole."""
    shards = headrace.ShardSet(directory)
    sources = shards.sources()
    assert shards.metadata.total_bytes == sum(source.size for source in sources)
    rows = [json.loads(line) for line in b"".join(shard_lines(shards)).splitlines()]
    # If the set was replaced meanwhile, another generation was read, and is known now.
    assert shards.metadata.total_records == len(rows)
    number = rows[0]["set"]
    assert rows == [{"set": number, "i": i} for i in range(count(number))]
    return number
