"""Options of a Spark write, and the job that they start.

An append takes options that are not given from the set.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headrace.engines.spark.source.options import (
    OPTIONS,
    Option,
    local_path,
    one_of,
    switch,
)
from headrace.engines.spark.stream.options import STREAM_OPTIONS
from headrace.errors import UsageError
from headrace.store.files.source import is_url
from headrace.store.files.units import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.engines.rows.partition_key import PathKeys
    from headrace.store.shards.job.job import Job
    from headrace.store.shards.metadata import Metadata
    from headrace.store.shards.options import PackOptions

T = TypeVar("T")
U = TypeVar("U")

SINK_OPTIONS = (
    Option("path", "a directory, or a URL in an object store; `save(path)` sets it"),
    Option("name", "the name of the set in the directory"),
    Option("codec", "`zstd`, `gzip` or `none`"),
    Option("level", "the compression level"),
    Option("blockBytes", "bytes of lines in one compressed block"),
    Option("maxBytes", "limit on the size of each file"),
    Option("maxRecords", "limit on the records of each file"),
    Option(
        "maxLogicalBytes", "limit on the bytes of lines of each file before compression"
    ),
    Option("ignoreNullFields", "leave out null fields"),
    Option(
        "nonFinite", "`error`: NaN and infinities fail the job; `null`: they are null"
    ),
    Option("partitionBy", "one directory for each value at this path"),
    Option(
        "lines",
        "`true`: write the strings of the only column as lines, unchanged",
    ),
    Option("jobId", "do not run a job again whose id is in the set"),
    Option("grace", "how long a replaced generation stays for its readers"),
)

STREAM_SINK_OPTIONS = (
    Option("stream", "the name of the stream in the set, if several streams write it"),
    Option("checkpointLocation", "the directory in which Spark keeps the offsets"),
    Option("queryName", "the name of the query in Spark; `queryName(name)` sets it"),
)
"""Further options of a streaming query; Spark itself uses all except the first."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of one write, None if not given; its schema is separate.

    `place` is a directory, or the URL of one in an object store.
    """

    place: Path | str
    name: str
    codec: str | None
    level: int | None
    block_bytes: str | None
    max_bytes: str | None
    max_records: int | None
    max_logical_bytes: str | None
    skip_nulls: bool
    null_for_nan: bool
    partition_by: str | None
    lines: bool | None
    job_id: str | None
    grace: float | None


def is_write(given: Mapping[str, str]) -> bool:
    """Whether an option exists for writes only; refuse an option that does not exist.

    >>> is_write({"path": "out"}), is_write({"path": "out", "jobId": "7"})
    (False, True)
    """
    read, write = (
        {option.name.lower(): option.name for option in table}
        for table in (OPTIONS + STREAM_OPTIONS, SINK_OPTIONS + STREAM_SINK_OPTIONS)
    )
    names = {name.lower() for name in given}
    if unknown := sorted(names - read.keys() - write.keys()):
        raise UsageError(
            f"format headrace has no option {', '.join(unknown)}; there are "
            f"{', '.join(read.values())}; and for writes, {', '.join(write.values())}"
        )
    return bool(names - read.keys())


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """Parse Spark's options; refuse a name that is not in `SINK_OPTIONS`.

    >>> write_options({"path": "out", "maxbytes": "64MiB"}).max_bytes
    '64MiB'
    """
    values = {name.lower(): value for name, value in given.items()}
    if unknown := sorted(set(values) - {each.name.lower() for each in SINK_OPTIONS}):
        raise UsageError(
            f"writing format headrace has no option {', '.join(unknown)}; "
            f"there are {', '.join(option.name for option in SINK_OPTIONS)}"
        )
    if "path" not in values:
        raise UsageError("format headrace needs a directory: .save(directory)")
    non_finite = values.get("nonfinite", "error").lower()
    one_of("nonFinite", non_finite, ("error", "null"))
    return WriteOptions(
        place=_place(values["path"]),
        name=values.get("name", "rows"),
        codec=_lower(values.get("codec")),
        level=_integer("level", values),
        block_bytes=values.get("blockbytes"),
        max_bytes=values.get("maxbytes"),
        max_records=_integer("maxRecords", values),
        max_logical_bytes=values.get("maxlogicalbytes"),
        skip_nulls=switch("ignoreNullFields", values.get("ignorenullfields", "true")),
        null_for_nan=non_finite == "null",
        partition_by=values.get("partitionby"),
        lines=switch("lines", values["lines"]) if "lines" in values else None,
        job_id=values.get("jobid"),
        grace=_grace(values),
    )


def _grace(values: Mapping[str, str]) -> float | None:
    """Return `grace` in seconds; refuse it for an object store."""
    if "grace" not in values:
        return None
    if is_url(local_path(values["path"])):
        raise UsageError(
            "option grace: a write to an object store removes no generation; leave it out, and "
            "run `headrace shard vacuum URL --grace AGE`"
        )
    try:
        return parse_duration(values["grace"]) / 1000
    except UsageError as error:
        raise UsageError(f"option grace: {error}") from None


@dataclass(frozen=True, slots=True)
class StreamWriteOptions:
    """The options of one stream of writes; its schema is separate."""

    write: WriteOptions
    stream: str


def stream_write_options(given: Mapping[str, str]) -> StreamWriteOptions:
    """Parse Spark's options; refuse a name that is in neither table of a write.

    >>> stream_write_options({"path": "out", "checkpointLocation": "ckpt"}).stream
    'default'
    """
    values = {name.lower(): value for name, value in given.items()}
    ours = {option.name.lower() for option in STREAM_SINK_OPTIONS}
    if "jobid" in values:
        raise UsageError(
            "a stream has no jobId, since its batches have numbers; leave it out"
        )
    write = {name: value for name, value in values.items() if name not in ours}
    return StreamWriteOptions(write_options(write), values.get("stream", "default"))


def _place(path: str) -> Path | str:
    local = local_path(path)
    if is_url(local):
        return local
    # Tasks have other working directories.
    return Path(local).absolute()


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _integer(name: str, values: Mapping[str, str]) -> int | None:
    text = values.get(name.lower())
    try:
        return None if text is None else int(text)
    except ValueError:
        raise UsageError(f"option {name} is {text}; it must be an integer") from None


def begin_job(
    options: WriteOptions, *, overwrite: bool, validate: bool, token: str | None = None
) -> Job:
    """Begin the job of a write, on the driver."""
    from headrace.store.shards.job.job import begin

    path_keys(options.partition_by)  # raises if it is not a path
    return begin(
        options.place,
        options.name,
        overwrite=overwrite,
        job_id=options.job_id,
        options=lambda before: _packing(options, before, validate=validate),
        partition_by=options.partition_by,
        token=token,
        grace=options.grace,
    )


def check_partition(path: str | None, columns: Sequence[str]) -> None:
    """Raise if option `partitionBy` does not begin with a column."""
    if path is None:
        return
    column = path.partition(".")[0]
    if column not in columns:
        raise UsageError(
            f"option partitionBy is {path!r}; it is the path of one value, such as `day` or "
            f"`user.country`, and the frame has no column {column!r}; there are "
            f"{', '.join(columns)}"
        )


def path_keys(path: str | None) -> PathKeys | None:
    """Return the reader of partition values at a path of the language."""
    if path is None:
        return None
    from headrace.engines.rows.partition_key import PathKeys
    from headrace.kernel.values import MAX_DEPTH

    return PathKeys(path, MAX_DEPTH)


def _packing(
    options: WriteOptions, current: Metadata | None, *, validate: bool
) -> PackOptions:
    from headrace.kernel.values import MAX_DEPTH
    from headrace.store.shards import options as shard_options
    from headrace.store.shards.metadata import Limits

    codec, level, before = "zstd", options.level, Limits()
    block_bytes: int | str = "256KiB"
    if current is not None:
        codec, before = current.compression.codec, current.limits
        block_bytes = current.compression.block_bytes
        if level is None and options.codec in (None, codec):
            level = current.compression.level
    return shard_options.pack_options(
        _given(options.codec, codec),
        level=level,
        options=None,
        block_bytes=_given(options.block_bytes, block_bytes),
        limits=shard_options.limits(
            _given(options.max_bytes, before.max_bytes),
            _given(options.max_records, before.max_records),
            _given(options.max_logical_bytes, before.max_logical_bytes),
        ),
        validate=validate,
        max_depth=MAX_DEPTH,
        threads=1,
    )


def _given(value: T | None, otherwise: U) -> T | U:
    return otherwise if value is None else value
