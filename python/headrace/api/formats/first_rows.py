"""First answers: formats take the columns from them, if the query does not name them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_ROWS = 1000
"""How many answers columns are taken from, if the query does not name them."""

FIRST_BYTES = 1 << 20


class LateColumnError(HeadraceError):
    """An answer has a column that the first answers, which decide the columns, do not have."""

    ADVICE = (
        "name the columns in the query, as in {{id, name, size}}, or leave it out with "
        "omit(…)"
    )

    answer: int
    column: str
    known: tuple[str, ...]

    @property
    def what(self) -> str:
        """Which answer, and which column."""
        some = ", ".join((*self.known[:3], "…") if self.known[3:] else self.known)
        return (
            f"answer {self.answer} has a column {self.column!r}, which is not among "
            f"those of the first answers ({some})"
        )


def take(
    answers: Iterator[bytes], rows: int, size: int
) -> tuple[bytes, Iterator[bytes]]:
    r"""Return the first lines, and all others.

    How many does not depend on how many came at a time: `rows`, or fewer if they
    have `size` bytes before. If an error ends the answers, it comes behind them.

    >>> first, others = take(iter([b"1\n2\n", b"3\n"]), 1, 100)
    >>> first, list(others)
    (b'1\n', [b'2\n', b'3\n'])
    """
    lines: list[bytes] = []
    held = 0
    try:
        for piece in answers:
            start = 0
            while start < len(piece):
                end = piece.index(b"\n", start) + 1
                lines.append(piece[start:end])
                held += end - start
                start = end
                if len(lines) == rows or held >= size:
                    rest = [piece[start:]] if piece[start:] else []
                    return b"".join(lines), chain(rest, answers)
    except (HeadraceError, OSError) as error:
        if not lines:
            raise
        return b"".join(lines), _failing(error)
    return b"".join(lines), answers


def _failing(error: Exception) -> Iterator[bytes]:
    yield from ()
    raise error
