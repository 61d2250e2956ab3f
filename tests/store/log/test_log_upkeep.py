"""Full segments of a log are compressed, then removed; line numbers never change."""

import gzip
import json
import random
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

import headrace
from headrace.errors import (
    LineOutOfRangeError,
    LogBusyError,
    LogDamagedError,
    UsageError,
)
from headrace.store.files.system import System
from headrace.store.log.entries import dumped_index
from headrace.store.log.manifest import load
from headrace.store.log.names import LogNames
from headrace.store.log.report.check import check_log
from tests.fault.failing_system import using

MANY = 300


def value(number):
    """Return a record of some length that does not compress well."""
    chance = random.Random(number)
    return {"n": number, "pad": chance.randbytes(chance.randrange(2000)).hex()}


def write(directory, rows, **options):
    """Write a log whose segments have these numbers of rows, and the last one row more."""
    sizes = iter(rows)
    left = [next(sizes)]

    def full(state):
        if state.rows < left[0]:
            return False
        left[0] = next(sizes, 1 << 30)
        return True

    with headrace.LogWriter(directory, rotate=full, **options) as log:
        first = log.last_line
        log.append_many(value(first + n) for n in range(sum(rows) + 1))
        log.wait_for_upkeep()
        assert log.upkeep_failures == []


def entries(directory):
    found = {}
    for path in sorted(directory.glob("*.idx")):
        for entry in list(dumped_index(path))[1:]:
            assert found.setdefault(entry["lineNumberGlobal"], entry) is entry
    return found


def names(directory):
    return sorted(path.name for path in directory.glob("0*.jsonl*"))


def bases(directory):
    manifest = load(LogNames(directory))
    return [segment.base for segment in manifest.all_segments]


def faults(directory):
    return [each.faults for each in check_log(directory, deep=True) if each.faults]


@pytest.fixture
def log(tmp_path):
    """Return a log of three full segments, one of several blocks, and an active one."""
    write(tmp_path / "log", [2, MANY, 1])
    return tmp_path / "log"


@pytest.mark.parametrize("codec", [None, "zstd", "gzip"])
def test_numbers_stay_when_old_files_go(tmp_path, codec):
    """KR-R1 to KR-R3, KR-G6, krupton 2: no number is used twice."""
    directory = tmp_path / "log"
    write(directory, [1, 2, MANY, 1, 2], codec=codec)
    assert bases(directory) == [0, 1, 3, 3 + MANY, 4 + MANY, 6 + MANY]
    before = entries(directory)
    assert sorted(before) == list(range(1, 8 + MANY))
    removed = headrace.Log(directory).retain(before_line=4)
    assert (removed.lines, removed.as_fields()["last_line"]) == (3, 3)
    write(directory, [1, 2, 1], codec=codec)
    after = entries(directory)
    assert sorted(after) == list(range(4, 12 + MANY + 1))
    kept = {line: entry for line, entry in before.items() if line > 3}
    assert {line: after[line] for line in kept} == kept
    assert {entry["fileNumber"] for entry in after.values()} == set(range(3, 10))
    found = headrace.Log(directory)
    assert (found.first_line, found.last_line) == (4, 12 + MANY)
    assert list(found) == [value(n) for n in range(3, 12 + MANY)]
    assert [found.get(line)["n"] for line in after] == [line - 1 for line in after]
    assert faults(directory) == []
    assert headrace.Log(directory).recover().actions == []
    with pytest.raises(
        IndexError, match=r"line 3 was removed by retention; the log begins with line 4"
    ):
        found.get(3)


