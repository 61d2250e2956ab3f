"""Set writer: records go to the parts of a set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headrace.errors import UsageError
from headrace.store.files.source import is_url
from headrace.store.shards.job.commit import Generation
from headrace.store.shards.metadata import Metadata, numbered
from headrace.store.shards.names import check_name
from headrace.store.shards.options import run_facts
from headrace.store.shards.vacuum.local import GRACE, seconds_of_grace
from headrace.store.shards.write.hive_partitions import part_files
from headrace.store.shards.write.record_writer import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.kernel.blocks import LineRefusal, RowRefusal
    from headrace.kernel.rows import RowBatch
    from headrace.store.shards.job.directory import Attempt
    from headrace.store.shards.job.object_store import RemoteAttempt
    from headrace.store.shards.metadata import Part
    from headrace.store.shards.options import PackOptions
    from headrace.store.shards.write.hive_partitions import Keys, PartitionedFiles
    from headrace.store.shards.write.parts import PartFiles
    from headrace.store.shards.write.record_writer import OnError

T = TypeVar("T")


class PartsWriter(RecordWriter[T]):
    """Writes records to the parts of a generation or an attempt."""

    _packing: PartFiles | PartitionedFiles

    @property
    def bytes_written(self) -> int:
        """The bytes of the parts so far, after compression."""
        return self._packing.bytes_written

    def _add(self, data: bytes, start: int) -> LineRefusal | None:
        return self._packing.add(data, start)

    def _add_rows(self, rows: RowBatch, start: int) -> RowRefusal | None:
        return self._packing.add_rows(rows, start)


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
        self._packing = part_files(self._generation, options, keys)

    @property
    def metadata_path(self) -> Path:
        """The file that commits the set when the writer is closed."""
        return self._generation.names.meta(self._generation.number)

    def _commit(self) -> Metadata:
        self._packing.finish()
        metadata = Metadata(
            self._generation.names.name,
            self._generation.number,
            self._options.compression,
            self._limits,
            tuple(numbered(self._packing.parts)),
            self._run,
        )
        if not (metadata.total_records or self._allow_empty):
            self._generation.refuse_emptying()
        self._generation.commit(metadata)
        return metadata

    def _discard(self) -> None:
        self._packing.close()
        self._generation.discard()


class AttemptWriter(PartsWriter["tuple[Part, ...]"]):
    """Writes the records of one attempt at a task; `close` returns the staged parts."""

    def __init__(
        self,
        attempt: Attempt | RemoteAttempt,
        target: str,
        options: PackOptions,
        keys: Keys | None,
    ) -> None:
        super().__init__(target, options.limits, "abort")
        self._attempt = attempt
        self._packing = part_files(attempt, options, keys)

    def _commit(self) -> tuple[Part, ...]:
        self._packing.finish()
        self._attempt.close()
        return tuple(self._packing.parts)

    def _discard(self) -> None:
        self._packing.close()
        self._attempt.discard()
