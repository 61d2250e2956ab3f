"""What streams read in these tests: records with numbers, in files, sets and logs."""

from pathlib import Path

import headrace
from headrace.store.shards import job as jobs
from headrace.store.shards.options import limits, pack_options


def text(ids):
    """Return records as a file has them."""
    return b"".join(b'{"id":%d}\n' % n for n in ids)


def expected(ids):
    """Return them as lines."""
    return text(ids).splitlines()


def lines(rows):
    """Return the lines of rows, which are the last column."""
    return [raw for *_, raw in rows]


def append_file(path, content):
    with Path(path).open("ab") as file:
        file.write(content)


def append_log(path, ids, rotate_rows=100):
    with headrace.LogWriter(path, rotate_rows=rotate_rows) as log:
        log.append_many([{"id": n} for n in ids])


def append_set(directory, ids, *, overwrite=False, batch=None):
    """Add a generation, whose parts have ten rows."""
    options = pack_options(
        "zstd",
        level=None,
        options=None,
        block_bytes="256KiB",
        limits=limits(None, 10, None),
        validate=True,
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
        token=None if batch is None else "0" * 16,
    )
    try:
        with job.attempt(0) as rows:
            rows.write_many(line.decode() for line in expected(ids))
            parts = rows.close()
        return job.commit([parts], batch=batch)
    finally:
        job.close()