class TestCompressing:
    @pytest.mark.parametrize("codec", ["zstd", "gzip"])
    def test_only_the_files_change(self, log, codec):
        lines, before = list(headrace.Log(log, raw=True)), entries(log)
        indexes = {path.name: path.read_bytes() for path in log.glob("*.idx")}
        done = headrace.Log(log).seal(codec=codec)
        assert (len(done.segments), done.lines) == (3, MANY + 3)
        assert done.bytes_after < done.bytes_before
        end = {"zstd": ".zst", "gzip": ".gz"}[codec]
        wanted = [f"{base:020d}.jsonl{end}" for base in (0, 2, MANY + 2)]
        last = f"{MANY + 3:020d}.jsonl"
        assert names(log) == sorted([*wanted, last, *indexes])
        manifest = load(LogNames(log))
        assert [each.name for each in manifest.all_segments] == [*wanted, last]
        assert [(log / each.name).stat().st_size for each in manifest.segments] == [
            each.packed.bytes for each in manifest.segments
        ]
        assert {path.name: path.read_bytes() for path in log.glob("*.idx")} == indexes
        assert entries(log) == before
        found = headrace.Log(log, raw=True)
        assert list(found) == lines
        assert [found.get(line) for line in range(1, len(lines) + 1)] == lines
        assert faults(log) == []
        assert headrace.Log(log).recover().actions == []
        rows = headrace.open(log / wanted[1])
        assert [json.loads(line) for line in lines[2 : MANY + 2]] == list(rows)

    def test_other_tools_can_read_it(self, log):
        plain = (log / f"{2:020d}.jsonl").read_bytes()
        headrace.Log(log).seal(codec="gzip", level=1)
        packed = (log / f"{2:020d}.jsonl.gz").read_bytes()
        assert gzip.decompress(packed) == plain

    def test_some_of_them(self, log):
        assert headrace.Log(log).seal(grace="1h").segments == []
        done = headrace.Log(log).seal(keep_plain=2)
        assert [segment.base for segment in done.segments] == [0]
        done = headrace.Log(log).seal(grace=timedelta(0), keep_plain=1)
        assert [segment.base for segment in done.segments] == [2]
        assert len(headrace.Log(log).seal(keep_plain=9).segments) == 0
        assert len(headrace.Log(log).seal().segments) == 1
        assert len(headrace.Log(log).seal().segments) == 0

    def test_progress(self, log):
        progress = []
        headrace.Log(log).seal(
            progress=lambda done, total: progress.append((done, total))
        )
        manifest = load(LogNames(log))
        total = sum(segment.bytes for segment in manifest.segments)
        assert progress[-1] == (total, total)
        assert progress == sorted(progress)

    def test_it_can_be_interrupted_and_continued(self, log):
        class EndedError(Exception):
            pass

        calls = count()

        def end(_done, _total):
            if next(calls) == 1:
                raise EndedError

        with pytest.raises(EndedError):
            headrace.Log(log).seal(progress=end)
        assert [each.packed is None for each in load(LogNames(log)).segments] == [
            False,
            True,
            True,
        ]
        assert not list(log.glob(".*tmp*"))
        assert len(headrace.Log(log).seal().segments) == 2
        assert faults(log) == []

    def test_a_damaged_segment_is_left_as_it_is(self, log):
        path = log / f"{2:020d}.jsonl"
        content = path.read_bytes()
        path.write_bytes(content[:5000] + b"#" + content[5001:])
        done = headrace.Log(log).seal()
        assert [segment.base for segment in done.segments] == [0, MANY + 2]
        assert len(done.failures) == 1
        assert "the line is not what was written" in done.failures[0]
        assert path.exists()
        assert not list(log.glob(".*tmp*"))

    def test_a_live_writer_is_a_conflict(self, log):
        with (
            headrace.LogWriter(log),
            pytest.raises(LogBusyError, match=r"process \d+ on .* --codec zstd"),
        ):
            headrace.Log(log).seal()

    def test_a_writer_without_locks_notices(self, log, monkeypatch):
        """Without working locks, a writer refuses to append after another changed its log."""
        with headrace.LogWriter(log) as writer:
            writer.append(1)
            monkeypatch.setattr("fcntl.flock", lambda *_args: None)
            headrace.Log(log).seal()
            with pytest.raises(headrace.errors.LogFailedError, match="later writer"):
                writer.append(2)

    @pytest.mark.parametrize(
        "options",
        [
            {"codec": "xz"},
            {"codec": "none"},
            {"keep_plain": -1},
            {"grace": "soon"},
        ],
    )
    def test_invalid_options(self, log, options):
        with pytest.raises(UsageError):
            headrace.Log(log).seal(**options)

    def test_no_log(self, tmp_path):
        with pytest.raises(UsageError, match="no log in this directory"):
            headrace.Log(tmp_path).seal()
        assert list(tmp_path.iterdir()) == []


