"""``replace_file`` moves a finished file to the place of another."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from headrace.compat import replace_file
from headrace.errors import SourceNotFoundError, UnwritableError, UsageError


@pytest.fixture
def files(tmp_path):
    """A finished file that contains B, and the file to replace, which contains A."""
    new, final = tmp_path / "new", tmp_path / "final"
    new.write_text("B")
    final.write_text("A")
    return new, final


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_the_new_content_and_no_backup(files, tmp_path):
    replace_file(*files)
    assert files[1].read_text() == "B"
    assert names(tmp_path) == ["final"]


def test_a_backup_has_the_old_content(files, tmp_path):
    new, final = files
    replace_file(new, final, keep_backup=True)
    assert (final.read_text(), (tmp_path / "final.bak").read_text()) == ("B", "A")
    assert names(tmp_path) == ["final", "final.bak"]


def test_an_earlier_backup_is_replaced(files, tmp_path):
    new, final = files
    replace_file(new, final, keep_backup=True)
    new.write_text("C")
    replace_file(new, final, keep_backup=True)
    assert (final.read_text(), (tmp_path / "final.bak").read_text()) == ("C", "B")
    assert names(tmp_path) == ["final", "final.bak"]


def test_a_foreign_backup_stays(files, tmp_path):
    backup = tmp_path / "final.bak"
    backup.write_text("theirs")
    with pytest.raises(UsageError, match=r"final\.bak: exists"):
        replace_file(*files, keep_backup=True)
    assert [path.read_text() for path in (*files, backup)] == ["B", "A", "theirs"]
    replace_file(*files)
    assert (files[1].read_text(), backup.read_text()) == ("B", "theirs")


def test_a_first_file_has_no_backup(files, tmp_path):
    new, final = files
    final.unlink()
    replace_file(new, final, keep_backup=True)
    assert names(tmp_path) == ["final"]


def test_a_missing_file_is_an_error_even_if_the_other_is_fresh(files, tmp_path):
    new, final = files
    new.unlink()
    with pytest.raises(SourceNotFoundError, match="new"):
        replace_file(new, final)
    assert final.read_text() == "A"


@pytest.mark.parametrize("keep_backup", [False, True])
def test_a_file_of_another_file_system_is_copied(
    files, tmp_path, monkeypatch, keep_backup
):
    new, final = files
    new.chmod(0o640)
    real = Path.replace

    def replace(self, target):
        if self == new:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    replace_file(new, final, keep_backup=keep_backup)
    assert final.read_text() == "B"
    assert final.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["final", "final.bak"][: 1 + keep_backup]


@pytest.mark.skipif(
    not Path("/dev/shm").is_dir()
    or Path("/dev/shm").stat().st_dev == Path("/tmp").stat().st_dev,
    reason="there is no second file system",
)
def test_from_a_real_other_file_system(tmp_path):
    other = Path("/dev/shm") / f"headrace-{os.getpid()}"
    other.write_text("B")
    try:
        replace_file(other, tmp_path / "final")
        assert names(tmp_path) == ["final"]
        assert not other.exists()
    finally:
        other.unlink(missing_ok=True)


def test_without_links_a_backup_is_a_copy(files, tmp_path, monkeypatch):
    def link(*_args):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    replace_file(*files, keep_backup=True)
    assert (files[1].read_text(), (tmp_path / "final.bak").read_text()) == ("B", "A")
    assert names(tmp_path) == ["final", "final.bak"]


def test_a_failure_leaves_everything(files, tmp_path, monkeypatch):
    def replace(self, target):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(OSError, match="final"):
        replace_file(*files)
    assert [path.read_text() for path in files] == ["B", "A"]
    assert names(tmp_path) == ["final", "new"]


def test_a_path_that_cannot_be_moved_is_refused(files, tmp_path):
    new, final = files
    with pytest.raises(UsageError, match="is the file it is to replace"):
        replace_file(final, final)
    (tmp_path / "link").symlink_to(new)
    with pytest.raises(UsageError, match="not a regular file"):
        replace_file(tmp_path / "link", final)
    with pytest.raises(UsageError, match="is a directory"):
        replace_file(new, tmp_path)
    assert [path.read_text() for path in files] == ["B", "A"]


def test_two_names_of_one_file_become_one(files, tmp_path):
    new, final = files
    final.unlink()
    os.link(new, final)
    replace_file(new, final)
    assert names(tmp_path) == ["final"]
    assert final.read_text() == "B"


def test_the_target_of_a_link_is_replaced(files, tmp_path):
    new, final = files
    link = tmp_path / "link"
    link.symlink_to(final)
    replace_file(new, link)
    assert link.is_symlink()
    assert final.read_text() == "B"


def test_there_is_a_file_at_every_moment(files, tmp_path, monkeypatch):
    """The test looks before every call that changes a name."""
    new, final = files
    seen = []

    def watched(real):
        def call(*args, **options):
            seen.append(final.read_text())
            result = real(*args, **options)
            seen.append(final.read_text())
            return result

        return call

    for owner, name in (
        (Path, "replace"),
        (Path, "unlink"),
        (os, "link"),
        (shutil, "copymode"),
    ):
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))
    replace_file(new, final, keep_backup=True)
    assert len(seen) >= 6
    assert seen == sorted(seen)


def test_a_full_disk_is_a_headrace_error(tmp_path, monkeypatch):
    new, final = tmp_path / "new", tmp_path / "final"
    new.write_bytes(b"B")
    final.write_bytes(b"A")

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableError, match=r"No space left.*final is whole"):
        replace_file(new, final)
    assert final.read_bytes() == b"A"
