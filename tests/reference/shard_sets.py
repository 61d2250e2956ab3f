"""Sets of shards in small parts and blocks, written as Spark's jobs write them."""

from pathlib import Path

from headrace.store.shards import job as jobs
from headrace.store.shards.options import limits, pack_options
from headrace.store.shards.shard_set import ShardSet


def write(
    directory, lines, *, overwrite=False, codec="zstd", block_bytes=64, most=None
):
    """Append lines to the set ``rows``, or replace it; a part has `most` of them."""
    options = pack_options(
        codec,
        level=None,
        options=None,
        block_bytes=str(block_bytes),
        limits=limits(None, most, None),
        validate=False,
        max_depth=256,
        threads=1,
    )
    job = jobs.begin(
        Path(directory),
        "rows",
        overwrite=overwrite,
        job_id=None,
        options=lambda _before: options,
        partition_by=None,
    )
    with job.attempt(0) as rows:
        rows.write_many(lines)
        aside = rows.close()
    job.commit([aside])
    job.close()
    return ShardSet(directory)
