"""The name that was probably meant by one that there is not.

The one speller of functions, sources, fields, commands and options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALIKE = 0.76
"""How alike two names must be, from 0 to 1: `lead` is not `head`, `upper` is `uper`."""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like another one, whatever its case and hyphens.

    >>> nearest("startsWith", ["split", "starts_with"]), nearest("head", ["lead"])
    ('starts_with', None)
    """
    from difflib import get_close_matches

    plain = {_plain(each): each for each in names}
    near = get_close_matches(_plain(name), plain, n=1, cutoff=_ALIKE)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
