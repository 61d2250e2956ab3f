"""Cut the power of a machine that writes a log, between any two of its system calls.

Run as ``python -m tests.fault.power_log CUTS SEED``. The calls are recorded once for each
set of options; each cut plays back the first of them, and loses some of what was not
synchronised. The log must have all acknowledged lines, and only lines that were sent.
"""

import random
import sys
import tempfile
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import headrace
from headrace.errors import HeadraceError, HeadraceWarning
from tests.fault.disk_model import Disk, Recorder, put
from tests.fault.failing_system import using
from tests.fault.logs import append_until, record, refuse_unless_sound

LOG = "a/log"
RECORDS = 40
CHOICES = (
    {"durability": "data", "rotate_rows": 7},
    {"durability": "always", "rotate_bytes": 3000, "time": "$.E"},
    {"durability": "data", "rotate_rows": 1},
    {"durability": "interval", "interval": 1000.0, "rotate_rows": 9},
    {"durability": "os", "rotate_rows": 11},
    {"durability": "data", "rotate_rows": 6, "codec": "zstd"},
    {"durability": "always", "rotate_rows": 5, "codec": "gzip"},
    {"durability": "os", "rotate_rows": 4, "codec": "zstd"},
)
"""Options of the logs; with compression, old segments are removed as well."""


def recorded(root, options, make=Recorder):
    """Return the calls of writers that open, append, rotate, and close, twice.

    With compression, old segments are removed too, by the writer and by commands.
    """
    with using(make(root)) as recorder:
        # Only these two promise that appended lines are durable.
        promised = options["durability"] in ("data", "always")
        acknowledge = recorder.acknowledge if promised else lambda _number: None
        for start, stop in ((0, RECORDS // 2), (RECORDS // 2, RECORDS)):
            with headrace.LogWriter(root / LOG, **options) as writer:
                for until in (*range(start + 7, stop, 7), stop):
                    append_until(writer, writer.last_line, until, acknowledge)
                    writer.wait_for_upkeep()
                if "codec" in options:
                    removing(recorder, writer.retain, stop // 3)
                assert writer.upkeep_failures == []
            recorder.acknowledge(stop)
            if "codec" in options:
                headrace.Log(root / LOG).seal()
                removing(recorder, headrace.Log(root / LOG).retain, stop // 2)
    return recorder.calls


def removing(recorder, retain, line):
    """Remove lines before one, and record which may and which must be gone."""
    calls = recorder.calls
    fewest = next((call[1] for call in calls[::-1] if call[0] == "removing"), 0)
    recorder.removing(fewest, line)
    removed = retain(before_line=line)
    if removed.segments:
        fewest = removed.segments[-1].last_line
    recorder.removing(fewest, line)


def recovering(root, found, make=Recorder):
    """Return the calls of a writer that opens a log after a power failure, and the first."""
    put(root, found)
    recorder = make(root)
    recorder.adopt(found)
    begun = len(recorder.calls)
    with using(recorder), headrace.LogWriter(root / LOG):
        pass
    return recorder.calls, begun


def refuse_unless_found(root, found, acknowledged, removable):
    """Raise unless a log is sound after a power failure, and can be continued."""
    put(root, found)
    directory = root / LOG
    count = refuse_unless_sound(directory, acknowledged, RECORDS, removable)
    with warnings.catch_warnings():
        # The times of the earlier lines may have been extracted.
        warnings.simplefilter("ignore", HeadraceWarning)
        writer = headrace.LogWriter(directory)
    with writer:
        assert writer.append(record(count)) == count + 1
    refuse_unless_sound(directory, count + 1, count + 1, removable)
    return count


@contextmanager
def scratch():
    """Yield an empty directory, in memory if possible."""
    memory = Path("/dev/shm")
    inside = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="headrace-", dir=inside) as root:
        yield Path(root)


def run(cuts, seed, make=Recorder, choices=CHOICES):
    """Cut `cuts` times; return how many records each cut left.

    One of four comes while a writer recovers from the one before.
    """
    chance = random.Random(seed)
    traces = []
    for options in choices:
        with scratch() as root:
            traces.append(recorded(root, options, make))
    left = []
    for number in range(cuts):
        calls = traces[number % len(traces)]
        at = chance.randint(0, len(calls))
        disk = Disk(calls[:at])
        found = disk.cut(chance)
        try:
            if number % 4 == 3 and LOG in found:
                with scratch() as root:
                    calls, begun = recovering(root, found, make)
                at = chance.randint(begun, len(calls))
                found = Disk(calls[:at]).cut(chance)
            with scratch() as root:
                sound = partial(
                    refuse_unless_found,
                    acknowledged=disk.acknowledged,
                    removable=disk.removable,
                )
                left.append(sound(root, found))
        except (AssertionError, HeadraceError, HeadraceWarning, OSError) as error:
            said = f"cut {number} of seed {seed}, after {at} calls: {error}"
            raise AssertionError(said) from error
    return left


def main(cuts, seed):
    left = run(cuts, seed)
    sys.stdout.write(
        f"{cuts} power cuts, seed {seed}: none lost a record that was acknowledged; "
        f"{sum(count < RECORDS for count in left)} were before the end\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
