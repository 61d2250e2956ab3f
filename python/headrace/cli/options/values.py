"""Parsed values of flags, as the API takes them."""

from datetime import timedelta


def age_of(milliseconds: int | None) -> timedelta | None:
    """Return a duration as a `timedelta`."""
    from datetime import timedelta

    return None if milliseconds is None else timedelta(milliseconds=milliseconds)


def threads_of(given: int | None) -> int:
    """Return the number of threads [default: one for each core]."""
    import os

    return (os.cpu_count() or 1) if given is None else given
