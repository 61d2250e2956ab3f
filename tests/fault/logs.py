"""Logs with faults: their records, and the checks that must hold."""

import functools
import json
import random
import warnings

import headrace
from headrace.api.log.recovery import open_recovered
from headrace.errors import HeadraceError, HeadraceWarning, UnwritableError
from headrace.store.log.report.check import check_log


@functools.cache
def record(number):
    """Return a record, as bytes: mostly small, some larger than a page of a disk."""
    chance = random.Random(number)
    length = chance.choice([0, 1, 20, 100, 100, 700, 5000])
    pad = "".join(chance.choices('abc{}[]"\\\u00e9 ', k=length))
    value = {"n": number, "E": 1_600_000_000_000 + number, "pad": pad}
    return json.dumps(value, ensure_ascii=False).encode()


def lines_of(directory):
    """Return all lines of a log, recovered like `headrace log cat`, and the number of
    removed ones.
    """
    with warnings.catch_warnings():
        # A reader of a log that cannot be recovered stops at the damage.
        warnings.simplefilter("error", HeadraceWarning)
        reader, _actions = open_recovered(directory)
    if reader is None:
        return 0, []
    blocks = reader.blocks(reader.first_line, reader.last_line)
    lines = [line for block in blocks for line in block.lines()]
    return reader.first_line - 1, lines


def everything(directory):
    """Return the content of all files below a directory, except the note of the lock."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "LOCK"
    }


def none(_last):
    """Allow retention to remove no line."""
    return range(1)


def refuse_unless_sound(directory, acknowledged, sent, removable=none):
    """Raise unless the log has the first records that were sent, with all acknowledged.

    `removable` returns how many of the first may have been removed, for the number of
    lines, which is returned. Recovery must keep the lines that were read, a second recovery
    must change nothing, and the log must pass its own check.
    """
    before, shown = lines_of(directory)
    if (directory / "manifest.json").exists():
        # A reader leaves bytes that are not a record where they are; a writer does not.
        headrace.Log(directory).recover()
    removed, found = lines_of(directory)
    assert removed == before
    assert found[: len(shown)] == shown, "recovery took lines away"
    last = removed + len(found)
    wanted = [record(number) for number in range(removed, last)]
    assert found == wanted, f"{len(found)} lines, not the first that were sent"
    assert acknowledged <= last <= sent, (acknowledged, last, sent)
    assert removed in removable(last), f"{removed} lines were removed"
    before = everything(directory) if directory.exists() else {}
    if "manifest.json" in before:
        report = headrace.Log(directory).recover()
        assert report.actions == [], report
        assert everything(directory) == before, "recovering again changed it"
        wrong = [each for each in check_log(directory, deep=True) if each.faults]
        assert wrong == []
    return last


def append_until(writer, start, stop, acknowledge, *, together=4):
    """Append the records from `start` to `stop`, alternately one and several."""
    number = start
    while number < stop:
        count = 1 if number % 3 else min(together, stop - number)
        batch = [record(each) for each in range(number, number + count)]
        if count == 1:
            writer.append(batch[0])
        else:
            writer.append_many(batch)
        number += count
        acknowledge(number)
    return number


def retrying(directory, stop, acknowledge, **options):
    """Append records up to `stop` despite all failures, like a careful program.

    Refused records are appended again; a failed writer is replaced by another one, which
    continues after the last line of the log.
    """
    failures = 0
    while True:
        assert failures < 20, "it never works"
        try:
            with headrace.LogWriter(directory, **options) as writer:
                while writer.last_line < stop:
                    try:
                        append_until(writer, writer.last_line, stop, acknowledge)
                    except UnwritableError:
                        failures += 1
        except (HeadraceError, OSError):
            failures += 1
        else:
            return failures
