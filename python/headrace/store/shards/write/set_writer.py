"""Set writer: records go to the parts of a set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.store.files.source import is_url
from headrace.store.shards.job.commit import Generation
from headrace.store.shards.metadata import Metadata, numbered
from headrace.store.shards.names import check_name
from headrace.store.shards.options import run_facts
from headrace.store.shards.vacuum.local import GRACE, seconds_of_grace
from headrace.store.shards.write.parts_writer import PartsWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.write.partitions import Keys
    from headrace.store.shards.write.record_writer import OnError


class SetWriter(PartsWriter[Metadata]):
    """Writes records to files that obey their limits, and commits them as one set.

    With `keys`, records go to a directory for each value of a key; `headrace.ShardWriter` makes
    the keys from a path.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        name: str,
        options: PackOptions,
        *,
        on_error: OnError = "abort",
        run: Mapping[str, object] | None = None,
        keys: Keys | None = None,
        allow_empty: bool = False,
        grace: float = GRACE,
    ) -> None:
        if is_url(os.fspath(directory)):
            raise UsageError(
                f"{os.fspath(directory)}: is a URL; write to a directory, and copy the set with "
                "`headrace shard publish`"
            )
        target = str(Path(directory) / check_name(name))
        super().__init__(target, options.limits, on_error)
        self._options = options
        self._run = run_facts(run)
        self._allow_empty = allow_empty
        seconds_of_grace(grace)
        self._generation = Generation(directory, name, grace)
        self._write_to(self._generation, self._options, keys)

    @property
    def metadata_path(self) -> Path:
        """The file that commits the set when the writer is closed."""
        return self._generation.names.meta(self._generation.number)

    def _commit(self) -> Metadata:
        self._files.finish()
        metadata = Metadata(
            self._generation.names.name,
            self._generation.number,
            self._options.compression,
            self._limits,
            tuple(numbered(self._files.parts)),
            self._run,
        )
        if not (metadata.total_records or self._allow_empty):
            self._generation.refuse_emptying()
        self._generation.commit(metadata)
        return metadata

    def _discard(self) -> None:
        self._files.close()
        self._generation.discard()
