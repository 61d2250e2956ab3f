"""The options of a read."""

from pathlib import Path

import pytest

from headrace.engines.spark.source.options import OPTIONS, ReadOptions, read_options
from headrace.errors import UsageError

pytestmark = pytest.mark.spark

MANUAL = Path(__file__).parents[2] / "docs" / "spark.md"


def test_defaults():
    assert read_options({"path": "a.jsonl"}) == ReadOptions(
        paths=("a.jsonl",),
        name_glob=None,
        partition_bytes=64 << 20,
        max_line=64 << 20,
        batch_bytes=4 << 20,
        max_ratio=10_000,
        max_decoded=None,
        blocks=True,
    )


def test_names_have_no_case_and_sizes_have_units():
    options = {
        "PATHS": '["a b.jsonl", "ü/*.gz"]',
        "pathglobfilter": "*.gz",
        "maxPartitionBytes": "128MiB",
        "MAXLINEBYTES": "1024",
        "maxBatchBytes": "64KiB",
        "maxRatio": "7",
        "maxDecodedBytes": "1GiB",
        "BLOCKS": "False",
    }
    assert read_options(options) == ReadOptions(
        paths=("a b.jsonl", "ü/*.gz"),
        name_glob="*.gz",
        partition_bytes=128 << 20,
        max_line=1024,
        batch_bytes=64 << 10,
        max_ratio=7,
        max_decoded=1 << 30,
        blocks=False,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({}, r"needs a path: .load\(path\)", id="no path"),
        pytest.param({"paths": '"a"'}, "not a JSON list", id="paths is no list"),
        pytest.param({"paths": "[]"}, "needs a path", id="paths is empty"),
        pytest.param(
            {"path": "a", "maxPartitionByte": "1", "multiLine": "true"},
            "no option maxpartitionbyte, multiline; there are path, paths, "
            "pathGlobFilter, maxPartitionBytes, maxLineBytes, maxBatchBytes",
            id="unknown",
        ),
        pytest.param({"path": "a", "maxLineBytes": "0"}, "from 1 to", id="zero"),
        pytest.param(
            {"path": "a", "maxBatchBytes": "3GiB"}, "maxBatchBytes is 3GiB", id="huge"
        ),
        pytest.param({"path": "a", "maxRatio": "0"}, "maxRatio is 0", id="no ratio"),
        pytest.param(
            {"path": "a", "maxDecodedBytes": "x"}, "maxDecodedBytes", id="no bytes"
        ),
        pytest.param({"path": "a", "blocks": "1"}, "true or false", id="no switch"),
        pytest.param(
            {"path": "a", "badRecordsPath": "s3://bucket/bad"},
            "badRecordsPath is s3://bucket/bad; it is a directory of a file system",
            id="URL",
        ),
        pytest.param(
            {"path": "a", "maxBatchBytes": "many"}, "maxBatchBytes", id="not a size"
        ),
    ],
)
def test_refused(options, message):
    with pytest.raises(UsageError, match=message):
        read_options(options)


def test_the_manual_has_every_option_with_its_meaning():
    manual = MANUAL.read_text(encoding="utf-8")
    assert OPTIONS
    for option in OPTIONS:
        assert f"| `{option.name}` | " in manual
        assert option.doc in manual
