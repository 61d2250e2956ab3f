"""The text of a Spark failure, in one line."""

from __future__ import annotations

_NOT_FOUND = "ModuleNotFoundError: No module named 'headrace"

_MISSING = "the Python of a node (PYSPARK_PYTHON) has no headrace; install it there, or send it along"


def in_one_line(error: Exception) -> str:
    """Return the last message of a failed task, or else the first line of Spark's message."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    traces = [at for at, line in enumerate(lines) if line.startswith("Traceback")]
    messages = (
        [line for line in lines[traces[-1] + 1 :] if line[0] != " "]
        if traces
        else lines
    )
    first = messages[0] if messages else type(error).__name__
    return _MISSING if first.startswith(_NOT_FOUND) else first
