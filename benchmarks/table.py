"""The table of suites: the command line and the tests read it.

It stands apart from them, so that a probe loads no more than its own suite.
"""

from benchmarks.suites import (
    first_page,
    index_sizes,
    joins,
    key_get,
    key_index,
    log_read,
    log_write,
    query,
    query_bounds,
    random_row,
    row_index,
    rss_flat,
    second_open,
    shard_read,
    shard_row,
    shard_rss,
    shard_size,
    shard_write,
    spark,
    spark_start,
    startup,
    tail,
)

SUITES = (
    row_index.SUITE,
    index_sizes.SUITE,
    rss_flat.SUITE,
    first_page.SUITE,
    second_open.SUITE,
    random_row.SUITE,
    tail.SUITE,
    query.SUITE,
    query_bounds.SUITE,
    joins.SUITE,
    key_index.SUITE,
    key_get.SUITE,
    log_write.SUITE,
    log_read.SUITE,
    shard_write.SUITE,
    shard_size.SUITE,
    shard_read.SUITE,
    shard_row.SUITE,
    shard_rss.SUITE,
    startup.SUITE,
    spark_start.SUITE,
    spark.SUITE,
)
