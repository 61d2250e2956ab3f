"""Recovery after crashes, and damage that no crash causes: errors and repair."""

import json
import shutil

import pytest

import headrace
from headrace.errors import HeadraceWarning, LogDamagedError, TornTailError
from headrace.store.log.entries import dumped_index
from headrace.store.log.recover import indexes
from headrace.store.log.report.check import check_log
from tests.fault.logs import everything

ENTRY = 56
FIRST = "00000000000000000000.jsonl"
VALUES = [{"n": n, "E": 1000 + n} for n in range(7)]


class Log:
    """A log with three segments: two full ones of two lines, and one of three."""

    def __init__(self, directory, **options):
        self.directory = directory
        with headrace.LogWriter(directory, rotate_rows=2, **options) as log:
            log.append_many(VALUES[:5])
        with headrace.LogWriter(directory, **options) as log:
            log.append_many(VALUES[5:])

    def data(self, base=4):
        return self.directory / f"{base:020d}.jsonl"

    def index(self, base=4):
        return self.directory / f"{base:020d}.jsonl.idx"

    @property
    def quarantine(self):
        directory = self.directory / "quarantine"
        return {path.name: path.read_bytes() for path in directory.glob("*")}

    def recover(self, **options):
        """Recover the log twice; return the actions of the first time."""
        report = headrace.Log(self.directory).recover(**options)
        left = everything(self.directory)
        again = headrace.Log(self.directory).recover()
        assert [each.action for each in again.actions] in ([], ["left"])
        assert everything(self.directory) == left
        assert not [
            each for each in check_log(self.directory, deep=True) if each.faults
        ]
        return [each.action for each in report.actions]

    def values(self):
        return list(headrace.Log(self.directory))


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "log")


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def cut(path, size):
    with path.open("r+b") as file:
        file.truncate(size)


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def without_times(index):
    return [
        {
            key: value
            for key, value in entry.items()
            if key not in ("messageTime", "flags")
        }
        for entry in dumped_index(index)
    ]


def test_a_closed_log_needs_no_recovery(log):
    before = everything(log.directory)
    assert log.recover() == []
    assert everything(log.directory) == before
    assert not (log.directory / "recovery.json").exists()


