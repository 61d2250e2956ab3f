"""Deterministic samples of keys, and the bounds that divide keys into equal parts."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.kernel.sort_keys import KeyedElements

BOUND_BYTES = 256
"""Length of a bound: a prefix of a key divides keys as well."""

_MOST = 200
"""The most keys in the sample of a fragment."""


class KeySample(NamedTuple):
    """Prefixes of each `every`-th key; `every` is a power of 2."""

    every: int
    keys: list[bytes]


class KeySampler:
    """Samples keys that come in batches."""

    def __init__(self) -> None:
        self._every, self._seen = 1, 0
        self._keys: list[bytes] = []

    def add(self, elements: KeyedElements) -> None:
        """Sample the keys of further elements."""
        ends, data = elements.keys.ends, elements.keys.data
        for at in range(-self._seen % self._every, elements.length, self._every):
            start, end = struct.unpack_from("<2i", ends, 4 * at)
            self._keys.append(data[start : min(end, start + BOUND_BYTES)])
        self._seen += elements.length
        while len(self._keys) > _MOST:
            self._every, self._keys = 2 * self._every, self._keys[::2]

    def sample(self) -> KeySample:
        """Return the sample so far."""
        return KeySample(self._every, self._keys)


def merged(samples: Sequence[KeySample]) -> list[bytes]:
    """Return one sample of the keys of several samples, at the same rate for all.

    >>> merged([KeySample(1, [b"a", b"b", b"c"]), KeySample(2, [b"d", b"e"])])
    [b'a', b'c', b'd', b'e']
    """
    every = max((sample.every for sample in samples), default=1)
    return [key for sample in samples for key in sample.keys[:: every // sample.every]]


def bounds(keys: Iterable[bytes], parts: int) -> list[bytes]:
    """Return bounds that divide keys like these into `parts` of about equal size, or fewer.

    The first part has the keys below the first bound, the last those from the last one on.

    >>> bounds([b"d", b"a", b"f", b"c", b"b", b"e"], 3)
    [b'c', b'e']
    """
    ordered = sorted(key[:BOUND_BYTES] for key in keys)
    cuts = {ordered[len(ordered) * part // parts] for part in range(parts) if ordered}
    # Nothing is below the least key.
    return sorted(cuts - set(ordered[:1]))
