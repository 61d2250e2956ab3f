"""Write jobs without Spark: attempts at tasks, and commits, of sets called ``rows``."""

import json
import multiprocessing

import headrace
from headrace.api.shards.check import check_shards
from headrace.engines.rows.partition_key import PathKeys
from headrace.store.shards.job import job as jobs
from headrace.store.shards.options import limits, pack_options


def begin(
    place,
    *,
    codec="zstd",
    block_bytes="256KiB",
    max_records=None,
    overwrite=False,
    validate=True,
    **more,
):
    """Begin a job that writes to a directory, or a URL."""
    options = pack_options(
        codec,
        level=None,
        options=None,
        block_bytes=block_bytes,
        limits=limits(None, max_records, None),
        validate=validate,
        max_depth=256,
        threads=1,
    )
    more = {"job_id": None, "partition_by": None, **more}
    return jobs.begin(
        place, "rows", overwrite=overwrite, options=lambda _before: options, **more
    )


def attempt_lines(job, task, lines):
    """Stage lines in an attempt; return its parts."""
    path = job.partition_by
    with job.attempt(task, None if path is None else PathKeys(path, 256)) as rows:
        rows.write_many(
            line if isinstance(line, bytes) else line.encode() for line in lines
        )
        return rows.close()


def attempt(job, task, records):
    return attempt_lines(job, task, map(json.dumps, records))


def run(place, *tasks, **more):
    """Run a job whose tasks have these records."""
    job = begin(place, **more)
    metadata = job.commit([attempt(job, *each) for each in enumerate(tasks)])
    job.close()
    return metadata


def rows(place):
    return list(headrace.open(place))


def is_sound(place):
    return not any(each.faults for each in check_shards(headrace.ShardSet(place)))


def commit_some(place, number, overwrite):
    """Commit three jobs of ten rows, which have the number of this process."""
    for again in range(3):
        record = [number, again]
        run(place, [record] * 5, [record] * 5, overwrite=overwrite)


def check_many_at_once(place, *, overwrite):
    """Commit to a set in several processes; check that it has all rows, or those of the last."""
    context = multiprocessing.get_context("fork")
    several = [
        context.Process(target=commit_some, args=(place, number, overwrite))
        for number in range(4)
    ]
    for each in several:
        each.start()
    for each in several:
        each.join()
        assert each.exitcode == 0
    found = rows(place)
    kinds = sorted({tuple(row) for row in found})
    if overwrite:
        assert len(kinds) == 1
        assert len(found) == 10
    else:
        assert kinds == [(number, again) for number in range(4) for again in range(3)]
        assert len(found) == 120
    assert headrace.ShardSet(place).metadata.generation == 12
    assert is_sound(place)
