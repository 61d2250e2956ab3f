"""Matches of patterns, compared with Python's own `glob` where no links are."""

import glob

import pytest

import headrace
from headrace.errors import HeadraceWarning, NotNdjsonError, SourceNotFoundError
from headrace.store.files.patterns import matches

PATTERNS = [
    "*", "**", "**/", "**/*", "**/*.jsonl", "a/**", "a/**/", "a/**/*.jsonl", "*/**/x.jsonl", "**/b/*.jsonl",
    "**/b/**/*.jsonl", "a/**/**/x*", "**/[x]*", "no/**/x", "a/**/b", "./**/*.jsonl", "{root}/**/*.jsonl",
    "{root}/a/*", "**/.h/*", "a?/**/*",
]  # fmt: skip


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in (
        *("x.jsonl", "a/x.jsonl", "a/b/x.jsonl", "a/b/c/y.jsonl", "a1/b/[z].jsonl"),
        *(".h/x.jsonl", "a/.h/x.jsonl", "a/b/.x.jsonl", "[d]/x.jsonl", "a/b/x.txt"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_the_same_names_as_in_python(tree, pattern):
    pattern = pattern.format(root=tree)
    assert matches(pattern) == sorted(set(glob.glob(pattern, recursive=True)))  # noqa: PTH207


def test_links_to_directories_are_not_walked_through(tree):
    (tree / "a" / "loop").symlink_to(".")
    (tree / "link").symlink_to(tree / "a")
    assert matches("a/**/x.jsonl") == ["a/b/x.jsonl", "a/x.jsonl"]
    assert len(headrace.open("a/**/*.jsonl")) == 3
    # A link that is named explicitly is followed.
    assert matches("link/**/x.jsonl") == ["link/b/x.jsonl", "link/x.jsonl"]
    assert matches("*/loop/x.jsonl") == ["a/loop/x.jsonl", "link/loop/x.jsonl"]


def test_a_link_that_leads_nowhere_is_an_error_in_a_directory_too(tree):
    (tree / "gone.jsonl").symlink_to("nothing")
    for source in (tree, "*.jsonl"):
        with pytest.raises(SourceNotFoundError, match=r"gone\.jsonl: no such file"):
            headrace.open(source)


@pytest.mark.parametrize(
    "name",
    [
        *("x.jsonl.orig", "x.jsonl.old", "x.jsonl.lock", "x.jsonl.csv", "x.jsonl~"),
        *("x.jsonl.crdownload", "x.jsonld", "x.ndjson.parquet", "x.jsonlines.txt"),
    ],
)
def test_other_suffixes_are_not_data(tmp_path, name):
    (tmp_path / name).write_bytes(b"1\n")
    with pytest.raises(NotNdjsonError, match="no NDJSON in this directory"):
        headrace.open(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["x.jsonl.1", "x.jsonl-20260101", "x.ndjson.2.gz", "x.jsonl.zst", "a.jsonl_2"],
)
def test_rotated_and_compressed_files_are_data(tmp_path, name):
    (tmp_path / name).write_bytes(b"1\n")
    assert list(headrace.open(tmp_path)) == [1]


def test_data_beside_a_set_is_warned_of(tmp_path):
    with headrace.ShardWriter(tmp_path) as writer:
        writer.write(1)
    assert list(headrace.open(tmp_path)) == [1]
    (tmp_path / "extra.jsonl").write_bytes(b"2\n")
    with pytest.warns(HeadraceWarning, match=r"extra\.jsonl beside it is not"):
        assert list(headrace.open(tmp_path)) == [1]
