"""One JSON array of all answers, each on one line, its text unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.api.formats import Layout


def write(answers: Iterator[bytes], _layout: Layout) -> Iterator[bytes]:
    r"""Put brackets around the answers and commas between them.

    >>> layout = None
    >>> b"".join(write(iter([b"1\n2\n", b"3\n"]), layout))
    b'[\n1,\n2,\n3\n]\n'
    >>> b"".join(write(iter([]), layout))
    b'[]\n'
    """
    before = b"[\n"
    for lines in answers:
        # Inside an answer there is no newline: it was a line.
        yield before + lines[:-1].replace(b"\n", b",\n")
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"
