"""The demand of a query on a source of rows, and the capabilities of a source.

The engine derives the demand from the query: the fields that it reads, and the keys that rows must
have. A source says what it can do, and what its key indexes would find. `headrace.physical.access`
decides how rows are reached.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

from headrace.record import record


@record
class Capabilities:
    """What a source of rows can do beyond returning them in order.

    `reverse`: it can begin with the last row. `tail`: it reads no other rows for
    that. `positions`: it knows the line and byte of a row. `lanes`: it saves work by leaving
    out fields that the query does not read.
    """

    reverse: bool = False
    tail: bool = False
    positions: bool = False
    lanes: bool = False


@record
class Lanes:
    """The fields of a row that a query reads: to select rows, and for its answer.

    None means all of them. `selective`: some rows may have no part in the answer.
    """

    scan: frozenset[str] | None = None
    result: frozenset[str] | None = None
    selective: bool = False

    @property
    def fields(self) -> frozenset[str] | None:
        """All fields that are read, for either reason."""
        if self.scan is None or self.result is None:
            return None
        return self.scan | self.result


KeyValue: TypeAlias = "str | int | float | bool"


@record
class KeyFilter:
    """Key filter: for each field, the values of which a row must have one to match."""

    fields: tuple[tuple[str, tuple[KeyValue, ...]], ...]

    most: ClassVar[int] = 1024
    """Limit on the keys that are looked up for one filter."""

    @property
    def names(self) -> tuple[str, ...]:
        """The fields."""
        return tuple(name for name, _values in self.fields)

    def keys(self, names: Sequence[str]) -> Iterator[tuple[KeyValue, ...]]:
        """Yield the keys that a row may have in some of the fields."""
        values = dict(self.fields)
        return product(*(values[name] for name in names))


@record
class KeySet:
    """Key set: a row matches if its values in the fields are together one of the keys."""

    names: tuple[str, ...]
    values: tuple[tuple[KeyValue, ...], ...]

    most: ClassVar[int] = 1 << 18
    """Limit on the keys that are worth looking up."""

    def keys(self, names: Sequence[str]) -> Iterator[tuple[KeyValue, ...]]:
        """Yield the keys that a row may have in some of the fields."""
        places = [self.names.index(name) for name in names]
        return (tuple(key[place] for place in places) for key in self.values)


Keys: TypeAlias = KeyFilter | KeySet


@record
class IndexEstimate:
    """The rows of a file that a key index leads to, before any of them is read.

    `found` is None if they are more than the policy allows. `keys` is the number of keys in
    the index, if it is known. `refusal` says why the index cannot be used.
    """

    path: str
    key: tuple[str, ...] = ()
    keys: int | None = None
    found: int | None = None
    rows: int = 0
    refusal: str = ""


class IndexChoice(NamedTuple):
    """The number of the estimate whose index is used, None for a scan, and the reason."""

    number: int | None
    reason: str


class IndexPolicy(Protocol):
    """Decides whether a key index is used: `headrace.physical.access`."""

    def most_rows(self, rows: int) -> int:
        """Return how many rows an index may lead to, of all `rows`."""
        ...

    def choose_index(self, estimates: Sequence[IndexEstimate]) -> IndexChoice:
        """Choose one of several indexes, or a scan."""
        ...


class NoKeyRows(NamedTuple):
    """All rows of a file are read, and why."""

    reason: str
