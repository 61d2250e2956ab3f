"""Arrow columns of elements with keys, which the core returns as buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from headrace.kernel.programs import Texts
    from headrace.kernel.sort_keys import KeyedElements


def keyed_columns(task: int, before: int, keyed: KeyedElements) -> dict[str, pa.Array]:
    """Return the columns of a keyed frame; `before` elements of the task came earlier."""
    length = keyed.length
    return {
        "task": pa.repeat(pa.scalar(task, "int64"), length),
        "number": pa.array(range(before, before + length), "int64"),
        "key": texts(keyed.keys, length),
        "line": texts(keyed.lines, length),
    }


def integers(buffer: bytes, count: int) -> pa.Array:
    """Return 32-bit integers of the core as an Arrow array."""
    return pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(buffer)])


def texts(texts: Texts, count: int) -> pa.Array:
    """Return texts of the core as an Arrow array."""
    buffers = [None, pa.py_buffer(texts.ends), pa.py_buffer(texts.data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)
