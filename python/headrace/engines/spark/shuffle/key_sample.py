"""Some of many keys, always the same ones, and what divides all of them into equal parts."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.kernel.sort_keys import KeyedElements

BOUND_BYTES = 256
"""So much of a key is enough to divide by: a bound need not be a key."""

_MOST = 200
"""How many keys of a fragment are sampled at most."""


class KeySample(NamedTuple):
    """The beginnings of some keys: of `every` so many the first. `every` is a power of 2."""

    every: int
    keys: list[bytes]


class Sampling:
    """Takes a sample of keys that come one after the other."""

    def __init__(self) -> None:
        self._every, self._seen = 1, 0
        self._keys: list[bytes] = []

    def add(self, elements: KeyedElements) -> None:
        """Look at the keys of further elements."""
        ends, data = elements.keys
        for at in range(-self._seen % self._every, elements.length, self._every):
            start, end = struct.unpack_from("<2i", ends, 4 * at)
            self._keys.append(data[start : min(end, start + BOUND_BYTES)])
        self._seen += elements.length
        while len(self._keys) > _MOST:
            self._every, self._keys = 2 * self._every, self._keys[::2]

    def taken(self) -> KeySample:
        """Return the sample so far."""
        return KeySample(self._every, self._keys)


def merged(samples: Sequence[KeySample]) -> list[bytes]:
    """Return a sample of all keys that several samples are of, each key for as many.

    >>> merged([KeySample(1, [b"a", b"b", b"c"]), KeySample(2, [b"d", b"e"])])
    [b'a', b'c', b'd', b'e']
    """
    every = max((sample.every for sample in samples), default=1)
    return [key for sample in samples for key in sample.keys[:: every // sample.every]]


def bounds(keys: Iterable[bytes], parts: int) -> list[bytes]:
    """Return what divides keys like these into `parts` of about equal size, or fewer.

    The first part has the keys below the first bound, the last those from the last one on.

    >>> bounds([b"d", b"a", b"f", b"c", b"b", b"e"], 3)
    [b'c', b'e']
    """
    ordered = sorted(key[:BOUND_BYTES] for key in keys)
    cuts = {ordered[len(ordered) * part // parts] for part in range(parts) if ordered}
    # Nothing is below the least key.
    return sorted(cuts - set(ordered[:1]))
