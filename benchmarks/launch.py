"""Run one command and record its costs: ``launch.py FD COMMAND...``.

A child's peak memory, as the kernel counts it, starts at that of the process
that started it. So commands are started from here, an interpreter with next to
nothing imported, and not from the runner. What is left of the effect is
reported as `floor`, the peak of a program that does nothing: one below it
cannot be seen.

The record goes to the file descriptor FD as one line of JSON; stdout and
stderr are the command's.
"""

import os
import resource
import sys
import time


def peak_rss(usage: resource.struct_rusage) -> int:
    """Convert to bytes: macOS counts in bytes, other systems in KiB."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def bytes_read(pid: int) -> int | None:
    """Return the bytes read by a process that has ended but is not reaped yet."""
    try:
        with open(f"/proc/{pid}/io", "rb") as file:  # noqa: PTH123 - pathlib is big
            return int(file.readline().removeprefix(b"rchar:"))
    except OSError:
        return None


def main() -> None:
    """Start, wait, report."""
    report, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(report, False)  # noqa: FBT003 - it has no name
    _pid, _status, idle = os.wait4(os.posix_spawnp("true", ["true"], os.environ), 0)
    began = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    seconds = time.perf_counter() - began
    read = bytes_read(pid)
    _pid, status, usage = os.wait4(pid, 0)

    import json  # now that it no longer adds to the floor

    record = {
        "exit": os.waitstatus_to_exitcode(status),
        "time": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_rss": peak_rss(usage),
        "floor": peak_rss(idle),
        "bytes_read": read,
    }
    os.write(report, json.dumps(record).encode())


if __name__ == "__main__":
    main()
