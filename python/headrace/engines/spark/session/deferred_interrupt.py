"""Interrupts that wait.

PySpark that is interrupted while it starts Java leaves a Java behind that waits for
nobody, for ever; later, it does not stand being interrupted between two of its calls.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# Windows has only some of them.
_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]


@contextmanager
def put_off() -> Iterator[None]:
    """Let Ctrl-C and the like take effect behind the block.

    A handler that was set in the block stays. Signals that are ignored, or end the
    process as if it had no Python, are not ours.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals do not come here
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = {
        number: signal.signal(number, note)
        for number in _SIGNALS
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is note:
                signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
