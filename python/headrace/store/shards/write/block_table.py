"""The block table beside a file that was just written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.kernel.rows import File, reading
from headrace.store.files.atomic import NewFile
from headrace.store.rows.checkpoints import SUFFIX

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.kernel.blocks import Shard


def write_block_table(path: Path, shard: Shard) -> None:
    """Write the sidecar of the finished file at `path`."""
    new = NewFile(path.with_name(path.name + SUFFIX), like=path)
    try:
        with reading(str(path)):
            content = shard.checkpoints(File(path))
        new.append(content)
        new.finish()
    finally:
        new.discard()