class TestTheIndex:
    @pytest.mark.parametrize("base", [0, 2, 4])
    def test_missing(self, log, base):
        """KR-C1, KR-C2, KR-C7: one scan rebuilds it, with the same bytes each time."""
        before = without_times(log.index(base))
        log.index(base).unlink()
        kept = log.directory.with_name("copy")
        shutil.copytree(log.directory, kept, copy_function=shutil.copy2)
        assert "index_rebuilt" in log.recover()
        assert without_times(log.index(base)) == before
        entry = list(dumped_index(log.index(base)))[1]
        assert entry["flags"] == ["time reconstructed"]
        assert entry["messageTime"] == log.data(base).stat().st_mtime_ns // 1_000_000
        headrace.Log(kept).recover()
        assert (kept / log.index(base).name).read_bytes() == log.index(
            base
        ).read_bytes()
        assert log.values() == VALUES

    @pytest.mark.parametrize("base", [2, 4])
    def test_cut_at_every_byte_of_the_last_entry(self, log, base):
        """KR-C3: the entries before the cut stay unchanged."""
        whole = log.index(base).read_bytes()
        for missing in range(1, ENTRY + 1):
            cut(log.index(base), len(whole) - missing)
            assert log.recover()
            if base == 4:
                assert log.index(base).read_bytes()[:-ENTRY] == whole[:-ENTRY]
            assert log.values() == VALUES
            log.index(base).write_bytes(whole)

    @pytest.mark.parametrize("base", [0, 4])
    def test_its_header_is_damaged(self, log, base):
        """KR-C6: only the header is rebuilt; no time is lost."""
        whole = log.index(base).read_bytes()
        for at in range(0, 256, 5):
            flip(log.index(base), at)
            assert log.recover() == ["header_rewritten"]
            assert log.index(base).read_bytes() == whole
        cut(log.index(4), 100)
        assert "header_rewritten" in log.recover()
        assert log.values() == VALUES

    def test_zeros_are_not_entries(self, log):
        """KR-G2, krupton 8."""
        append(log.index(), b"\0" * (5 * ENTRY + 3))
        assert log.recover() == ["entries_dropped"]
        assert log.values() == VALUES

    def test_a_hole_in_it(self, log):
        """Pages of it may be lost although later ones were written."""
        append(log.data(), b'{"n":7}\n{"n":8}\n')
        good = log.index().read_bytes()
        log.index().write_bytes(good[:256] + b"\0" * ENTRY + good[256 + ENTRY :])
        assert log.recover() == ["entries_dropped", "indexed"]
        assert log.values() == [*VALUES, {"n": 7}, {"n": 8}]

    def test_an_index_shorter_than_the_data(self, log):
        """KR-C4, KR-W1, krupton 5: the next line begins where the data ends."""
        append(log.data(), b'{"n":7}\n')
        assert log.recover() == ["indexed"]
        with headrace.LogWriter(log.directory) as writer:
            assert writer.append({"n": 8}) == 9
        assert log.values() == [*VALUES, {"n": 7}, {"n": 8}]
        *_, last = dumped_index(log.index())
        assert last["endByte"] == log.data().stat().st_size

    def test_an_index_longer_than_the_data(self, tmp_path):
        """KR-G1, krupton 4: entries of missing lines."""
        log = Log(tmp_path / "log", durability="os")
        with headrace.LogWriter(log.directory, durability="os") as writer:
            copy = everything(log.directory)
            writer.append_many([{"n": 7}, {"n": 8}])
            index, size = log.index().read_bytes(), log.data().stat().st_size
        (log.directory / "manifest.json").write_bytes(copy["manifest.json"])
        log.index().write_bytes(index)
        cut(log.data(), size - 4)
        assert log.recover() == ["entries_dropped", "quarantined"]
        assert log.values() == [*VALUES, {"n": 7}]
        assert list(log.quarantine.values()) == [b'{"n"']

    def test_of_another_log(self, log, tmp_path):
        other = Log(tmp_path / "other")
        shutil.copy(other.index(), log.index())
        assert log.recover() == ["header_rewritten", "entries_dropped", "indexed"]
        assert log.values() == VALUES

    def test_a_line_that_differs_from_its_entry(self, tmp_path):
        """Without syncs, only the checksum of the line shows it."""
        log = Log(tmp_path / "log", durability="os")
        with headrace.LogWriter(log.directory, durability="os") as writer:
            manifest = (log.directory / "manifest.json").read_bytes()
            writer.append_many([{"n": 7}, {"n": 8}, {"n": 9}])
        (log.directory / "manifest.json").write_bytes(manifest)
        data = log.data().read_bytes()
        log.data().write_bytes(data.replace(b'{"n":8}', b'{"n":0}'))
        assert log.recover() == ["entries_dropped", "quarantined"]
        assert log.values() == [*VALUES, {"n": 7}]
        assert list(log.quarantine.values()) == [b'{"n":0}\n{"n":9}\n']

    def test_times_are_extracted_again(self, tmp_path):
        """KR-G3: a time in the record is not lost with the index."""
        log = Log(tmp_path / "log", time="$.E")
        before = log.index().read_bytes()
        log.index().unlink()
        log.recover()
        assert log.index().read_bytes() == before

    def test_durable_lines_are_not_read_again(self, tmp_path, monkeypatch):
        """Recovery reads only the tail of a log of any length."""
        directory = tmp_path / "log"
        with headrace.LogWriter(directory) as writer:
            writer.append_many(range(10_000))
        append(directory / FIRST, b"1\n2\n")
        seen = []

        def verify(index, data, size, place, rows, clock):
            seen.append((place.rows, rows))
            return real(index, data, size, place, rows, clock)

        real = indexes.verify
        monkeypatch.setattr(indexes, "verify", verify)
        assert len(headrace.Log(directory).recover().actions) == 1
        assert seen == [(10_000 - 64, 10_000), (10_000, 10_000)]
        assert len(headrace.Log(directory)) == 10_002


