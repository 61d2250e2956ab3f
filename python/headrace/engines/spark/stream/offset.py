"""Stream offset: the JSON that Spark keeps in its checkpoint directory.

An offset has the position in each file, set or log that was read. A source without a
position was not read yet. Spark compares offsets as text, so their keys are sorted.
"""

from collections.abc import Mapping
from typing import (
    Any,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    get_type_hints,
)

from headrace.errors import UsageError

VERSION = 1

Offset: TypeAlias = "dict[str, Any]"


class Place(Protocol):
    """The position of a stream in one file, set or log: a named tuple of plain values."""

    def _asdict(self) -> dict[str, Any]: ...


class FilePlace(NamedTuple):
    """The byte after the last line that was read; `ends` is a fingerprint of the bytes before."""

    byte: int
    ends: str


class SetPlace(NamedTuple):
    """The number of parts that were read, and the path of the last one."""

    parts: int
    last: str


class LogPlace(NamedTuple):
    """The last line that was read, and the salt of its log."""

    line: int
    salt: str


P = TypeVar("P", bound=Place)


def encode(kind: str, places: Mapping[str, Place]) -> Offset:
    """Return the offset with these positions.

    >>> encode("logs", {"b": LogPlace(7, "0a"), "a": LogPlace(3, "1f")})
    {'version': 1, 'kind': 'logs', 'places': {'a': {'line': 3, 'salt': '1f'}, 'b': {'line': 7, 'salt': '0a'}}}
    """
    values = {name: places[name]._asdict() for name in sorted(places)}
    return {"version": VERSION, "kind": kind, "places": values}


def decode(offset: Offset, kind: str, place: type[P]) -> dict[str, P]:
    """Return the positions of an offset; refuse an offset of another kind.

    >>> decode({"version": 1, "kind": "logs", "places": {}}, "logs", LogPlace)
    {}
    """
    version, found, places = (offset.get(key) for key in ("version", "kind", "places"))
    if version != VERSION:
        raise UsageError(
            f"the offset of the stream has version {version!r}, this headrace reads "
            f"{VERSION}; continue with the headrace that wrote it, or start again with another "
            "checkpoint directory"
        )
    if found != kind:
        raise UsageError(
            f"the offset in the checkpoint directory or in startingOffsets is of "
            f"{found}, but the path has {kind}; use the path of the offset, or start again "
            "with another checkpoint directory"
        )
    try:
        return {name: _place(place, each) for name, each in places.items()}  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        needed = " and ".join(get_type_hints(place))
        raise UsageError(
            f"not an offset of a stream of {kind}, whose places have {needed}: {offset}"
        ) from None


def _place(place: type[P], values: Mapping[str, Any]) -> P:
    made = place(**values)
    types = get_type_hints(place)
    if any(type(value) is not types[name] for name, value in values.items()):
        raise TypeError
    return made
