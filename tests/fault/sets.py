"""Sets whose records say which set they are of, so that a mixture shows."""

import headrace
from headrace.store.shards.options import limits, pack_options
from headrace.store.shards.write.set_writer import SetWriter


def count(number):
    """How many records the set of this number has."""
    return 20 + number * 7 % 60


def write(directory, number):
    """Write the set of this number; its files are small, so there are some."""
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
    # Not through `headrace.ShardWriter`, so that a child starts quickly.
    with SetWriter(directory, "rows", options) as writer:
        for i in range(count(number)):
            writer.write({"set": number, "i": i})


def read(directory):
    """Return the number of the set that is there, checked in every way there is."""
    shards = headrace.ShardSet(directory)
    sources = shards.sources()
    metadata = shards.metadata
    rows = [row for source in sources for row in headrace.open(source.location)]
    number = rows[0]["set"]
    assert rows == [{"set": number, "i": i} for i in range(count(number))]
    assert metadata.total_records == len(rows)
    assert metadata.total_bytes == sum(source.size for source in sources)
    return number
