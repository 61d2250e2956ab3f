"""A log as a source: queries run over its committed rows."""

import os
import pickle
import threading

import pytest

import headrace
from headrace.api.recompress import recompress
from headrace.engines.local import tally
from headrace.errors import (
    BadRowError,
    DamagedEntryError,
    DamagedLineError,
    LogDamagedError,
    LogFileMissingError,
    NotNdjsonError,
    RowOutOfRangeError,
    SourceChangedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.kernel.rows import Decoding
from headrace.store.files.opened import Keeping
from headrace.store.files.source import expand
from headrace.store.rows import log_segment, row_index
from headrace.store.rows.row_file import RowFile, RowOptions

ROWS = [{"n": n, "k": n % 7, "pad": "x" * (n % 40)} for n in range(5000)]
SEGMENT = 1300


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "trades" / "BTC"
    with headrace.LogWriter(path, rotate_rows=SEGMENT, durability="os") as writer:
        writer.append_many(ROWS)
    return path


def last_segment(log):
    return max(log.glob("*.jsonl"))


def rows_of(source):
    return RowFile(source, RowOptions(1 << 20, Keeping(), Decoding()))


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_rows_of_compressed_segments(log, codec):
    headrace.Log(log).seal(codec=codec)
    rows = headrace.open(log)
    assert [source.blocks for source in rows.sources] == [True, True, True, False]
    assert list(rows) == ROWS
    assert (len(rows), rows.count(), rows.stats().lines) == (5000, 5000, 5000)
    assert list(reversed(rows)) == ROWS[::-1]
    for row in (0, 1299, 1300, 2599, 4321, -1, -3000):
        assert rows[row] == ROWS[row]
    assert rows[1290:2610] == ROWS[1290:2610]
    assert list(pickle.loads(pickle.dumps(rows))) == ROWS


def test_rows_that_are_compressed_while_they_are_read(log):
    before = headrace.open(log)
    headrace.Log(log).seal()
    assert list(before) == ROWS
    named = headrace.open(log)
    headrace.Log(log).retain(before_line=2000)
    assert list(headrace.open(log)) == ROWS[SEGMENT:]
    with pytest.raises(SourceChangedError, match="lines 1 to 1300 of the log"):
        list(named)


class TestRows:
    def test_are_those_of_all_segments(self, log):
        rows = headrace.open(log)
        assert [source.location for source in rows.sources] == sorted(
            map(str, log.glob("*.jsonl"))
        )
        assert list(rows) == ROWS
        assert (len(rows), rows.count(), rows.stats().lines) == (5000, 5000, 5000)
        assert list(reversed(rows)) == ROWS[::-1]
        assert rows.head(3) == ROWS[:3]
        assert rows.tail(1500) == ROWS[-1500:]
        assert list(pickle.loads(pickle.dumps(rows))) == ROWS

    @pytest.mark.parametrize("row", [0, 1299, 1300, 2599, 2600, 4321, 4999, -1, -3000])
    def test_by_number(self, log, row):
        assert headrace.open(log)[row] == ROWS[row]

    def test_beyond_the_last(self, log):
        rows = headrace.open(log)
        assert rows[4990:6000] == ROWS[4990:]
        with pytest.raises(RowOutOfRangeError):
            rows[5000]

    def test_of_queries(self, log):
        rows = headrace.open(log)
        assert rows.query("n", stream=False).to_list() == [row["n"] for row in ROWS]
        assert rows.query("$.nth(4321).n", stream=True).to_list() == [4321]
        back = rows.query("n", stream=False, reverse=True, limit=2)
        assert back.to_list() == [4999, 4998]
        joined = rows.query(
            "$.count() + @other.count()", names={"other": log}, stream=True
        )
        assert joined.to_list() == [10000]

    def test_of_an_empty_log(self, tmp_path):
        headrace.LogWriter(tmp_path / "log").close()
        rows = headrace.open(tmp_path / "log")
        assert (list(rows), len(rows), rows.stats().lines) == ([], 0, 0)


@pytest.mark.filterwarnings("ignore:.*are not committed")
class TestWhatIsNotCommitted:
    def test_is_not_read(self, log):
        before = last_segment(log).read_bytes()
        for more in (b'{"n":5000}\n', b'{"n"', b"\0" * 100, b"\n\n"):
            last_segment(log).write_bytes(before + more)
            rows = headrace.open(log)
            assert rows.tail(1) == ROWS[-1:]
            assert (len(rows), rows.stats().lines) == (5000, 5000)
            assert list(rows) == ROWS
            one = headrace.open(last_segment(log))
            assert len(one) == 5000 - 3 * SEGMENT

    def test_may_come_and_go(self, log):
        rows = headrace.open(log)
        before = last_segment(log).read_bytes()
        with last_segment(log).open("r+b") as file:
            file.truncate(len(before) + 70)
            assert rows[4999] == ROWS[4999]
            file.truncate(len(before))
            os.utime(last_segment(log))
            assert rows[4998] == ROWS[4998]
        assert list(rows) == ROWS

    def test_an_open_data_set_does_not_grow(self, log):
        before = headrace.open(log)
        with headrace.LogWriter(log, rotate_rows=SEGMENT) as writer:
            writer.append_many([{"n": n} for n in range(5000, 9000)])
        assert list(before) == ROWS
        assert len(headrace.open(log)) == 9000

    def test_readers_beside_a_writer(self, tmp_path):
        """Every read returns the first n records, and n never decreases."""
        log = tmp_path / "log"
        done = threading.Event()

        def write():
            with headrace.LogWriter(log, rotate_rows=97, durability="os") as writer:
                for n in range(0, 3000, 3):
                    writer.append_many([{"n": n}, {"n": n + 1}, {"n": n + 2}])
            done.set()

        headrace.LogWriter(log).close()
        thread = threading.Thread(target=write)
        thread.start()
        seen = 0
        while not done.is_set() or seen < 3000:
            rows = headrace.open(log)
            count = len(rows)
            assert rows.query("n", stream=False).to_list() == list(range(count))
            assert count >= seen
            assert count == 0 or rows[count - 1] == {"n": count - 1}
            assert rows.stats().lines == count
            seen = count
        thread.join()


class TestTheIndex:
    @pytest.fixture
    def scanned(self, monkeypatch):
        """Count the row indexes that are built by a scan."""
        jobs = []
        job = row_index.index_job
        monkeypatch.setattr(
            row_index, "index_job", lambda *given: jobs.append(given) or job(*given)
        )
        return jobs

    def test_is_that_of_the_log(self, log, scanned):
        rows = headrace.open(log)
        assert (rows[4321], rows[1299], len(rows)) == (ROWS[4321], ROWS[1299], 5000)
        assert not scanned
        assert sorted(path.name for path in log.iterdir()) == sorted(
            ["LOCK", "manifest.json"]
            + [
                f"{base:020d}.jsonl{end}"
                for base in range(0, 5000, SEGMENT)
                for end in ("", ".idx")
            ]
        )

    def test_is_read_for_a_few_rows_only(self, log):
        rows = headrace.open(log)
        assert rows[4321] == ROWS[4321]
        data = sum(path.stat().st_size for path in log.glob("*.jsonl"))
        assert rows.bytes_read() < data / 2

    @pytest.mark.parametrize(
        ("damage", "error"),
        [
            ("missing", LogFileMissingError),
            ("last entry", DamagedEntryError),
            ("an entry", DamagedEntryError),
            ("short", DamagedEntryError),
        ],
    )
    def test_without_a_fitting_index_no_row_is_read(self, log, damage, error):
        index = log / f"{0:020d}.jsonl.idx"
        content = bytearray(index.read_bytes())
        match damage:
            case "missing":
                index.unlink()
            case "last entry":
                content[-3] ^= 1
            case "an entry":
                content[256 + 1000 * 56] ^= 1
            case "short":
                del content[-56:]
        if damage != "missing":
            index.write_bytes(content)
        rows = headrace.open(log)
        with pytest.raises(error, match="headrace log recover"):
            rows[1200]
        with pytest.raises(error):
            list(rows)

    def test_changed_data_is_scanned_to_be_counted(self, log, scanned):
        """Only the modification time shows the change: sizes and both ends are unchanged."""
        first = log / f"{0:020d}.jsonl"
        content = first.read_bytes()
        at = content.index(b'{"n":600')
        first.write_bytes(content[: at - 1] + b" " + content[at:])
        rows = headrace.open(log)
        with pytest.raises(DamagedLineError, match="line 600: "):
            len(rows)
        with pytest.raises(DamagedLineError, match="line 600: "):
            rows[1100]
        assert scanned

    def test_of_data_that_does_not_fit_a_growing_file(self, log, monkeypatch):
        """If no row begins at the byte of an entry, the index is not used."""
        monkeypatch.setattr(log_segment, "_is_of", lambda *_: True)
        first = log / f"{0:020d}.jsonl"
        content = first.read_bytes()
        at = content.index(b'{"n":1000,')
        first.write_bytes(content[: at - 1] + b" " + content[at:])
        with pytest.raises(DamagedLineError, match="line 1000: "):
            headrace.open(log)[1100]


class TestSegmentsThatAreGone:
    def test_removed(self, log):
        """A reader that has not opened it gets an error; the others continue."""
        first = min(log.glob("*.jsonl"))
        held, late = headrace.open(log), headrace.open(log)
        assert held[0] == ROWS[0]
        first.unlink()
        assert held[1200] == ROWS[1200]
        with pytest.raises(SourceChangedError, match="lines 1 to 1300 of the log were"):
            late[0]
        with pytest.raises(SourceChangedError, match="removed since it was opened"):
            tally.tally(late.sources, max_line=1 << 20, max_depth=99)
        with pytest.raises(LogDamagedError, match="it is missing"):
            headrace.open(log)

    def test_shorter(self, log):
        first = min(log.glob("*.jsonl"))
        with first.open("r+b") as file:
            file.truncate(100)
        with pytest.raises(LogDamagedError, match="it has 100 bytes, but should have"):
            headrace.open(log)

    def test_the_last_one_shorter(self, log):
        rows = headrace.open(log)
        with last_segment(log).open("r+b") as file:
            file.truncate(10)
        with pytest.raises(
            LogDamagedError, match=r"it has 10 bytes, but .* are committed"
        ):
            headrace.open(log)
        with pytest.raises(SourceChangedError, match="shorter"):
            rows.tail(1)


class TestNames:
    def test_globs(self, log, monkeypatch):
        with headrace.LogWriter(log.parent / "ETH") as writer:
            writer.append({"n": "eth"})
        (log / "quarantine").mkdir()
        (log / "quarantine" / "x@0").write_bytes(b"{")
        (log / "recovery.json").write_bytes(b"{}")
        both = [*ROWS, {"n": "eth"}]
        monkeypatch.chdir(log.parent.parent)
        assert list(headrace.open("trades/*")) == both
        assert list(headrace.open("trades/**")) == both
        assert list(headrace.open("**/")) == both
        assert list(headrace.open("trades/*/*")) == both
        assert list(headrace.open("trades/BTC/*.jsonl")) == ROWS
        assert list(headrace.open(["trades/BTC", "trades/ETH"])) == both

    def test_a_directory_of_logs(self, log):
        with pytest.raises(
            NotNdjsonError, match="but logs below it: name one, such as"
        ):
            headrace.open(log.parent)
        with pytest.raises(NotNdjsonError, match=r"trades/\*\*/"):
            headrace.open(log.parent)
        (log.parent / "other.jsonl").write_bytes(b"1\n")
        assert list(headrace.open(log.parent)) == [1]

    def test_a_file_that_the_manifest_does_not_name(self, log):
        stray = log / f"{7:020d}.jsonl"
        stray.write_bytes(b"1\n2\n")
        assert list(headrace.open(log)) == ROWS
        assert list(headrace.open(stray)) == [1, 2]

    def test_a_pattern_without_a_match(self, log):
        with pytest.raises(SourceNotFoundError):
            headrace.open(f"{log}/*.csv")

    def test_errors_name_the_line_of_the_log(self, log):
        with headrace.LogWriter(log, rotate_rows=2, max_depth=1000) as writer:
            writer.append_many([1, 2, b"[" * 500 + b"]" * 500])
        with pytest.raises(
            BadRowError, match=r"line 1 \(line 5003 of the log\), byte \d+"
        ):
            list(headrace.open(log).records())

    def test_commands_that_would_change_it_are_refused(self, log):
        first = min(log.glob("*.jsonl"))
        out = first.with_name(first.name + ".zst")
        with pytest.raises(UsageError, match="is a segment of a log"):
            recompress(first, out)


def test_the_state_is_that_of_the_manifest(log):
    """Every segment is pinned to its size and modification time."""
    sources = expand(log)
    assert [source.segment.base for source in sources] == [0, 1300, 2600, 3900]
    assert [source.segment.growing for source in sources] == [False] * 3 + [True]
    assert [rows_of(source).total() for source in sources] == [1300, 1300, 1300, 1100]


def test_a_directory_that_only_looks_like_a_log_is_refused(tmp_path):
    for name in ("manifest.json", "LOCK", "0.jsonl"):
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(LogDamagedError, match="it is not a log's manifest"):
        headrace.open(tmp_path)
