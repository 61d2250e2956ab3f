"""Logs opened with times: the segments read, counts, and refusals."""

import os
import pickle
from datetime import UTC, datetime

import pytest

import headrace
from headrace.errors import (
    DamagedLineError,
    LogDamagedError,
    RowFailedError,
    SourceChangedError,
    UsageError,
)

ROWS = [{"n": n, "t": n * 10} for n in range(5000)]
SEGMENT = 1000


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    with headrace.LogWriter(
        path, rotate_rows=SEGMENT, durability="os", time="$.t", monotonic="off"
    ) as writer:
        writer.append_many(ROWS)
    return path


def segment(log, base, end=""):
    return log / f"{base:020d}.jsonl{end}"


class TestWhatIsRead:
    def test_segments_outside_are_not_opened(self, log):
        for base in (0, 1000, 4000):
            if base != 4000:
                segment(log, base).unlink()
                segment(log, base, ".idx").unlink()
        rows = headrace.open(log, since=25_000, until=26_000)
        assert list(rows) == ROWS[2500:2600]

    def test_of_a_segment_only_a_part(self, tmp_path):
        padded = [{**row, "pad": "x" * 200} for row in ROWS]
        with headrace.LogWriter(tmp_path / "log", time="$.t") as writer:
            writer.append_many(padded)
        rows = headrace.open(tmp_path / "log", since=25_000, until=25_100)
        assert list(rows) == padded[2500:2510]
        assert rows.bytes_read() < segment(tmp_path / "log", 0).stat().st_size / 2

    @pytest.mark.parametrize("codec", ["zstd", "gzip"])
    def test_of_compressed_segments(self, log, codec):
        headrace.Log(log).seal(codec=codec)
        rows = headrace.open(log, since=15_000, until=42_000)
        assert list(rows) == ROWS[1500:4200]
        assert list(pickle.loads(pickle.dumps(rows))) == ROWS[1500:4200]

    def test_segments_compressed_or_removed_meanwhile(self, log):
        before = headrace.open(log, since=5000, until=42_000)
        headrace.Log(log).seal()
        assert list(before) == ROWS[500:4200]
        late = headrace.open(log, since=5000)
        headrace.Log(log).retain(before_line=2000)
        with pytest.raises(SourceChangedError, match="lines 1 to 1000 of the log were"):
            list(late)

    def test_lines_appended_later_are_not(self, log):
        before = headrace.open(log, since=45_000)
        with headrace.LogWriter(log, time="$.t", rotate_rows=SEGMENT) as writer:
            writer.append_many([{"n": n, "t": n * 10} for n in range(5000, 7000)])
        assert list(before) == ROWS[4500:]
        assert len(headrace.open(log, since=45_000)) == 2500

    def test_every_notation_of_a_time(self, log):
        noon = datetime.fromtimestamp(20, UTC)
        assert len(headrace.open(log, until=noon)) == 2000
        assert len(headrace.open(log, until="1970-01-01T00:00:20Z")) == 2000
        assert len(headrace.open(log, since="-15m")) == 0
        with pytest.raises(UsageError, match="not a time"):
            headrace.open(log, since="noon")

    def test_one_segment(self, log):
        assert len(headrace.open(segment(log, 2000), since=25_000)) == 500
        assert len(headrace.open(segment(log, 0), since=25_000)) == 0

    def test_lines_that_alternate(self, tmp_path):
        with headrace.LogWriter(
            tmp_path / "log", durability="os", time="$.t", monotonic="off"
        ) as writer:
            writer.append_many({"n": n, "t": n % 2} for n in range(20_000))
        odd = headrace.open(tmp_path / "log", since=1)
        assert [row["n"] for row in odd] == list(range(1, 20_000, 2))
        assert [row["n"] for row in reversed(odd)] == list(range(19_999, 0, -2))
        assert odd[7777]["n"] == 15_555


