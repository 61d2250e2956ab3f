"""Start nodes of a walk, from the command line and from rows on standard input.

Imported when a command runs, not when its help is shown.
"""

from argparse import Namespace
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import NamedTuple

import headrace
from headrace.errors import StrictRowError, UsageError
from headrace.kernel.values import InvalidJsonError, parse
from headrace.store.files.source import STDIN

_FIRST = 10
"""Lines without a seed that the event names."""

_LARGEST = 400
"""Largest power of ten of a node that is a number."""


class Skipped(NamedTuple):
    """A line without a node."""

    line: int
    reason: str


class Seeds:
    """The start nodes in order; lines without one are counted."""

    def __init__(self, options: Namespace) -> None:
        self._named: list[str] = options.seed or []
        self._field: str | None = options.seed_field
        self._strict: bool = options.strict
        self.skipped = 0
        self.first_skipped: list[Skipped] = []
        if not self._named and self._field is None:
            raise UsageError(
                "name the start nodes: --seed ID, or --seed-field FIELD with rows on "
                "standard input"
            )
        for seed in self._named:
            if not _is_text(seed):
                raise UsageError(f"--seed {seed!r}: the name of a node is not UTF-8")

    @property
    def live(self) -> bool:
        """Whether more may arrive on standard input."""
        return self._field is not None

    def __iter__(self) -> Iterator[str]:
        yield from self._named
        if self._field is not None:
            yield from self._of_rows(self._field)

    def _of_rows(self, field: str) -> Iterator[str]:
        with headrace.open(STDIN, raw=True) as rows:
            for line, row in enumerate(rows, 1):
                if not row.strip():
                    continue
                found = seed_of(row, field)
                if isinstance(found, str):
                    yield found
                else:
                    self._skip(found._replace(line=line))

    def _skip(self, skipped: Skipped) -> None:
        if self._strict:
            raise StrictRowError(STDIN, skipped.line, 0, skipped.reason)
        self.skipped += 1
        if len(self.first_skipped) < _FIRST:
            self.first_skipped.append(skipped)


def seed_of(row: bytes, field: str) -> str | Skipped:
    """Return the node in a field of a row, spelled as in edges; or why there is none.

    >>> seed_of(b'{"id": 1.50}', "id"), seed_of(b'{"a": {"id": "x"}}', "a.id")
    ('1.5', 'x')
    >>> seed_of(b'{"id": null}', "id").reason
    'id is no text and no number'
    """
    try:
        found = _at(parse(row), field)
    except InvalidJsonError as error:
        return Skipped(0, str(error))
    match found:
        case bool():
            return "true" if found else "false"
        case str() if _is_text(found):
            return found
        case int() | float() | Decimal():
            return _digits(found)
        case _:
            return Skipped(0, f"{field} is no text and no number")


def _at(value: object, field: str) -> object:
    """Return a field of a value; if it has none of that name, a.b is the field b of a."""
    if isinstance(value, dict) and field in value:
        return value[field]
    for name in field.split("."):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


def _digits(number: float | Decimal) -> str | Skipped:
    """Return the text of a number as a node."""
    if isinstance(number, int):
        return str(number)
    exact = Decimal(repr(number)) if isinstance(number, float) else number
    if abs(exact.adjusted()) > _LARGEST:
        return Skipped(0, "a number that is too large or too small")
    digits = Context(prec=len(exact.as_tuple().digits)).normalize(exact)
    return f"{digits:f}" if digits else "0"


def _is_text(seed: str) -> bool:
    try:
        seed.encode()
    except UnicodeEncodeError:
        return False
    return True
