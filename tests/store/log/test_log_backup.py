"""Backups of a log: content, refusals, and restored logs."""

import threading

import pytest

import headrace
from headrace.errors import (
    BackupError,
    BackupLossError,
    LogDamagedError,
    SourceNotFoundError,
    UsageError,
)
from headrace.store.files.checked_json import CHECKSUM_BYTES, with_checksum
from headrace.store.files.lock import FileLock
from headrace.store.log.backup.manifest import BackupNames
from headrace.store.log.manifest import load, replace
from headrace.store.log.names import LogNames
from headrace.store.log.report.check import check_log


def append(log, first, last, **options):
    with headrace.LogWriter(log, **{"rotate_rows": 10, **options}) as writer:
        writer.append_many([{"n": n} for n in range(first, last)])


def restored(backup, target):
    headrace.Log.restore(backup, target)
    checked = list(check_log(target, deep=True))
    assert [segment.faults + segment.notes for segment in checked] == [[]] * len(
        checked
    )
    return [row["n"] for row in headrace.Log(target)]


def faults(backup):
    return {
        file.path: file.faults for file in headrace.Log.verify(backup) if file.faults
    }


def contents(directory):
    """Return the content of all files except the lock."""
    return {
        path.relative_to(directory): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "backup.lock"
    }


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "log", tmp_path / "backups" / "log"


def test_only_new_lines_are_copied(paths, tmp_path):
    log, backup = paths
    append(log, 0, 25)
    made = headrace.Log(log).backup(backup)
    assert (made.generation, made.first_line, made.last_line) == (1, 1, 25)
    assert made.copied == made.bytes
    assert headrace.Log(log).backup(backup).copied == 0
    append(log, 25, 26)
    again = headrace.Log(log).backup(backup)
    assert (again.generation, again.last_line) == (2, 26)
    assert again.copied == len(b'{"n":25}\n') + 56
    append(log, 26, 47)
    assert headrace.Log(log).backup(backup).last_line == 47
    assert not faults(backup)
    assert restored(backup, tmp_path / "back") == list(range(47))


def test_a_restored_log_continues_the_line_numbers(paths, tmp_path):
    log, backup = paths
    append(log, 0, 25)
    headrace.Log(log).backup(backup)
    back = tmp_path / "deep" / "er"
    headrace.Log.restore(backup, back)
    for each in (log, back):
        append(each, 25, 40)
    for name in (f"{20:020d}.jsonl", f"{30:020d}.jsonl"):
        assert (log / name).read_bytes() == (back / name).read_bytes()
    assert [headrace.Log(back).get(line)["n"] for line in (1, 26, 40)] == [0, 25, 39]
    manifests = [load(LogNames(each)) for each in (log, back)]
    assert len({one.active.file_number for one in manifests}) == 1


def test_an_empty_log(paths, tmp_path):
    log, backup = paths
    headrace.LogWriter(log).close()
    assert headrace.Log(log).backup(backup).last_line == 0
    assert restored(backup, tmp_path / "back") == []


def test_uncommitted_lines_are_not_copied(paths, tmp_path):
    log, backup = paths
    append(log, 0, 5)
    with (log / f"{0:020d}.jsonl").open("ab") as file:
        file.write(b'{"n":5}\n{"n')
    assert headrace.Log(log).backup(backup).last_line == 5
    assert restored(backup, tmp_path / "back") == list(range(5))


def test_while_the_log_is_written(paths, tmp_path):
    log, backup = paths
    append(log, 0, 1)
    done = threading.Event()

    def write():
        with headrace.LogWriter(log, rotate_rows=37, durability="os") as writer:
            for n in range(1, 1500):
                writer.append({"n": n})
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    last, rounds = 0, 0
    while last < 1500:
        rounds += 1
        made = headrace.Log(log).backup(backup)
        assert made.last_line >= last
        last = made.last_line
        if rounds % 5 == 0 or last == 1500:
            assert restored(backup, tmp_path / str(rounds)) == list(range(last))
    thread.join()


def test_segments_that_the_log_removed(paths, tmp_path):
    log, backup = paths
    append(log, 0, 35)
    headrace.Log(log).backup(backup)
    names = LogNames(log)
    manifest = load(names)
    replace(manifest, segments=manifest.segments[2:]).save(names)
    for segment in manifest.segments[:2]:
        names.data(segment.base).unlink()
        names.index(segment.base).unlink()
    made = headrace.Log(log).backup(backup)
    assert (made.first_line, made.last_line, made.copied) == (21, 35, 0)
    assert len(list((backup / "segments").iterdir())) == 4
    assert restored(backup, tmp_path / "back") == list(range(20, 35))


