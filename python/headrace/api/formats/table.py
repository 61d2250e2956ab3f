"""Aligned columns for a terminal.

The columns are those of the first answers, and as wide as they need; a later value that
is longer makes its column wider. A value of more than `WIDEST` characters, or one that
has no room on the terminal, is cut, with ``…`` at its end; columns that do not fit on
the terminal are left out. Notes list the omissions. An empty cell is
null, ``""`` an empty string.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from headrace.api.formats import Layout
from headrace.api.formats.first_rows import FIRST_BYTES, FIRST_ROWS, take
from headrace.api.formats.printable import printable
from headrace.kernel.cells import VALUE, cells, new_columns

WIDEST = 40
"""Characters of a value that are shown at most."""

BETWEEN = "  "

_MOST_NAMED = 10
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def table(answers: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Write a header, a line under it, and a line for each answer."""
    first, others = take(answers, FIRST_ROWS, FIRST_BYTES)
    if not first:
        return
    names = list(layout.columns or new_columns(first)) or [VALUE]
    rows, _strangers = cells(first, names)
    table = _Table(names, rows, layout.width)
    yield table.head()
    for lines in chain([first], others):
        yield table.body(lines)
    for change in table.notes():
        layout.note(change)


@dataclass(slots=True)
class _Column:
    name: str
    width: int
    right: bool


@dataclass(slots=True)
class _Table:
    """The columns that are shown, and the omissions so far."""

    names: list[str]
    rows: Sequence[Sequence[str | None]]
    width: int | None
    columns: list[_Column] = field(default_factory=list)
    room: int | None = None
    cut: int = 0
    strangers: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What stands between columns stands before the first as well, in no column.
        self.room = None if self.width is None else self.width + len(BETWEEN)
        for name, *texts in zip(self.names, *self.rows, strict=True):
            column = _column(name, texts)
            if self.room is not None:
                free = self.room - len(BETWEEN)
                if self.columns and column.width > free:
                    break
                column.width = min(column.width, free)
                self.room -= len(BETWEEN) + column.width
            self.columns.append(column)
        self.rows = ()

    def head(self) -> bytes:
        names = self._line([_shown(column.name) for column in self.columns])
        return names + self._line(["-" * column.width for column in self.columns])

    def body(self, lines: bytes) -> bytes:
        rows, strangers = cells(lines, self.names)
        for _position, name in strangers:
            if len(self.strangers) <= _MOST_NAMED:
                self.strangers[name] = None
        return b"".join(self._line([_shown(text) for text in row]) for row in rows)

    def _line(self, texts: Sequence[str]) -> bytes:
        # The columns left out are the last ones.
        fitted = [
            self._fit(text, column)
            for text, column in zip(texts, self.columns, strict=False)
        ]
        return f"{BETWEEN.join(fitted).rstrip()}\n".encode()

    def _fit(self, text: str, column: _Column) -> str:
        wanted = columns_of(text)
        if wanted > column.width:
            self._widen(column, min(wanted, WIDEST))
        if wanted > column.width:
            self.cut += 1
            text = _cut(text, column.width)
            wanted = columns_of(text)
        free = column.width - wanted
        return " " * free + text if column.right else text + " " * free

    def _widen(self, column: _Column, width: int) -> None:
        more = width - column.width
        if self.room is not None:
            more = min(more, self.room)
            self.room -= more
        column.width += more

    def notes(self) -> Iterator[str]:
        if self.cut:
            yield f"{self.cut} values are longer than shown"
        if left_out := self.names[len(self.columns) :]:
            yield f"not shown, for want of room: {_listed(left_out)}"
        if self.strangers:
            yield (
                f"not shown, because the first {FIRST_ROWS} answers do not have them: "
                f"{_listed(list(self.strangers))}"
            )


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns_of("abc"), columns_of("恵美"), columns_of("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _column(name: str, texts: Sequence[str | None]) -> _Column:
    shown = [_shown(text) for text in texts if text is not None]
    width = max(map(columns_of, [_shown(name), *shown]))
    right = bool(shown) and all(map(_NUMBER.fullmatch, shown))
    return _Column(name, min(width, WIDEST), right)


def _shown(text: str | None) -> str:
    if text is None:
        return ""
    return printable(text) or '""'


def _cut(text: str, width: int) -> str:
    kept = ""
    free = width - 1
    for character in text:
        free -= _columns_of(character)
        if free < 0:
            break
        kept += character
    return f"{kept}…"


def _listed(names: Sequence[str]) -> str:
    named = ", ".join(map(printable, names[:_MOST_NAMED]))
    return f"{named}, …" if len(names) > _MOST_NAMED else named
