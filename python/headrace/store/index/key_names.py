"""File names of key indexes: one source may have several.

The first index of ``DATA`` is ``DATA.jnx``; those of other keys are ``DATA.jnx.KEY``. Characters
of a field name that have a meaning in a path, or in these names, are escaped as in URLs.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SUFFIX = ".jnx"

_RESERVED = frozenset({"graph", "delta", "tmp", "lock"})
_LONGEST = 100
_MEANS_SOMETHING = re.compile(r"[%+/.~\x00-\x1f\x7f]")


def suffix_of(fields: Sequence[str]) -> str:
    """Return the suffix of the index of a key if ``.jnx`` is taken.

    >>> suffix_of(["customer_id"]), suffix_of(["a.b", "c+d"]), suffix_of(["graph"])
    ('.jnx.customer_id', '.jnx.a%2Eb+c%2Bd', '.jnx.%67raph')
    """
    text = "+".join(_MEANS_SOMETHING.sub(_escaped, field) for field in fields)
    if text in _RESERVED or not text:
        text = f"%{ord(text[0]):02X}{text[1:]}" if text else "%"
    if len(text.encode()) > _LONGEST:
        # A file name has at most 255 bytes, and the name of the data comes first.
        text = "~" + hashlib.sha256(text.encode()).hexdigest()[:32]
    return f"{SUFFIX}.{text}"


def is_index_name(name: str) -> bool:
    """Whether the text after ``DATA.jnx.`` is the name of a key.

    >>> [is_index_name(name) for name in ("id", "a+b", "delta", "id.delta", "lock")]
    [True, True, False, False, False]
    """
    return name not in _RESERVED and "." not in name


def delta_of(path: Path) -> Path:
    """Return the path of the delta of an index."""
    return path.with_name(f"{path.name}.delta")


def lock_of(path: Path) -> Path:
    """Return the path of the lock of an index, which its writer holds."""
    return path.with_name(f"{path.name}.lock")


def _escaped(found: re.Match[str]) -> str:
    special = {".": "%2E", "~": "%7E"}
    return special.get(found[0]) or quote(found[0], safe="")
