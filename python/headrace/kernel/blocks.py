"""Files of blocks: writing them, and what each codec lets one choose.

A *block* is a run of whole lines that is compressed by itself. `Packer` cuts lines
into blocks and blocks into *shards*, and gives the bytes of the files; it opens none.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, TypeAlias

from headrace._native import LineRefusal, Packer, RowRefusal, Shard, codec_table

__all__ = [
    "Choice",
    "Codec",
    "LineRefusal",
    "Packer",
    "Piece",
    "RowRefusal",
    "Shard",
    "codecs",
    "suffixes",
]

Piece: TypeAlias = tuple[bytes, Shard | None]
"""Bytes to append to the current file, and the shard that ends behind them.

The next piece begins another file.
"""


class Choice(NamedTuple):
    """A setting of a codec besides the level, from 0 to `most`."""

    name: str
    default: int
    most: int


class Codec(NamedTuple):
    """A codec that has blocks; names of its files end in `suffix`."""

    name: str
    suffix: str
    least_level: int
    default_level: int
    most_level: int
    choices: tuple[Choice, ...]


@cache
def codecs() -> dict[str, Codec]:
    """Return the codecs that files of blocks can be written with, by name."""
    return {
        name: Codec(name, suffix, *levels, tuple(Choice(*each) for each in choices))
        for name, suffix, levels, choices in codec_table()
        if levels is not None
    }


@cache
def suffixes() -> dict[str, str]:
    """Return what the names of files end in, by the codec, also of those without blocks.

    >>> suffixes()["bzip2"]
    '.bz2'
    """
    return {name: suffix for name, suffix, _levels, _choices in codec_table() if suffix}
