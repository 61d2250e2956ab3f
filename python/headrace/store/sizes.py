"""Sizes as people write them."""

from __future__ import annotations

import re

from headrace.errors import UsageError

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip

_MOST = 2**60
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(size: int | str) -> int:
    """Return a size in bytes.

    >>> parse_size("64KiB"), parse_size("1.5GB"), parse_size(2048)
    (65536, 1500000000, 2048)
    """
    if isinstance(size, int):
        if size < 0:
            raise UsageError(f"a size cannot be negative: {size}")
        return _possible(size)
    match = _SIZE.fullmatch(size)
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise UsageError(f"not a size: {size!r}; write 2048, 64KiB, 64MiB or 1GB")
    exact = int(float(match[1]) * unit) if "." in match[1] else int(match[1]) * unit
    return _possible(exact)


def _possible(size: int) -> int:
    if size >= _MOST:
        raise UsageError(f"{size} bytes are more than there can be; at most 1000000TiB")
    return size


def format_size(size: float) -> str:
    """Return a size for people.

    >>> format_size(65536), format_size(1_500_000_000), format_size(12)
    ('64 KiB', '1.4 GiB', '12 B')
    """
    units = ["TiB", "GiB", "MiB", "KiB", "B"]
    while size >= 1024 and len(units) > 1:
        units.pop()
        size /= 1024
    unit = units[-1]
    return (
        f"{size:.0f} {unit}"
        if unit == "B" or size >= 10
        else f"{size:.1f} {unit}".replace(".0 ", " ")
    )