def test_a_last_segment_that_a_power_failure_changed(paths, tmp_path):
    """Its lines may differ; the backup keeps the old ones until the new copy is complete."""
    log, backup = paths
    append(log, 0, 15, durability="os")
    headrace.Log(log).backup(backup)
    for name in (f"{10:020d}.jsonl", f"{10:020d}.jsonl.idx"):
        with (log / name).open("r+b") as file:
            file.truncate(2 * 9 if name.endswith("l") else 256 + 2 * 56)
    names = LogNames(log)
    manifest = load(names)
    active = replace(manifest.active, rows=2, bytes=18)
    replace(manifest, active=active).save(names)
    append(log, 91, 95)
    with pytest.raises(
        BackupLossError, match="something else than it in lines 11 to 15"
    ):
        headrace.Log(log).backup(backup)
    assert restored(backup, tmp_path / "before") == list(range(15))
    assert headrace.Log(log).backup(backup, accept_loss=True).last_line == 16
    stored = sorted(path.name for path in (backup / "segments").iterdir())
    assert f"{10:020d}.jsonl~2" in stored
    assert f"{10:020d}.jsonl" not in stored
    assert restored(backup, tmp_path / "back") == [*range(12), *range(91, 95)]


class TestLoss:
    """Lines that the log has lost stay in the backup until the loss is accepted."""

    @pytest.mark.parametrize(
        ("base", "lost"),
        [(10, "lines 18 to 20"), (20, "lines 23 to 25")],
        ids=["full", "last"],
    )
    def test_of_a_log_that_was_repaired(self, paths, base, lost):
        log, backup = paths
        append(log, 0, 25)
        headrace.Log(log).backup(backup)
        before = contents(backup)
        data = log / f"{base:020d}.jsonl"
        data.write_bytes(data.read_bytes()[:-20])
        headrace.Log(log).recover(repair=True)
        with pytest.raises(BackupLossError, match=f"does not have {lost} of it"):
            headrace.Log(log).backup(backup)
        assert contents(backup) == before
        assert headrace.Log(log).backup(backup, accept_loss=True).last_line == 25
        assert headrace.Log(log).backup(backup).copied == 0

    def test_of_a_compressed_log_that_was_repaired(self, paths):
        log, backup = paths
        append(log, 0, 25)
        headrace.Log(log).seal()
        headrace.Log(log).backup(backup)
        data = log / load(LogNames(log)).segments[1].name
        data.write_bytes(data.read_bytes()[:20])
        headrace.Log(log).recover(repair=True)
        with pytest.raises(BackupLossError, match="does not have lines 11 to 20 of it"):
            headrace.Log(log).backup(backup)

    def test_of_a_whole_segment(self, paths):
        log, backup = paths
        append(log, 0, 25)
        headrace.Log(log).backup(backup)
        (log / f"{10:020d}.jsonl").unlink()
        headrace.Log(log).recover(repair=True)
        with pytest.raises(BackupLossError, match="does not have lines 11 to 20 of it"):
            headrace.Log(log).backup(backup)

    @pytest.mark.parametrize("last", [6, 10, 14, 24])
    def test_of_an_older_copy(self, paths, tmp_path, last):
        """Within the same segment, at its end, and one and two segments later."""
        log, backup = paths
        old = tmp_path / "old"
        append(log, 0, 5)
        headrace.Log(log).backup(backup)
        headrace.Log.restore(backup, old)
        append(log, 5, last)
        headrace.Log(log).backup(backup)
        before = contents(backup)
        with pytest.raises(BackupLossError, match="old does not have line"):
            headrace.Log(old).backup(backup)
        assert contents(backup) == before
        assert headrace.Log(log).backup(backup).last_line == last
        assert headrace.Log(old).backup(backup, accept_loss=True).last_line == 5
        assert restored(backup, tmp_path / "back") == list(range(5))

    @pytest.mark.parametrize("more", [8, 30], ids=["last", "full and compressed"])
    def test_of_a_copy_that_went_another_way(self, paths, tmp_path, more):
        log, backup = paths
        other = tmp_path / "other"
        append(log, 0, 5)
        headrace.Log(log).backup(backup)
        headrace.Log.restore(backup, other)
        append(log, 5, 8)
        headrace.Log(log).backup(backup)
        append(other, 105, 100 + more)
        headrace.Log(other).seal()
        with pytest.raises(BackupLossError, match=r"something else .* lines 1 to 8"):
            headrace.Log(other).backup(backup)
        assert restored(backup, tmp_path / "back") == list(range(8))

    def test_an_older_copy_that_caught_up_is_not_one(self, paths, tmp_path):
        log, backup = paths
        append(log, 0, 5)
        headrace.Log(log).backup(backup)
        headrace.Log.restore(backup, tmp_path / "old")
        append(log, 5, 8)
        headrace.Log(log).backup(backup)
        append(tmp_path / "old", 5, 30)
        headrace.Log(tmp_path / "old").seal()
        assert headrace.Log(tmp_path / "old").backup(backup).last_line == 30
        assert restored(backup, tmp_path / "back") == list(range(30))


