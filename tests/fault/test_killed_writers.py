"""A writer that is killed at any moment leaves one whole set, the old or the new."""

import os
import subprocess
import sys
from pathlib import Path

KILLS = int(os.environ.get("HEADRACE_KILLS", "200"))


def test_a_killed_writer_leaves_one_whole_set(quick_directory):
    script = Path(__file__).with_name("kill_writers.py")
    done = subprocess.run(
        [sys.executable, script, quick_directory, str(KILLS), "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kills, unfinished, advanced = map(int, done.stdout.split())
    assert kills == KILLS
    # Otherwise the moments were not those that matter.
    assert unfinished > KILLS / 4
    assert advanced > KILLS / 10
