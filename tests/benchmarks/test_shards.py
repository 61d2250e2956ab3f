"""All candidates of the shard suites give the same answer to the same question."""

import gzip
import hashlib
import json
from importlib import import_module

import pytest
import zstandard

from benchmarks.candidate import program
from benchmarks.compressed import (
    CODECS,
    LONGEST_ROW,
    content,
    kept_file,
    kept_plain,
    plain_content,
    whole_lines,
)
from benchmarks.figures import verdict
from benchmarks.generate import MIB, Extent, data_file
from benchmarks.runner import Run, run, run_once
from benchmarks.suite import Settings
from benchmarks.suites import (
    shard_read,
    shard_row,
    shard_rss,
    shard_size,
    shard_write,
)

SUITES = [shard_write, shard_size, shard_read, shard_row, shard_rss]
SMALL = Settings(size=700_000, large=700_000, rounds=1)


def run_here(candidate):
    """Run a candidate like `run_once`, but run probes in this process, which is faster."""
    if candidate.argv[1:3] != ("-m", "benchmarks.probe"):
        return run_once(candidate)
    where, arguments = candidate.argv[3:]
    module, name = where.split(":")
    outcome = getattr(import_module(module), name)(*json.loads(arguments))
    return Run(outcome.answer, {"peak_rss": MIB, **outcome.figures}, 0)


@pytest.fixture(autouse=True)
def _small_and_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.runner.run_once", run_here)
    monkeypatch.setattr(shard_row, "MANY", 50)

    def here(name, extent):
        return data_file(name, extent, folder=tmp_path)

    for suite in SUITES:
        monkeypatch.setattr(suite, "data_file", here)


@pytest.fixture
def narrow(tmp_path):
    return data_file("narrow", Extent(2_500_000), folder=tmp_path)


def answer_of(data):
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.mark.parametrize("suite", SUITES, ids=lambda each: each.SUITE.name)
def test_all_candidates_agree_and_targets_name_them(suite, tmp_path):
    result = run(suite.build(SMALL), rounds=1)
    candidates = {*result.runs, *result.left_out}
    assert result.benchmark.targets
    for target in result.benchmark.targets:
        refs = {target.subject, getattr(target, "reference", target.subject)}
        assert refs <= candidates
        known = verdict(result, target).figure is not None
        assert known == refs.isdisjoint(result.left_out)
    assert [
        *tmp_path.glob("*.out"),
        *tmp_path.glob("*-set"),
        *tmp_path.glob("tmp*"),
    ] == []


@pytest.mark.parametrize("codec", CODECS)
def test_candidates_write_the_rows_they_read(narrow, codec):
    ours = shard_write.headrace_write(str(narrow), codec)
    assert ours.answer == answer_of(narrow.read_bytes())
    assert 0 < ours.figures["bytes_written"] < 2_500_000 / 3
    assert shard_write.module_write(str(narrow), codec).answer == ours.answer


@pytest.mark.parametrize("codec", CODECS)
def test_everything_that_is_decoded_is_compared(narrow, codec, tmp_path):
    file = tmp_path / "cut"
    with CODECS[codec].write(file) as stream:
        stream.write(narrow.read_bytes()[:-2])
    assert content([file], codec) != answer_of(narrow.read_bytes())
    assert kept_file(file, codec).answer != answer_of(narrow.read_bytes())
    assert not file.exists()


def test_several_frames_and_members_are_one_answer(tmp_path):
    both, plain = tmp_path / "both", tmp_path / "plain"
    plain.write_bytes(b"1\n2\n")
    both.write_bytes(gzip.compress(b"1\n") + gzip.compress(b"2\n"))
    assert content([both], "gzip") == plain_content(plain)
    frames = [zstandard.compress(b"1\n"), zstandard.compress(b"2\n")]
    both.write_bytes(b"".join(frames))
    assert content([both], "zstd") == plain_content(plain)
    both.write_bytes(frames[0])
    plain.write_bytes(frames[1])
    assert content([both, plain], "zstd") == answer_of(b"1\n2\n")


def test_pieces_are_whole_lines_and_all_of_them(narrow):
    pieces = list(whole_lines(str(narrow)))
    assert b"".join(pieces) == narrow.read_bytes()
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert [MIB - LONGEST_ROW < len(piece) <= MIB for piece in pieces] == [
        True,
        True,
        False,
    ]


def test_a_row_too_long_for_a_piece_is_refused(tmp_path):
    file = tmp_path / "long"
    file.write_bytes(b"1" * (MIB + 1))
    with pytest.raises(ValueError, match="not found"):
        list(whole_lines(str(file)))


def test_the_output_of_a_program_can_go_to_a_file(tmp_path):
    file = tmp_path / "printed"
    printing = program(
        "echo", "echo", 7, outcome=lambda _: kept_plain(file), written=file
    )
    assert run_once(printing).answer == answer_of(b"7\n")
    assert not file.exists()
