"""JSON text as Python values.

Integers are exact, a decimal that no finite double can hold is a `Decimal`, of
equal keys the last one wins. This is the one JSON parser of headrace.
"""

from __future__ import annotations

from headrace import _native
from headrace.errors import HeadraceError

MAX_DEPTH = 256
"""The deepest nesting of a value, if the caller gives no limit."""

DEEPEST = 1000
"""The largest limit of nesting."""


class InvalidJsonError(HeadraceError, ValueError):
    """A text is not one JSON value."""

    WHAT = "byte {offset}: {reason}"

    offset: int
    reason: str


def parse(text: bytes, max_depth: int = MAX_DEPTH) -> object:
    """Return the value of `text`, None if it is blank.

    >>> parse(b'{"id": 12345678901234567890, "id": 1}')
    {'id': 1}
    >>> parse(b"[1e400, 1.50]")
    [Decimal('1E+400'), 1.5]
    """
    try:
        return _native.parse(text, max_depth)
    except _native.KernelError as error:
        _kind, offset, reason = error.args
        raise InvalidJsonError(offset, reason) from None
