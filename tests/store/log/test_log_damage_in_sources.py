"""A damaged log is an error in every command that reads it, never a wrong answer."""

import random

import pytest

import headrace
from headrace.errors import (
    DamagedEntryError,
    DamagedLineError,
    HeadraceError,
    LogDamagedError,
    LogFileMissingError,
)

ROWS = [{"i": i, "pad": "x" * (i % 7)} for i in range(10)]


@pytest.fixture
def log(tmp_path):
    with headrace.LogWriter(tmp_path / "log", rotate_rows=5) as writer:
        writer.append_many(ROWS)
    return tmp_path / "log"


def overwrite(path, at, content):
    data = bytearray(path.read_bytes())
    data[at : at + len(content)] = content
    path.write_bytes(data)


def segment(log, base=0):
    return log / f"{base:020d}.jsonl"


QUESTIONS = {
    "query": lambda log: headrace.open(log).query("i").to_list(),
    "stream": lambda log: headrace.open(log).query("$.rows().sum(i)").to_list(),
    "rows": lambda log: list(headrace.open(log)),
    "reversed": lambda log: list(reversed(headrace.open(log)))[::-1],
    "by number": lambda log: [headrace.open(log)[row] for row in range(10)],
    "slice": lambda log: headrace.open(log)[0:10],
    "tail": lambda log: headrace.open(log).tail(10),
    "in order": lambda log: list(headrace.open(log, blocks=False)),
    "by time": lambda log: list(headrace.open(log, since=0)),
}
"""Each reads every line."""


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("codec", [None, "zstd", "gzip"])
def test_a_sound_log_answers(log, question, codec):
    before = QUESTIONS[question](log)
    if codec is not None:
        headrace.Log(log).seal(codec=codec)
    assert QUESTIONS[question](log) == before


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("base", [0, 5])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b'"i":1,', b'"i":7,', id="another digit"),
        pytest.param(b"}\n", b"} ", id="a newline that is gone"),
        pytest.param(b'"x', b'"\n', id="a newline too many"),
        pytest.param(b'"pad"', b'"bad"', id="another name"),
    ],
)
def test_a_line_that_was_changed_is_an_error(log, question, base, old, new):
    path = segment(log, base)
    data = path.read_bytes()
    if old not in data:
        old, new = b'"i":6,', b'"i":9,'
    at = data.index(old)
    line = base + data[:at].count(b"\n") + 1
    start = data[:at].rfind(b"\n") + 1
    overwrite(path, at, new)
    with pytest.raises(DamagedLineError) as caught:
        QUESTIONS[question](log)
    assert (caught.value.path, caught.value.offset) == (str(path), start)
    assert caught.value.reason == f"line {line}: the line is not what was written"
    assert "headrace log cat --on-error skip" in str(caught.value)


@pytest.mark.parametrize("on_error", ["skip", "collect"])
def test_damage_is_not_skipped_as_a_bad_row_is(log, on_error):
    overwrite(segment(log), 3, b"\x00")
    with pytest.raises(DamagedLineError):
        headrace.open(log).query("i", on_error=on_error).to_list()


def test_a_count_is_that_of_the_manifest_or_an_error(log):
    assert len(headrace.open(log)) == 10
    path = segment(log)
    at = path.read_bytes().index(b"\n")
    overwrite(path, at, b" ")
    with pytest.raises(DamagedLineError):
        len(headrace.open(log))


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_compressed_segment_of_zeros_is_an_error(log, codec, question):
    headrace.Log(log).seal(codec=codec)
    path = next(log.glob("*.jsonl.*z*"))
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(LogDamagedError, match=f"begin as {codec} does"):
        QUESTIONS[question](log)


@pytest.mark.parametrize("question", QUESTIONS)
def test_segments_that_changed_places_are_an_error(tmp_path, question):
    with headrace.LogWriter(tmp_path / "log", rotate_rows=5) as writer:
        writer.append_many([{"i": i} for i in range(10)] + [{"i": 0}] * 5)
    headrace.Log(tmp_path / "log").seal()
    first, second = sorted((tmp_path / "log").glob("*.zst"))
    content = first.read_bytes(), second.read_bytes()
    if len(content[0]) != len(content[1]):
        pytest.skip("their sizes differ, which the manifest says")
    first.write_bytes(content[1])
    second.write_bytes(content[0])
    with pytest.raises(LogDamagedError):
        QUESTIONS[question](tmp_path / "log")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("base", [0, 5])
def test_a_missing_index_is_an_error_with_advice(log, question, base):
    index = segment(log, base).with_suffix(".jsonl.idx")
    index.unlink()
    with pytest.raises(LogFileMissingError) as caught:
        QUESTIONS[question](log)
    assert caught.value.path == str(index)
    assert "`headrace log recover` makes it again" in str(caught.value)
    assert "--repair" not in str(caught.value)
    headrace.Log(log).recover()
    assert list(headrace.open(log)) == ROWS


def test_an_entry_that_was_changed_is_an_error(log):
    index = segment(log).with_suffix(".jsonl.idx")
    overwrite(index, 256 + 56 + 10, b"\x07")
    with pytest.raises(DamagedEntryError) as caught:
        list(headrace.open(log))
    assert (caught.value.path, caught.value.offset) == (str(index), 256 + 56)
    assert caught.value.reason.startswith("line 2: ")


def test_a_manifest_that_is_gone_is_an_error(log):
    (log / "manifest.json").unlink()
    with pytest.raises(LogFileMissingError, match="`headrace log recover` makes it"):
        headrace.open(log)
    headrace.Log(log).recover()
    assert list(headrace.open(log)) == ROWS


@pytest.mark.filterwarnings("ignore::headrace.errors.HeadraceWarning")
@pytest.mark.parametrize("codec", [None, "zstd", "gzip"])
def test_no_bit_can_lie(tmp_path, codec):
    """One bit is flipped in every byte of a full segment and of its index."""
    log = tmp_path / "log"
    with headrace.LogWriter(log, rotate_rows=4) as writer:
        writer.append_many(ROWS[:6])
    if codec is not None:
        headrace.Log(log).seal(codec=codec)
    chance = random.Random(17)
    files = [path for path in log.iterdir() if path.name.startswith(segment(log).name)]
    assert len(files) == 2
    ask = [*map(QUESTIONS.get, ["rows", "reversed", "by number", "in order"])]
    ask.append(lambda log: len(headrace.open(log)))
    expected = [ROWS[:6], ROWS[:6], ROWS[:6], ROWS[:6], 6]
    for path in files:
        sound = path.read_bytes()
        step = max(len(sound) // 60, 1)
        for at in range(0, len(sound), step):
            overwrite(path, at, bytes([sound[at] ^ 1 << chance.randrange(8)]))
            for question, answer in zip(ask, expected, strict=True):
                try:
                    found = question(log)
                except (HeadraceError, IndexError):
                    continue
                assert found == answer, (path.name, at)
            path.write_bytes(sound)
