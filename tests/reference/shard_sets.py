"""Sets of shards in small parts and blocks, written as Spark's jobs write them."""

from pathlib import Path

from headrace.store.shards.shard_set import ShardSet
from tests.reference.shard_jobs import attempt_lines, begin


def write(
    directory, lines, *, overwrite=False, codec="zstd", block_bytes=64, most=None
):
    """Append lines to the set ``rows``, or replace it; a part has `most` of them."""
    job = begin(
        Path(directory),
        overwrite=overwrite,
        codec=codec,
        block_bytes=str(block_bytes),
        max_records=most,
        validate=False,
    )
    job.commit([attempt_lines(job, 0, lines)])
    job.close()
    return ShardSet(directory)