class TestDamage:
    def test_of_the_log_does_not_reach_the_backup(self, paths, tmp_path):
        log, backup = paths
        append(log, 0, 12)
        headrace.Log(log).backup(backup)
        append(log, 12, 32)
        second = log / f"{10:020d}.jsonl"
        second.write_bytes(second.read_bytes().replace(b"15", b"16"))
        with pytest.raises(LogDamagedError, match="line 16: the line is not what"):
            headrace.Log(log).backup(backup)
        assert restored(backup, tmp_path / "back") == list(range(12))

    @pytest.mark.parametrize("before", [False, True], ids=["no backup", "a backup"])
    @pytest.mark.parametrize("name", [f"{10:020d}.jsonl", f"{20:020d}.jsonl"])
    def test_of_a_truncated_file_is_reported_for_the_log(
        self, paths, tmp_path, name, before
    ):
        log, backup = paths
        append(log, 0, 25)
        if before:
            headrace.Log(log).backup(backup)
        data = log / name
        data.write_bytes(data.read_bytes()[:-20])
        with pytest.raises(LogDamagedError, match=r"it has \d+ bytes, but") as raised:
            headrace.Log(log).backup(backup)
        assert raised.value.path == str(data)
        if before:
            assert restored(backup, tmp_path / "back") == list(range(25))

    def test_of_lines_copied_before_is_not_copied(self, paths, tmp_path):
        log, backup = paths
        append(log, 0, 25)
        headrace.Log(log).backup(backup)
        first = log / f"{0:020d}.jsonl"
        first.write_bytes(b"#" + first.read_bytes()[1:])
        assert headrace.Log(log).backup(backup).copied == 0
        assert restored(backup, tmp_path / "back") == list(range(25))

    @pytest.mark.parametrize("damage", ["flipped", "short", "missing"])
    @pytest.mark.parametrize(
        "name", [f"{0:020d}.jsonl", f"{0:020d}.jsonl.idx", f"{20:020d}.jsonl"]
    )
    def test_of_a_file_of_the_backup_is_found(self, paths, tmp_path, name, damage):
        log, backup = paths
        append(log, 0, 25)
        headrace.Log(log).backup(backup)
        path = backup / "segments" / name
        content = bytearray(path.read_bytes())
        match damage:
            case "flipped":
                content[len(content) // 2] ^= 1
            case "short":
                del content[-1]
        path.write_bytes(content)
        if damage == "missing":
            path.unlink()
        found = faults(backup)
        assert path.name in found
        assert str(path) in found[path.name][0]
        with pytest.raises(BackupError, match=path.name):
            headrace.Log.restore(backup, tmp_path / "back")
        assert sorted(each.name for each in tmp_path.iterdir()) == ["backups", "log"]

    def test_of_the_growing_file_of_the_backup_is_mended(self, paths, tmp_path):
        log, backup = paths
        append(log, 0, 5)
        headrace.Log(log).backup(backup)
        stored = backup / "segments" / f"{0:020d}.jsonl"
        stored.write_bytes(b"#" + stored.read_bytes()[1:])
        append(log, 5, 8)
        headrace.Log(log).backup(backup)
        assert restored(backup, tmp_path / "back") == list(range(8))

    def test_every_byte_of_the_contents_is_checked(self, paths):
        log, backup = paths
        append(log, 0, 12)
        headrace.Log(log).backup(backup)
        contents = backup / "backup.json"
        good = contents.read_bytes()
        for at in range(len(good)):
            contents.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
            with pytest.raises(BackupError):
                list(headrace.Log.verify(backup))
        for size in range(len(good)):
            contents.write_bytes(good[:size])
            with pytest.raises(BackupError):
                headrace.Log(log).backup(backup)

    def test_a_version_of_later(self, paths):
        log, backup = paths
        append(log, 0, 1)
        headrace.Log(log).backup(backup)
        contents = backup / "backup.json"
        head = contents.read_bytes()[:-CHECKSUM_BYTES]
        contents.write_bytes(
            with_checksum(head.replace(b'"version": 1', b'"version": 2', 1))
        )
        with pytest.raises(BackupError, match="version 2; this headrace reads 1"):
            headrace.Log(log).backup(backup)


class TestRefused:
    def test_no_log(self, paths):
        log, backup = paths
        with pytest.raises(SourceNotFoundError):
            headrace.Log(log).backup(backup)
        assert not backup.exists()

    def test_no_backup(self, paths, tmp_path):
        with pytest.raises(BackupError, match="there is no backup"):
            headrace.Log.restore(tmp_path, tmp_path / "back")
        with pytest.raises(BackupError, match="there is no backup"):
            list(headrace.Log.verify(tmp_path / "nowhere"))

    def test_the_backup_of_another_log(self, paths, tmp_path):
        log, backup = paths
        append(log, 0, 3)
        append(tmp_path / "other", 0, 3)
        headrace.Log(log).backup(backup)
        with pytest.raises(UsageError, match="the backup of another log"):
            headrace.Log(tmp_path / "other").backup(backup)

    def test_a_directory_with_other_files(self, paths):
        log, backup = paths
        append(log, 0, 3)
        backup.mkdir(parents=True)
        (backup / "mine.txt").write_text("mine")
        with pytest.raises(UsageError, match=r"there is 'mine.txt', but no backup"):
            headrace.Log(log).backup(backup)

    @pytest.mark.parametrize("place", [".", "backup", "deep/er"])
    def test_a_backup_within_the_log(self, tmp_path, monkeypatch, place):
        monkeypatch.chdir(tmp_path)
        append("log", 0, 3)
        (tmp_path / "link").symlink_to("log")
        before = contents(tmp_path)
        for each in ("log", "link"):
            with pytest.raises(UsageError, match="is within the log"):
                headrace.Log("log").backup(f"{each}/{place}")
        assert contents(tmp_path) == before
        headrace.Log("log").backup("log.backup")

    def test_a_log_within_a_backup(self, paths):
        log, backup = paths
        append(log, 0, 3)
        headrace.Log(log).backup(backup)
        before = contents(backup)
        with pytest.raises(UsageError, match="is the backup of a log"):
            headrace.LogWriter(backup)
        assert contents(backup) == before

    def test_where_something_is(self, paths, tmp_path):
        log, backup = paths
        append(log, 0, 3)
        headrace.Log(log).backup(backup)
        with pytest.raises(UsageError, match="is not empty"):
            headrace.Log.restore(backup, log)
        (tmp_path / "empty").mkdir()
        assert restored(backup, tmp_path / "empty") == [0, 1, 2]

    def test_a_second_writer(self, paths):
        log, backup = paths
        append(log, 0, 3)
        headrace.Log(log).backup(backup)
        lock = FileLock(BackupNames(backup).lock, UsageError)
        with pytest.raises(BackupError, match=r"process \d+ on .* is writing it"):
            headrace.Log(log).backup(backup)
        lock.release()
        assert headrace.Log(log).backup(backup).last_line == 3


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_segments_that_were_compressed_since(paths, tmp_path, codec):
    log, backup = paths
    append(log, 0, 47)
    headrace.Log(log).backup(backup)
    headrace.Log(log).seal(codec=codec)
    assert headrace.Log(log).backup(backup).copied > 0
    assert headrace.Log(log).backup(backup).copied == 0
    assert faults(backup) == {}
    assert restored(backup, tmp_path / "again") == list(range(47))
    first = backup / "segments" / load(LogNames(log)).segments[0].name
    content = bytearray(first.read_bytes())
    content[40] ^= 1
    first.write_bytes(content)
    [(name, [fault])] = faults(backup).items()
    assert name == first.name
    assert "it is not what was copied" in fault


def test_damage_does_not_come_into_a_backup_through_compressed_segments(paths):
    log, backup = paths
    append(log, 0, 47)
    headrace.Log(log).seal()
    index = log / f"{10:020d}.jsonl.idx"
    content = bytearray(index.read_bytes())
    content[256 + 44] ^= 1
    index.write_bytes(content)
    with pytest.raises(LogDamagedError, match="line 11: "):
        headrace.Log(log).backup(backup)