WHOLE = [b'{"a":1}', b"[1]", b'"x"', b' {"a": [1]} ', b"{}\r"]
TORN = [
    b'{"a":1',
    b'{"a":"\xc3',
    b"12",
    b"t",
    b"true",
    b"null",
    b"\0\0\0\0",
    b"{}\0",
    b"{}{}",
    b"[1]\n[2",
    b"\r",
    b"garbage\n{}\n",
    b"\0\n{}\n",
    b'{"a"\n',
]


class TestTheTail:
    @pytest.mark.parametrize("tail", WHOLE, ids=repr)
    def test_a_whole_record_gets_its_newline(self, log, tail):
        append(log.data(), tail)
        assert log.recover() == ["completed"]
        assert log.data().read_bytes().endswith(tail + b"\n")
        assert len(log.values()) == 8
        *_, entry = dumped_index(log.index())
        assert "completed" in entry["flags"]

    @pytest.mark.parametrize("tail", TORN, ids=repr)
    def test_anything_else_is_moved_aside(self, log, tail):
        """KR-C5, KR-W6, krupton 6: no byte is destroyed, and no other file is changed."""
        before, size = log.data().read_bytes(), log.data().stat().st_size
        append(log.data(), tail)
        actions = log.recover()
        assert actions[-1] == "quarantined"
        good = b"[1]\n" if tail.startswith(b"[1]\n") else b""
        assert log.data().read_bytes() == before + good
        assert log.quarantine == {
            f"{log.data().name}@{size + len(good)}": tail[len(good) :]
        }
        report = json.loads((log.directory / "recovery.json").read_bytes())
        assert [each["action"] for each in report["actions"]] == actions
        assert report["actions"][-1]["bytes"] == len(tail) - len(good)

    @pytest.mark.filterwarnings("ignore:.*are not committed")
    @pytest.mark.parametrize("tail", [WHOLE[0], *TORN], ids=repr)
    def test_it_can_be_kept(self, log, tail):
        append(log.data(), tail)
        before = log.data().read_bytes()
        assert "kept" in [
            each.action
            for each in headrace.Log(log.directory).recover(tail="keep").actions
        ]
        assert log.data().read_bytes() == before
        with pytest.raises(TornTailError, match="--tail auto"):
            headrace.LogWriter(log.directory, tail="keep")
        assert log.values()[:7] == VALUES

    @pytest.mark.parametrize("tail", [WHOLE[0], *TORN], ids=repr)
    def test_it_can_be_a_failure(self, log, tail):
        append(log.data(), tail)
        before = everything(log.directory)
        with pytest.raises(TornTailError, match=r"last .* bytes are no record"):
            headrace.Log(log.directory).recover(tail="strict")
        with pytest.raises(TornTailError):
            headrace.LogWriter(log.directory, tail="strict")
        assert everything(log.directory) == before

    def test_strict_takes_whole_lines(self, log):
        append(log.data(), b"[1]\n")
        assert log.recover(tail="strict") == ["indexed"]

    def test_two_tails_at_the_same_byte_are_both_kept(self, log):
        for tail in (b"{", b"[", b"{"):
            append(log.data(), tail)
            assert log.recover() == ["quarantined"]
        assert sorted(log.quarantine.values()) == [b"[", b"{"]

    def test_a_line_within_the_limits_of_its_writer_is_a_record(self, tmp_path):
        """The limits of the recovering writer do not apply: the line may have been acknowledged."""
        log = Log(tmp_path / "log", max_record=2000, max_depth=400)
        deep, large = b"[" * 400 + b"]" * 400, b'"' + b"x" * 1998 + b'"'
        append(log.data(), deep + b"\n" + large + b"\n" + b'"%s"\n' % (b"x" * 1999))
        with headrace.LogWriter(log.directory, max_record=50, max_depth=2) as writer:
            actions = writer.recovered.actions
            assert [each.action for each in actions] == ["indexed", "quarantined"]
            assert writer.last_line == 9
        assert headrace.Log(log.directory, raw=True).get(8) == deep


