"""Ending: whoever ends a command that writes finds what was there before it."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Let whoever ends us from outside find no half-written file, as with Ctrl-C."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    ends = [signal.SIGTERM, signal.SIGHUP]
    before = [signal.signal(number, end) for number in ends]
    try:
        yield
    finally:
        for number, handler in zip(ends, before, strict=True):
            signal.signal(number, handler)
