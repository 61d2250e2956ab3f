"""Units: durations, sizes and ratios as short text, and sizes from the command line."""

from __future__ import annotations


def size(text: str) -> int:
    """Read a size in bytes, for argparse.

    >>> size("20MB")
    20000000
    """
    from argparse import ArgumentTypeError

    from headrace.errors import UsageError
    from headrace.store.files.units import parse_size

    try:
        return parse_size(text)
    except UsageError as error:
        raise ArgumentTypeError(str(error)) from error


def seconds_text(value: float) -> str:
    """Write a duration with three digits.

    >>> [seconds_text(x) for x in (12.345, 0.0123, 0.0000456)]
    ['12.3 s', '12.3 ms', '45.6 us']
    """
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if abs(value) * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def bytes_text(value: float) -> str:
    """Write an amount of bytes in decimal units, as MB/s is.

    >>> [bytes_text(x) for x in (999, 12_345, 1_000_000_000)]
    ['999 B', '12.3 kB', '1 GB']
    """
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def threads_text(count: int) -> str:
    """Write a number of threads.

    >>> [threads_text(n) for n in (1, 2)]
    ['1 thread', '2 threads']
    """
    return f"{count} thread{'' if count == 1 else 's'}"


def ratio_text(value: float | None) -> str:
    """Write a ratio, or a dash where there is none.

    >>> [ratio_text(x) for x in (None, 0.0123, 98.7, 1234.5)]
    ['-', '0.0123x', '98.7x', '1,234x']
    """
    if value is None:
        return "-"
    return f"{value:.3g}x" if value < 100 else f"{value:,.0f}x"
