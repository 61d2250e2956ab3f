"""A compressed segment that is damaged, made plain as far as it can be decoded."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.kernel.rows import END, Decoded, Decoding, reading
from headrace.store.atomic import temporary_name
from headrace.store.log import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.store.log.names import LogNames

_PIECE = 1 << 20


def unpack(names: LogNames, base: int, codec: str) -> Path:
    """Put what can be decoded into a plain file, durably, and the rest aside as it is.

    A crash in between leaves both files, and all is done again.
    """
    packed, plain = names.packed(base, codec), names.data(base)
    temporary = temporary_name(plain)
    descriptor = files.system.create(temporary)
    try:
        end = 0
        for piece in _decodable(packed, codec):
            files.write_at(descriptor, piece, end)
            end += len(piece)
        files.system.sync(descriptor)
    finally:
        os.close(descriptor)
    files.system.rename(temporary, plain)
    files.system.sync_directory(names.directory)
    if not names.quarantine.exists():
        files.system.make_directory(names.quarantine)
        files.system.sync_directory(names.directory)
    files.system.rename(packed, _free(names.quarantine / f"{packed.name}@0"))
    files.system.sync_directory(names.quarantine)
    files.system.sync_directory(names.directory)
    return plain


def _decodable(path: Path, codec: str) -> Iterator[bytes]:
    with reading(str(path)):
        file = files.open_file(path)
        size = file.stat()[0]
    decoding = Decoding(1, END, END)
    try:
        with reading(str(path)):
            stream = Decoded(file, codec, size=size, decoding=decoding)
            while piece := stream.read(_PIECE):
                yield piece
    except HeadraceError:
        return  # the lines before it are what can be had


def _free(path: Path) -> Path:
    names = (path if n == 1 else path.with_name(f"{path.name}-{n}") for n in count(1))
    return next(name for name in names if not name.exists())
