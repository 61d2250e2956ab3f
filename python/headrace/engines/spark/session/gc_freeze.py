"""Sparing the collector of Spark's processes what it would look at in vain.

Spark's Python workers live on from task to task, and those that begin and commit the batches
of a stream from batch to batch; they collect garbage after each one. With pandas and Arrow
loaded that takes some twenty milliseconds, which is a tenth of what a task of ours takes.
"""

from __future__ import annotations

import gc
from itertools import count

_begun = count(1)


def settle() -> None:
    """Be told that a task or batch begins; what the first one has loaded stays for good."""
    if next(_begun) == 2:
        gc.freeze()
