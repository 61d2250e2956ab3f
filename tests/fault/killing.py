"""Run the scripts that kill their child processes."""

import os
import subprocess
import sys
from pathlib import Path

KILLS = int(os.environ.get("HEADRACE_KILLS", "5"))
"""Kills of each kind: few here, many in `make sweep`. Other tests kill at every call."""


def kill(script, directory, *arguments):
    """Run a script of this directory, which kills its child processes `KILLS` times."""
    path = Path(__file__).with_name(script)
    done = subprocess.run(
        [sys.executable, path, directory, str(KILLS), "1", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == KILLS