class TestAWriter:
    def test_compresses_full_segments(self, tmp_path):
        with headrace.LogWriter(tmp_path, rotate_rows=2, codec="zstd") as log:
            log.append_many(range(7))
            log.wait_for_upkeep()
            packed = [each.packed for each in load(LogNames(tmp_path)).segments]
            assert len(packed) == 3
            assert all(packed)
            log.append_many(range(7, 9))
        assert list(headrace.Log(tmp_path)) == list(range(9))

    def test_compresses_segments_of_earlier_writers(self, log):
        with headrace.LogWriter(log, codec="gzip") as writer:
            writer.wait_for_upkeep()
        assert all(each.packed for each in load(LogNames(log)).segments)
        assert faults(log) == []

    def test_is_closed_at_once(self, log):
        with headrace.LogWriter(log, codec="zstd"):
            pass
        assert not list(log.glob(".*tmp*"))
        assert faults(log) == []
        assert headrace.Log(log).recover().actions == []

    def test_removes_old_segments(self, tmp_path):
        now = 1_700_000_000_000
        options = {"time": "$.E", "rotate_rows": 2, "retain_age": "1h"}
        with headrace.LogWriter(tmp_path, **options) as log:
            log.append_many({"E": now + n} for n in range(7))
            log.wait_for_upkeep()
            assert log.upkeep_failures == []
        found = headrace.Log(tmp_path)
        assert (found.first_line, found.last_line) == (7, 7)
        assert names(tmp_path) == [f"{6:020d}.jsonl", f"{6:020d}.jsonl.idx"]

    def test_removes_segments_over_the_size_limit(self, tmp_path):
        options = {"rotate_rows": 5, "retain_bytes": 4000, "codec": "zstd"}
        with headrace.LogWriter(tmp_path, **options) as log:
            for n in range(100):
                log.append({"n": n})
                log.wait_for_upkeep()
            assert log.upkeep_failures == []
        found = headrace.Log(tmp_path)
        assert [each["n"] for each in found] == list(range(found.first_line - 1, 100))
        sizes = [path.stat().st_size for path in tmp_path.glob("0*.jsonl*")]
        assert 3000 < sum(sizes) < 4000 + 700

    def test_removes_lines_on_request(self, log):
        with headrace.LogWriter(log) as writer:
            assert writer.append(1) == MANY + 5
            assert writer.retain(before_line=MANY).lines == 2
            assert writer.retain(before_line=MANY).lines == 0
            assert writer.append(2) == MANY + 6
        assert headrace.Log(log).first_line == 3
        assert headrace.Log(log).recover().actions == []

    def test_reports_a_failure_to_compress(self, log):
        path = log / f"{2:020d}.jsonl"
        content = path.read_bytes()
        path.write_bytes(content[:5000] + b"#" + content[5001:])
        with headrace.LogWriter(log, codec="zstd") as writer:
            writer.wait_for_upkeep()
            assert len(writer.upkeep_failures) == 1
            assert "not what was written" in writer.upkeep_failures[0]
            writer.append(1)
        packed = [each.packed is not None for each in load(LogNames(log)).segments]
        assert packed == [True, False, True]

    def test_many_readers_during_upkeep(self, tmp_path):
        """Readers see correct lines while segments are compressed and removed."""
        wrong, done = [], threading.Event()
        options = {"rotate_rows": 3, "codec": "zstd", "durability": "os"}
        with headrace.LogWriter(tmp_path, **options) as log:
            log.append(0)

            def read():
                found = headrace.Log(tmp_path)
                while not done.is_set():
                    with suppress(LineOutOfRangeError):
                        first, last = found.first_line, found.last_line
                        some = {first, (first + last) // 2, last}
                        wrong.extend(n for n in some if found.get(n) != n - 1)
                        lines = list(found)
                        if lines != list(range(lines[0], lines[-1] + 1)):
                            wrong.append(lines)

            threads = [threading.Thread(target=read) for _ in range(3)]
            for thread in threads:
                thread.start()
            for n in range(1, 250):
                log.append(n)
                if n % 20 == 0:
                    log.retain(before_line=n - 40 if n > 40 else 1)
            done.set()
            for thread in threads:
                thread.join()
            assert log.upkeep_failures == []
        assert wrong == []


class TestRemoving:
    def test_removed_lines_are_reported(self, log):
        size = sum(
            (log / name).stat().st_size
            for name in names(log)
            if name.startswith((f"{0:020d}", f"{2:020d}"))
        )
        would = headrace.Log(log).retain(before_line=MANY + 3, dry_run=True)
        assert len(names(log)) == 8
        removed = headrace.Log(log).retain(before_line=MANY + 3)
        assert removed == would
        fields = removed.as_fields()
        assert fields.pop("min_time") <= fields.pop("max_time")
        assert fields == {
            "segments": 2,
            "lines": MANY + 2,
            "bytes": size,
            "first_line": 1,
            "last_line": MANY + 2,
        }
        assert bases(log) == [MANY + 2, MANY + 3]
        assert len(names(log)) == 4
        assert load(LogNames(log)).removing == ()

    @pytest.mark.parametrize(
        ("line", "first"),
        [(1, 1), (2, 1), (3, 3), (4, 3), (MANY + 3, MANY + 3), (10**9, MANY + 4)],
    )
    def test_before_a_line(self, log, line, first):
        """Whole segments, and never the last one."""
        headrace.Log(log).retain(before_line=line)
        assert headrace.Log(log).first_line == first

    def test_by_age(self, log):
        assert headrace.Log(log).retain(retain_age="1h").lines == 0
        assert headrace.Log(log).retain(retain_age=timedelta(0)).lines == MANY + 3

    def test_by_size(self, log):
        total = sum((log / name).stat().st_size for name in names(log))
        assert headrace.Log(log).retain(retain_bytes=total).lines == 0
        assert headrace.Log(log).retain(retain_bytes=total - 1).lines == 2
        assert headrace.Log(log).retain(retain_bytes="1KiB").lines == MANY + 1
        assert headrace.Log(log).retain(retain_bytes=0).lines == 0

    def test_a_live_writer_is_a_conflict(self, log):
        with headrace.LogWriter(log):
            with pytest.raises(LogBusyError):
                headrace.Log(log).retain(retain_bytes=0)
            assert headrace.Log(log).retain(retain_bytes=0, dry_run=True).lines > 0

    @pytest.mark.parametrize(
        "options",
        [{}, {"before_line": 0}, {"retain_age": "7"}, {"retain_bytes": "a lot"}],
    )
    def test_invalid_options(self, log, options):
        with pytest.raises(UsageError):
            headrace.Log(log).retain(**options)


class TestAReader:
    def test_goes_on_with_the_file_it_has(self, log):
        found = headrace.Log(log)
        assert found.get(5)["n"] == 4
        rest = found.range(6)
        assert next(rest)["n"] == 5
        headrace.Log(log).seal()
        assert [each["n"] for each in rest] == list(range(6, MANY + 4))
        assert found.get(5)["n"] == 4

    def test_finds_a_file_that_was_compressed_since(self, log):
        found = headrace.Log(log)
        assert found.last_line == MANY + 4
        headrace.Log(log).seal()
        assert found.get(5)["n"] == 4

    def test_gets_an_error_for_removed_lines(self, log):
        found = headrace.Log(log)
        headrace.Log(log).retain(before_line=10**9)
        with pytest.raises(
            LineOutOfRangeError, match="line 5 was removed by retention"
        ):
            found.get(5)

    def test_of_the_last_segment_that_is_gone(self, log):
        """It became full, was compressed and was removed since the reader listed the files."""
        found = headrace.Log(log)
        with headrace.LogWriter(log, rotate_rows=1) as writer:
            writer.append_many([1, 2])
        headrace.Log(log).seal()
        headrace.Log(log).retain(before_line=10**9)
        assert found.last_line == MANY + 6
        assert (found.first_line, list(found)) == (MANY + 6, [2])

    @pytest.mark.parametrize("codec", [None, "zstd", "gzip"])
    def test_gets_the_lines_before_a_damaged_one(self, log, codec):
        if codec is not None:
            headrace.Log(log).seal(codec=codec)
        path = log / load(LogNames(log)).segments[1].name
        content = bytearray(path.read_bytes())
        content[len(content) * 2 // 3] ^= 1
        path.write_bytes(content)
        found, lines = headrace.Log(log), []
        with pytest.raises(LogDamagedError, match=r"line \d+: ") as raised:
            lines.extend(found)
        assert lines == [value(n) for n in range(len(lines))]
        assert len(lines) > MANY / 4
        assert f"line {len(lines) + 1}: " in str(raised.value)
        assert len(faults(log)) == 1
        assert headrace.Log(log).recover().actions == []


class TestACompressedSegmentIsDamaged:
    @pytest.fixture(params=["zstd", "gzip"])
    def packed(self, log, request):
        headrace.Log(log).seal(codec=request.param)
        return log / load(LogNames(log)).segments[1].name

    def test_every_changed_byte_is_noticed(self, log, packed):
        """No line is ever wrong; a deep check finds all damage, readable or not."""
        content, chance = packed.read_bytes(), random.Random(7)
        lines = list(headrace.Log(log, raw=True))
        places = {*range(40), *range(len(content) - 40, len(content))}
        for at in places | {chance.randrange(len(content)) for _ in range(60)}:
            packed.write_bytes(
                content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :]
            )
            assert len(faults(log)) == 1, at
            line = chance.randrange(3, MANY)
            with suppress(LogDamagedError):
                assert headrace.Log(log, raw=True).get(line) == lines[line - 1]

    @pytest.mark.filterwarnings("ignore:.*were given up in a repair")
    def test_cut_off(self, log, packed):
        content = packed.read_bytes()
        packed.write_bytes(content[: len(content) * 2 // 3])
        assert len(faults(log)) == 1
        with pytest.raises(LogDamagedError, match="should have"):
            headrace.Log(log).recover()
        with pytest.raises(LogDamagedError, match="should have"):
            headrace.LogWriter(log)
        actions = headrace.Log(log).recover(repair=True).actions
        assert [action.action for action in actions] == ["given_up"]
        assert (log / "quarantine" / f"{packed.name}@0").read_bytes() == content[
            : len(content) * 2 // 3
        ]
        found = headrace.Log(log)
        kept = [each["n"] for each in found]
        left = len(kept) - 4
        assert MANY / 4 < left < MANY
        assert kept == [*range(left + 2), MANY + 2, MANY + 3]
        assert faults(log) == []
        assert headrace.Log(log).recover().actions == []
        with headrace.LogWriter(log) as writer:
            assert writer.append(1) == MANY + 5
        assert len(headrace.Log(log).seal().segments) == 1
        assert [each["n"] for each in list(headrace.Log(log))[:-1]] == kept

    @pytest.mark.filterwarnings("ignore:.*were given up in a repair")
    def test_gone(self, log, packed):
        packed.unlink()
        with pytest.raises(LogDamagedError, match="the file is gone"):
            headrace.Log(log).recover()
        headrace.Log(log).recover(repair=True)
        assert [each["n"] for each in headrace.Log(log)] == [0, 1, MANY + 2, MANY + 3]
        assert headrace.Log(log).recover().actions == []

    def test_its_index_is_missing(self, log, packed):
        index = log / f"{2:020d}.jsonl.idx"
        before = list(dumped_index(index))
        index.unlink()
        actions = headrace.Log(log).recover().actions
        assert {action.action for action in actions} == {"index_rebuilt"}
        after = list(dumped_index(index))
        latest = load(LogNames(log)).segments[1].times.latest
        for entry, known in zip(after[1:], before[1:], strict=True):
            assert entry.pop("flags") == ["time reconstructed"]
            assert entry == {**known, "messageTime": latest}
        assert faults(log) == []

    def test_its_index_is_damaged(self, log, packed):
        index = log / f"{2:020d}.jsonl.idx"
        before = index.read_bytes()
        index.write_bytes(b"x" * 256 + before[256:])
        headrace.Log(log).recover()
        assert index.read_bytes() == before

    def test_the_manifest_is_missing(self, log, packed):
        before = load(LogNames(log))
        lines = list(headrace.Log(log))
        (log / "manifest.json").unlink()
        headrace.Log(log).recover()
        assert load(LogNames(log)).segments == before.segments
        assert list(headrace.Log(log)) == lines
        assert faults(log) == []

    def test_the_manifest_and_the_last_segment_are_missing(self, log, packed):
        (log / "manifest.json").unlink()
        for end in ("", ".idx"):
            (log / f"{MANY + 3:020d}.jsonl{end}").unlink()
        with pytest.raises(LogDamagedError, match="the segment behind it is gone"):
            headrace.Log(log).recover()


class TestWhatIsLeftBehind:
    """Leftovers of a kill between two steps, 04 6.8."""

    def recovered(self, log):
        actions = headrace.Log(log).recover().actions
        assert headrace.Log(log).recover().actions == []
        assert faults(log) == []
        assert list(headrace.Log(log)) == [value(n) for n in range(MANY + 4)]
        return [action.action for action in actions]

    def test_a_file_that_was_not_finished(self, log):
        (log / f".{2:020d}.jsonl.zst.tmp-123-0123abcd").write_bytes(b"half")
        assert self.recovered(log) == []
        assert not list(log.glob(".*tmp*"))

    def test_a_compressed_file_that_no_manifest_names(self, log):
        before = load(LogNames(log))
        plain = (log / f"{2:020d}.jsonl").read_bytes()
        headrace.Log(log).seal()
        (log / f"{2:020d}.jsonl").write_bytes(plain)
        manifest = load(LogNames(log))
        segments = (manifest.segments[0], before.segments[1], manifest.segments[2])
        replace(manifest, segments=segments).save(LogNames(log))
        assert self.recovered(log) == ["discarded"]
        assert not (log / f"{2:020d}.jsonl.zst").exists()

    def test_a_plain_file_whose_compressed_one_is_named(self, log):
        plain = (log / f"{2:020d}.jsonl").read_bytes()
        headrace.Log(log).seal()
        (log / f"{2:020d}.jsonl").write_bytes(plain)
        assert self.recovered(log) == ["replaced"]
        assert not (log / f"{2:020d}.jsonl").exists()

    def test_a_plain_file_whose_compressed_one_is_damaged(self, log):
        plain = (log / f"{2:020d}.jsonl").read_bytes()
        headrace.Log(log).seal()
        (log / f"{2:020d}.jsonl").write_bytes(plain)
        packed = log / f"{2:020d}.jsonl.zst"
        content = bytearray(packed.read_bytes())
        content[1000] ^= 1
        packed.write_bytes(content)
        assert self.recovered(log) == ["discarded"]
        assert load(LogNames(log)).segments[1].name == f"{2:020d}.jsonl"

    @pytest.mark.parametrize("gone", [0, 1, 2])
    def test_a_removal_that_was_not_finished(self, log, gone):
        load(LogNames(log)).without(2).save(LogNames(log))
        files = sorted(log.glob(f"{0:020d}*"))
        for path in files[:gone]:
            path.unlink()
        assert headrace.Log(log).first_line == MANY + 3
        actions = headrace.Log(log).recover().actions
        assert [action.action for action in actions] == ["expired"] * (4 - gone)
        assert len(names(log)) == 4
        assert load(LogNames(log)).removing == ()
        assert headrace.Log(log).recover().actions == []

    def test_a_file_outside_the_removal_is_left_alone(self, log):
        """Recovery removes only files that the manifest lists for removal."""
        kept = (log / f"{0:020d}.jsonl").read_bytes()
        headrace.Log(log).retain(before_line=3)
        (log / f"{0:020d}.jsonl").write_bytes(kept)
        assert [each.action for each in headrace.Log(log).recover().actions] == ["left"]
        assert (log / f"{0:020d}.jsonl").read_bytes() == kept

    @pytest.mark.parametrize("removing", [True, False])
    def test_no_file_is_removed_before_the_manifest_is_durable(self, log, removing):
        """A killed process may have renamed the manifest without making it durable."""
        if removing:
            load(LogNames(log)).without(2).save(LogNames(log))
        else:
            plain = (log / f"{2:020d}.jsonl").read_bytes()
            headrace.Log(log).seal()
            (log / f"{2:020d}.jsonl").write_bytes(plain)
        calls = []

        class Noting(System):
            def rename(self, source, target):
                super().rename(source, target)
                calls.append(target.name)

            def unlink(self, path):
                super().unlink(path)
                calls.append("unlink")

            def sync_directory(self, path):
                super().sync_directory(path)
                calls.append("sync")

        with using(Noting()):
            headrace.Log(log).recover()
        assert calls[:3] == ["manifest.json", "sync", "unlink"]


class TestIndexesOfSegments:
    """Key indexes and checkpoints that commands kept beside segments."""

    @pytest.fixture
    def indexed(self, log):
        for path in sorted(log.glob("*.jsonl")):
            headrace.KeyIndex.build(path, "n")
            headrace.KeyIndex.build(path, "pad")
            path.with_name(f"{path.name}.jnx.delta").write_bytes(b"of an update")
            path.with_name(f"{path.name}.ckpt").write_bytes(b"of a large file")
        return log

    def test_go_with_their_segments(self, indexed):
        last = max(indexed.glob("*.jsonl")).name
        headrace.Log(indexed).retain(before_line=MANY + 4)
        ends = ("", ".ckpt", ".idx", ".jnx", ".jnx.delta", ".jnx.pad")
        assert names(indexed) == [f"{last}{end}" for end in ends]

    def test_go_when_a_removal_is_finished(self, indexed):
        saved = load(LogNames(indexed))
        replace(saved, segments=saved.segments[1:], removing=(0,)).save(
            LogNames(indexed)
        )
        headrace.Log(indexed).recover()
        assert not list(indexed.glob(f"{0:020d}*"))
        assert list(indexed.glob(f"{2:020d}.jsonl.jnx.pad"))

    def test_do_no_harm_after_compression(self, indexed):
        rows = list(headrace.open(indexed))
        headrace.Log(indexed).seal()
        assert list(headrace.open(indexed)) == rows
        assert list(headrace.open(f"{indexed}/*")) == rows
        found = headrace.open(indexed).query("n == 1", matches=True)
        assert found.to_list() == [value(1)]
        assert headrace.Log(indexed).recover().actions == []
        assert faults(indexed) == []
        headrace.Log(indexed).retain(before_line=MANY + 4)
        assert not list(indexed.glob(f"{0:020d}*"))
        assert not list(indexed.glob(f"{2:020d}*"))
