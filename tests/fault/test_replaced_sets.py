"""Readers see one whole set after the other while a writer replaces them."""

import os
import subprocess
import sys
from pathlib import Path

import headrace
from tests.fault.sets import read, write

REPLACEMENTS = int(os.environ.get("HEADRACE_REPLACEMENTS", "100"))

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
import headrace
from tests.fault.sets import write
directory = Path(sys.argv[1])
for number in range(1, int(sys.argv[2]) + 1):
    write(directory, number)
    if number % 50 == 0:
        headrace.ShardSet(directory).vacuum(grace=5)
"""


def test_a_reader_sees_one_whole_set_after_the_other(quick_directory):
    write(quick_directory, 0)
    seen = [0]
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", WRITER, quick_directory, str(REPLACEMENTS), root]
    with subprocess.Popen(command) as writer:
        while writer.poll() is None:
            seen.append(read(quick_directory))
    assert writer.returncode == 0
    assert seen == sorted(seen)
    assert read(quick_directory) == REPLACEMENTS
    headrace.ShardSet(quick_directory).vacuum(grace=0)
    assert len(list(quick_directory.iterdir())) == 2
