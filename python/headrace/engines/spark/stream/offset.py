"""How far a stream has come, as the JSON that Spark keeps in its checkpoint directory.

An offset has a *place* for each thing that is read: a file, a set, a log. What has no place
was not read yet. Spark compares offsets as text, so their keys have an order.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    get_type_hints,
)

from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1

Offset: TypeAlias = "dict[str, Any]"


class Place(Protocol):
    """Where a stream is in one thing: plain values with names."""

    def _asdict(self) -> dict[str, Any]: ...


class FilePlace(NamedTuple):
    """The byte behind the last line that was read; `ends` tell whether the file is the same."""

    byte: int
    ends: str


class SetPlace(NamedTuple):
    """How many parts were read, and the path of the last of them."""

    parts: int
    last: str


class LogPlace(NamedTuple):
    """The last line that was read, and which log it is of."""

    line: int
    salt: str


P = TypeVar("P", bound=Place)


def encode(kind: str, places: Mapping[str, Place]) -> Offset:
    """Return the offset of some places.

    >>> encode("logs", {"b": LogPlace(7, "0a"), "a": LogPlace(3, "1f")})
    {'version': 1, 'kind': 'logs', 'places': {'a': {'line': 3, 'salt': '1f'}, 'b': {'line': 7, 'salt': '0a'}}}
    """
    told = {name: places[name]._asdict() for name in sorted(places)}
    return {"version": VERSION, "kind": kind, "places": told}


def decode(offset: Offset, kind: str, place: type[P]) -> dict[str, P]:
    """Return the places of an offset, which must be of this kind.

    >>> decode({"version": 1, "kind": "logs", "places": {}}, "logs", LogPlace)
    {}
    """
    version, its, told = (offset.get(key) for key in ("version", "kind", "places"))
    if version != VERSION:
        raise UsageError(
            f"the offset of the stream has version {version!r}, this headrace knows "
            f"{VERSION}; go on with the headrace that wrote it, or begin anew with another "
            "checkpoint directory"
        )
    if its != kind:
        raise UsageError(
            f"the offset, of the checkpoint directory or of startingOffsets, is one of "
            f"{its}, but the path has {kind}; name the path that it is of, or begin anew "
            "with another checkpoint directory"
        )
    try:
        return {name: _place(place, each) for name, each in told.items()}  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        needed = " and ".join(get_type_hints(place))
        raise UsageError(
            f"this is no offset of a stream of {kind}, whose places have {needed}: {offset}"
        ) from None


def _place(place: type[P], told: Mapping[str, Any]) -> P:
    made = place(**told)
    types = get_type_hints(place)
    if any(type(value) is not types[name] for name, value in told.items()):
        raise TypeError
    return made
