"""A writer of a key index that is killed at any moment leaves one that gives right answers."""

import os
import subprocess
import sys
from pathlib import Path

KILLS = int(os.environ.get("HEADRACE_KILLS", "200"))


def test_a_killed_writer_leaves_an_index_that_is_right(quick_directory):
    script = Path(__file__).with_name("kill_indexes.py")
    done = subprocess.run(
        [sys.executable, script, quick_directory, str(KILLS), "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kills, unfinished, deltas = map(int, done.stdout.split())
    assert kills == KILLS
    # Otherwise the moments were not those that matter.
    assert unfinished > KILLS / 10
    assert deltas > KILLS / 50