class TestRotation:
    """A crash between the files of a new segment and the manifest that names it."""

    def test_a_segment_that_was_just_begun(self, log):
        log.data(7).touch()
        assert log.recover() == ["adopted", "index_rebuilt"]
        with headrace.LogWriter(log.directory) as writer:
            assert writer.append({"n": 7}) == 8
        assert log.data(7).read_bytes() == b'{"n":7}\n'
        header, entry = dumped_index(log.index(7))
        assert (header["fileNumber"], header["globalLineOffset"]) == (4, 7)
        assert entry["lineNumberGlobal"] == 8

    def test_an_index_alone(self, log):
        shutil.copy(log.index(0), log.index(7))
        cut(log.index(7), 256)
        assert log.recover() == ["removed"]
        assert not log.index(7).exists()

    def test_an_empty_one_elsewhere(self, log):
        log.data(9).touch()
        assert log.recover() == ["removed"]
        assert not log.data(9).exists()

    def test_lines_elsewhere_are_damage(self, log):
        log.data(9).write_bytes(b"1\n")
        with pytest.raises(
            LogDamagedError, match="behind line 9, but the log ends at line 7"
        ):
            headrace.Log(log.directory).recover()
        assert log.data(9).read_bytes() == b"1\n"

    def test_an_old_one_is_left_alone(self, log):
        log.data(1).write_bytes(b"1\n")
        assert log.recover() == ["left"]
        assert log.data(1).exists()

    def test_temporary_files_of_writers_are_removed(self, log):
        for name in ("manifest.json", log.index().name, "recovery.json"):
            (log.directory / f".{name}.tmp-12-0123abcd").write_bytes(b"{")
        assert log.recover() == []
        assert not list(log.directory.glob(".*"))


class TestTheManifest:
    def test_missing(self, log):
        """KR-C2: the manifest is rebuilt from names and headers."""
        before = json.loads((log.directory / "manifest.json").read_bytes())
        (log.directory / "manifest.json").unlink()
        assert log.recover() == ["manifest_rebuilt"]
        after = json.loads((log.directory / "manifest.json").read_bytes())
        assert after["segments"] == before["segments"]
        del before["active"]["begun"]  # only the manifest contains it
        assert after["active"] == before["active"]
        assert after["nextFileNumber"] == before["nextFileNumber"]
        assert log.values() == VALUES
        with headrace.LogWriter(log.directory):
            later = json.loads((log.directory / "manifest.json").read_bytes())
        assert later["writerEpoch"] == before["writerEpoch"] + 1

    def test_missing_with_all_indexes(self, log):
        (log.directory / "manifest.json").unlink()
        for base in (0, 2, 4):
            log.index(base).unlink()
        assert log.recover()
        assert log.values() == VALUES

    def test_missing_with_a_segment_in_the_middle(self, log):
        (log.directory / "manifest.json").unlink()
        log.data(2).unlink()
        with pytest.raises(LogDamagedError, match=FIRST):
            headrace.Log(log.directory).recover()

    def test_every_damaged_byte_is_noticed(self, log):
        path = log.directory / "manifest.json"
        whole = path.read_bytes()
        for at in range(0, len(whole), 7):
            flip(path, at)
            with pytest.raises(LogDamagedError, match=r"manifest\.json"):
                headrace.LogWriter(log.directory)
            path.write_bytes(whole)
        for size in range(0, len(whole), 13):
            cut(path, size)
            with pytest.raises(LogDamagedError):
                headrace.Log(log.directory).recover()
            path.write_bytes(whole)

    def test_damage_can_be_repaired(self, log):
        path = log.directory / "manifest.json"
        flip(path, 200)
        damaged = path.read_bytes()
        assert log.recover(repair=True) == ["quarantined", "manifest_rebuilt"]
        assert log.quarantine == {"manifest.json@0": damaged}
        assert log.values() == VALUES

    def test_a_newer_version_is_refused(self, log):
        path = log.directory / "manifest.json"
        path.write_bytes(path.read_bytes().replace(b'"version": 1', b'"version": 2'))
        with pytest.raises(LogDamagedError, match="reads version 1"):
            len(headrace.Log(log.directory))


