"""Inputs of stream tests: numbered records in files, sets and logs."""

from pathlib import Path

import headrace
from tests.reference.shard_jobs import attempt_lines, begin


def text(ids):
    """Return records as the bytes of a file."""
    return b"".join(b'{"id":%d}\n' % n for n in ids)


def expected(ids):
    """Return records as lines."""
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
    """Add a generation with parts of ten rows."""
    token = None if batch is None else "0" * 16
    job = begin(Path(directory), overwrite=overwrite, max_records=10, token=token)
    try:
        parts = attempt_lines(job, 0, (line.decode() for line in expected(ids)))
        return job.commit([parts], batch=batch)
    finally:
        job.close()
