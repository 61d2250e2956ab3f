"""Deferred interrupts: signals that take effect after a block of code.

If PySpark is interrupted while it starts Java, it leaves a Java process behind that never
ends; after the start, PySpark fails if it is interrupted between two of its calls.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

# Windows has only some of these signals.
_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP until the block ends.

    A handler that was set in the block stays. A signal without a handler in Python, which
    is ignored or ends the process, is not delayed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python runs signal handlers in the main thread only
        return
    received: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)

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
        for number in received:
            signal.raise_signal(number)
