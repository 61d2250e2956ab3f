"""Running the scripts that kill what they start, again and again."""

import os
import subprocess
import sys
from pathlib import Path


def killed(script, directory, kills, *arguments):
    """Run a script of this directory; return how often it killed, and what else it counted.

    ``HEADRACE_KILLS`` says how often, otherwise it is `kills` times.
    """
    wanted = int(os.environ.get("HEADRACE_KILLS", kills))
    path = Path(__file__).with_name(script)
    done = subprocess.run(
        [sys.executable, path, directory, str(wanted), "1", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, *counts = map(int, done.stdout.split())
    assert said == wanted
    return wanted, *counts
