"""A run of a pipeline that is killed at any moment is gone on with, and no row is lost."""

import os
import subprocess
import sys
from pathlib import Path

KILLS = int(os.environ.get("HEADRACE_KILLS", "100"))


def test_a_killed_run_is_gone_on_with(quick_directory):
    script = Path(__file__).with_name("kill_pipelines.py")
    done = subprocess.run(
        [sys.executable, script, quick_directory, str(KILLS), "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kills, ended = map(int, done.stdout.split())
    assert kills == KILLS
    # Otherwise the moments were not those that matter.
    assert KILLS / 10 < ended < KILLS * 9 / 10
