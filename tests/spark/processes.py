"""The processes of a program that was started in a new session."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def processes(session):
    """Return the command lines of the live processes of a session, by process id."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _parent, _group, its, *_ = stat.read_text().rsplit(")", 1)[1].split()
            called = stat.with_name("cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its) == session and state != "Z":
            found[int(stat.parent.name)] = called
    return found


def kill(session):
    """Kill all processes of a session, and the processes that they start meanwhile."""
    while left := processes(session):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def until(reached, patience=60):
    """Wait until `reached` returns a true value; return its last value."""
    give_up = time.monotonic() + patience
    while not (found := reached()) and time.monotonic() < give_up:
        time.sleep(0.02)
    return found
