"""Sparing the collector of a task's process what it would look at in vain.

Spark's Python workers live on from task to task, and collect garbage after each one. With
pandas and Arrow loaded that takes some twenty milliseconds, which is a tenth of what a task
of ours takes.
"""

from __future__ import annotations

import gc
from itertools import count

_tasks = count(1)


def settle() -> None:
    """Be told that a task begins; what the first one has loaded stays for good."""
    if next(_tasks) == 2:
        gc.freeze()