class TestDamage:
    """Damage that no crash causes is an error, and is repaired only with ``repair=True``."""

    def refused(self, log, match):
        before = everything(log.directory)
        with pytest.raises(LogDamagedError, match=match):
            headrace.Log(log.directory).recover()
        with pytest.raises(LogDamagedError, match=match):
            headrace.LogWriter(log.directory)
        assert everything(log.directory) == before

    def test_a_full_segment_is_gone(self, log):
        log.data(2).unlink()
        self.refused(log, "the file is gone")
        assert headrace.Log(log.directory).get(1) == VALUES[0]
        assert log.recover(repair=True)[0] == "given_up"
        found = headrace.Log(log.directory)
        assert [found.get(line) for line in (1, 2, 5, 7)] == [
            VALUES[line - 1] for line in (1, 2, 5, 7)
        ]
        with pytest.raises(LogDamagedError, match="line 3 was given up"):
            found.get(3)
        with pytest.warns(HeadraceWarning, match="lines 3 to 4 were given up"):
            assert list(found) == VALUES[:2] + VALUES[4:]
        with headrace.LogWriter(log.directory) as writer:
            assert writer.append(8) == 8

    def test_a_full_segment_is_shorter(self, log):
        data = log.data(2).read_bytes()
        cut(log.data(2), len(data) - 3)
        self.refused(log, f"it has {len(data) - 3} bytes, but should have {len(data)}")
        assert log.recover(repair=True) == ["given_up"]
        found = headrace.Log(log.directory)
        assert found.get(3) == VALUES[2]
        with pytest.raises(LogDamagedError, match="line 4 was given up"):
            found.get(4)
        assert list(found.range(5)) == VALUES[4:]
        assert list(log.quarantine.values()) == [data[len(data) // 2 : -3]]

    def test_a_full_segment_is_longer(self, log):
        append(log.data(2), b"{}\n")
        self.refused(log, "but should have")
        assert log.recover(repair=True) == ["given_up"]
        assert log.values() == VALUES
        assert list(log.quarantine.values()) == [b"{}\n"]

    def test_a_line_in_the_middle(self, log):
        """The other lines are readable, and appends work; a check finds the damage."""
        flip(log.data(2), 6)
        assert headrace.Log(log.directory).recover().actions == []
        found = headrace.Log(log.directory)
        assert found.get(4) == VALUES[3]
        with pytest.raises(LogDamagedError, match="line 3 is not what was written"):
            found.get(3)
        with pytest.raises(LogDamagedError, match="line 3"):
            list(found)
        assert not [each for each in check_log(log.directory) if each.faults]
        (wrong,) = [each for each in check_log(log.directory, deep=True) if each.faults]
        assert wrong.path == log.data(2).name

    @pytest.mark.parametrize("options", [{}, {"time": "$.E"}])
    @pytest.mark.parametrize("line", [1, 3, 4, 5, 6, 7])
    def test_an_entry_that_is_not_good(self, tmp_path, line, options):
        """A repair rebuilds it from its line; all other entries keep their times."""
        log = Log(tmp_path / "log", **options)
        base = min((line - 1) // 2 * 2, 4)
        at = 256 + ENTRY * (line - base - 1)
        before = log.index(base).read_bytes()
        flip(log.index(base), at + 9)
        assert log.recover(repair=True) == ["entries_rebuilt"]
        assert log.values() == VALUES
        after = log.index(base).read_bytes()
        assert after[:at] + after[at + ENTRY :] == before[:at] + before[at + ENTRY :]
        assert options == {} or after == before
        lost = list(dumped_index(log.index(base)))[line - base]
        assert lost.get("flags") == (None if options else ["time reconstructed"])
        assert headrace.Log(log.directory).recover(repair=True).actions == []

    def test_an_entry_that_is_not_good_of_a_compressed_segment(self, tmp_path):
        log = Log(tmp_path / "log", time="$.E")
        headrace.Log(log.directory).seal()
        before = log.index(2).read_bytes()
        flip(log.index(2), 256)
        assert log.recover(repair=True) == ["entries_rebuilt"]
        assert log.index(2).read_bytes() == before

    def test_an_entry_and_a_line_that_are_not_good(self, log):
        """The line cannot be restored, so both stay; other lines get their entries."""
        flip(log.index(0), 256)
        flip(log.index(2), 256)
        flip(log.data(2), 0)
        report = headrace.Log(log.directory).recover(repair=True)
        actions = [(each.action, each.rows, each.why) for each in report.actions]
        assert actions[0] == ("entries_rebuilt", 1, "that of line 1 was not good")
        assert actions[1][:2] == ("damaged", 1)
        assert actions[1][2].startswith("line 3: ")
        assert len(actions) == 2
        found = headrace.Log(log.directory)
        assert [found.get(line) for line in (1, 2, 4)] == [*VALUES[:2], VALUES[3]]

    def test_a_repair_reports_the_damaged_lines(self, log):
        flip(log.data(2), 6)
        before = everything(log.directory)
        (action,) = headrace.Log(log.directory).recover(repair=True).actions
        assert (action.action, action.rows, action.offset) == ("damaged", 1, 0)
        assert action.why == "line 3: the line is not what was written"
        assert everything(log.directory) == before

    def test_the_last_segment_lost_durable_bytes(self, log):
        cut(log.data(), log.data().stat().st_size - 1)
        self.refused(log, "were durable")
        log.recover(repair=True)
        with headrace.LogWriter(log.directory) as writer:
            assert writer.append([8]) == 8, "no number comes twice"
        found = headrace.Log(log.directory)
        assert (found.get(6), found.get(8)) == (VALUES[5], [8])
        with pytest.raises(LogDamagedError, match="line 7 was given up"):
            found.get(7)

    def test_the_last_durable_line_is_another(self, log):
        flip(log.data(), log.data().stat().st_size - 4)
        self.refused(log, "not what was written")
        log.recover(repair=True)
        assert headrace.Log(log.directory).get(6) == VALUES[5]
        assert headrace.Log(log.directory).last_line == 7

    def test_the_last_segment_is_gone(self, log):
        log.data().unlink()
        self.refused(log, "it is gone")
        log.recover(repair=True)
        assert headrace.Log(log.directory).last_line == 7

    def test_the_last_segment_is_gone_but_was_empty(self, tmp_path):
        with headrace.LogWriter(tmp_path):
            pass
        (tmp_path / FIRST).unlink()
        headrace.Log(tmp_path).recover()
        assert list(headrace.Log(tmp_path)) == []


def test_a_directory_without_a_log(tmp_path):
    for directory in (tmp_path, tmp_path / "none"):
        with pytest.raises(headrace.HeadraceError, match=r"no such|no log"):
            headrace.Log(directory).recover()
    assert list(tmp_path.iterdir()) == []