def test_long_lines_from_the_end(tmp_path):
    """The lines are longer than the memory for one batch."""
    with headrace.LogWriter(
        tmp_path / "log", durability="os", time="$.t", monotonic="off"
    ) as writer:
        writer.append_many(
            {"n": n, "t": n % 3, "pad": "x" * 300_000 * (n % 5 == 0)} for n in range(99)
        )
    rows = headrace.open(tmp_path / "log", since=1)
    expected = [n for n in range(99) if n % 3]
    assert [row["n"] for row in reversed(rows)] == expected[::-1]


class TestCounts:
    def test_a_key_index_is_not_used(self, log):
        for path in log.glob("*.jsonl"):
            headrace.KeyIndex.build(path, "n")
        rows = headrace.open(log, since=25_000, until=35_000)
        result = rows.query("n == 2600", matches=True)
        assert result.to_list() == ROWS[2600:2601]
        assert (result.stats.rows, result.stats.outside) == (5000, 4000)
        assert "only lines with certain times are meant" in result.explain()

    def test_up_to_a_row_that_fails(self, log):
        rows = headrace.open(log, since=25_000)
        result = rows.query("n / (n - 2502)")
        with pytest.raises(RowFailedError, match="line 503") as failed:
            result.to_list()
        assert failed.value.path == str(segment(log, 2000))
        counts = result.stats
        assert (counts.rows, counts.emitted, counts.outside) == (2503, 2, 2500)

    def test_of_named_sources(self, log):
        few = headrace.open(log, until=100)
        result = headrace.open(log, since=49_900).query(
            "$.count() + @few.count()", names={"few": few}, stream=True
        )
        assert result.to_list() == [20]
        ((name, counts),) = result.stats.named
        assert (name, counts.rows, counts.outside) == ("few", 5000, 4990)

    def test_sides_of_a_join(self, log):
        left = headrace.open(log, since=100, until=200)
        right = headrace.open(log, since=150, until=300)
        joined = left.join(right, on="n", how="inner", prefix="r_")
        assert [row["n"] for row in joined] == list(range(15, 20))


class TestRefused:
    @pytest.mark.parametrize("name", ["rows.jsonl", "directory", "-"])
    def test_sources_that_are_not_logs(self, tmp_path, name):
        (tmp_path / "rows.jsonl").write_bytes(b"1\n")
        (tmp_path / "directory").mkdir()
        (tmp_path / "directory" / "a.jsonl").write_bytes(b"1\n")
        path = name if name == "-" else tmp_path / name
        with pytest.raises(UsageError, match="this is not a log"):
            headrace.open(path, since=0)

    def test_a_log_beside_a_file(self, log, tmp_path):
        (tmp_path / "rows.jsonl").write_bytes(b"1\n")
        with pytest.raises(UsageError, match=r"rows\.jsonl: since and until"):
            headrace.open([log, tmp_path / "rows.jsonl"], until=100)

    def test_spark(self, log):
        some = headrace.open(log, since=25_000)
        with pytest.raises(UsageError, match="Spark's tasks read all lines of a log"):
            some.query("n", engine="spark")
        with pytest.raises(UsageError, match="--engine local"):
            headrace.open(log).query(
                "@some.count()", names={"some": some}, engine="spark"
            )

    def test_look_ups(self, log):
        with pytest.raises(UsageError, match="get looks through all lines"):
            headrace.open(log, since=25_000).get("n", 1)

    def test_damage(self, log):
        index = segment(log, 2000, ".idx")
        content = bytearray(index.read_bytes())
        content[256 + 500 * 56 + 17] ^= 1
        index.write_bytes(content)
        with pytest.raises(LogDamagedError, match=r"an entry of lines .* is not good"):
            list(headrace.open(log, since=25_000))

    def test_lines_that_are_not_those_of_the_index(self, log):
        path = segment(log, 2000)
        content = path.read_bytes()
        path.write_bytes(content.replace(b'\n{"n":2100,', b' {"n":2100,'))
        os.utime(path)
        with pytest.raises(DamagedLineError, match="line 2100: the line is not what"):
            list(headrace.open(log, since=25_000))
