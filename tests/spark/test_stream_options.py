"""The options of streaming reads and writes."""

from pathlib import Path

import pytest

from headrace.engines.spark.sink.options import (
    STREAM_SINK_OPTIONS,
    is_write,
    stream_write_options,
)
from headrace.engines.spark.source.data_source import HeadraceSource
from headrace.engines.spark.stream.options import (
    STREAM_OPTIONS,
    Budget,
    stream_options,
)
from headrace.errors import UsageError
from tests.spark.driven import LINES, Stream

pytestmark = pytest.mark.spark

MANUAL = Path(__file__).parents[2] / "docs" / "streaming.md"


def test_defaults():
    options = stream_options({"path": "log"})
    assert options.read.paths == ("log",)
    assert options.budget == Budget(None, None)
    assert (options.starting, options.skip_lost) == ("earliest", False)


def test_names_have_no_case_and_sizes_have_units():
    options = stream_options(
        {
            "path": "log",
            "MAXBYTESPERTRIGGER": "64MiB",
            "maxRowsPerTrigger": "7",
            "ondataloss": "SKIP",
            "maxPartitionBytes": "1MiB",
        }
    )
    assert options.budget == Budget(64 << 20, 7)
    assert options.skip_lost
    assert options.read.partition_bytes == 1 << 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxBytesPerTriger": "1"}, "no option maxbytespertriger"),
        ({"maxBytesPerTrigger": "0"}, "maxBytesPerTrigger is 0; it must be at least 1"),
        ({"maxRowsPerTrigger": "many"}, "option maxRowsPerTrigger: not a size"),
        ({"onDataLoss": "ignore"}, "onDataLoss is ignore; it must be fail or skip"),
    ],
)
def test_refused(options, message):
    with pytest.raises(UsageError, match=message):
        HeadraceSource({"path": "a.jsonl", **options})


@pytest.mark.parametrize("starting", ["early", "[]", "{", '{"version": 1}'])
def test_where_a_stream_cannot_begin(tmp_path, starting):
    with pytest.raises(UsageError, match=r"startingOffsets|the path has files"):
        Stream(tmp_path, startingOffsets=starting).batch()


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        ('{"version": 2, "kind": "files", "places": {}}', "has version 2"),
        ('{"version": 1, "kind": "files", "places": []}', "not an offset of a stream"),
        (
            '{"version": 1, "kind": "x", "places": {}}',
            "startingOffsets is of x",
        ),
        (
            '{"version": 1, "kind": "files", "places": {"a": {"byte": "1", "ends": ""}}}',
            "not an offset of a stream of files",
        ),
        (
            '{"version": 1, "kind": "files", "places": {"a": {"line": 1}}}',
            "not an offset of a stream of files, whose places have byte and ends",
        ),
    ],
)
def test_invalid_offsets(tmp_path, offset, message):
    with pytest.raises(UsageError, match=message):
        Stream(tmp_path, startingOffsets=offset).batch()


def test_a_batch_read_has_no_options_of_streams():
    source = HeadraceSource({"path": "a.jsonl", "maxRowsPerTrigger": "7"})
    with pytest.raises(UsageError, match="no option maxrowspertrigger"):
        source.reader(LINES)


def test_columns_are_not_inferred(tmp_path):
    source = HeadraceSource({"path": str(tmp_path), "inferSchema": "true"})
    with pytest.raises(UsageError, match="leave inferSchema out"):
        source.streamReader(LINES)


def test_writes():
    given = {
        "path": "/out",
        "checkpointLocation": "c",
        "queryName": "q",
        "codec": "gzip",
    }
    options = stream_write_options(given)
    assert (options.stream, options.write.codec) == ("default", "gzip")
    assert stream_write_options({**given, "STREAM": "a"}).stream == "a"
    assert is_write({"path": "/out", "stream": "a"})
    with pytest.raises(UsageError, match="a stream has no jobId"):
        stream_write_options({**given, "jobId": "1"})


def test_the_manual_has_every_option_with_its_meaning():
    manual = MANUAL.read_text(encoding="utf-8")
    for option in STREAM_OPTIONS + STREAM_SINK_OPTIONS:
        assert f"| `{option.name}` | " in manual
        assert option.doc in manual
