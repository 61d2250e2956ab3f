"""Commit of a generation in an object store.

A job lists the generations, and creates the metadata of the next one. If that exists by then,
another job was faster: the commit is repeated on top of its generation. Protocol:
docs/formats/shards.md.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.errors import (
    HeadraceError,
    SetLockedError,
    UncertainCommitError,
    UnwritableError,
)
from headrace.store.files.checked_json import is_whole
from headrace.store.files.object_store import NOTHING
from headrace.store.shards.metadata import LONGEST, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.store.shards.metadata import Metadata, Part
    from headrace.store.shards.remote_set import RemoteSet

DAY = 86_400.0

ORPHAN_AGE = 7 * DAY
"""Seconds after which a file that no generation names is assumed to belong to a dead job."""

_UNCERTAIN = (
    "it is unknown whether the set has the rows of this job; check it, or run the job again "
    "if it has an id (jobId)"
)

_PAUSES = (0.0, 1.0, 3.0)
"""Seconds before each attempt to send metadata to a store that does not answer.

Repeating is safe: at most one attempt creates it.
"""

_QUICK = 300.0
"""Seconds within which metadata must be created after listing the generations.

The name of a superseded generation can be used again, but not before a day has passed.
"""


class RemoteGeneration:
    """The next generation of a set, of parts that were uploaded after the time `since`."""

    def __init__(self, names: RemoteSet, since: float, least: int) -> None:
        self._names = names
        self._since = since
        self._begun = time.monotonic()
        # The metadata of a set only names parts of its own and lower generations.
        self.number = max(*names.committed()[:1], 0, least - 1) + 1

    def take(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts; raises if one is missing or has another size."""
        if time.time() - self._since > ORPHAN_AGE - DAY:
            reason = (
                "its job began six days ago, and vacuum may remove what it uploaded"
            )
            raise UnwritableError(self._names.text, reason, NOTHING)
        store = self._names.store
        directories = {part.path.partition("/")[0] for part in parts}
        there = {
            name: size
            for each in directories
            for name, size in store.sizes(each).items()
        }
        for part in parts:
            if there.get(part.path) != part.bytes:
                found = there.get(part.path, "nothing")
                reason = f"its task wrote {part.bytes} bytes, but {found} is there"
                raise UnwritableError(store.at(part.path), reason, NOTHING)
        return list(parts)

    def commit(self, metadata: Metadata) -> None:
        """Commit the generation; raises if another job has committed one of this number."""
        if time.monotonic() - self._begun > _QUICK:
            raise SetLockedError(self._names.text, "another process")
        content = encode(metadata)
        failed: HeadraceError | None = None
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                if self._names.store.create(self._names.meta(self.number), content):
                    return
            except UnwritableError as error:
                refused = isinstance(
                    error.__cause__, (PermissionError, FileNotFoundError)
                )
                if refused and failed is None:
                    raise
                failed = error
            else:
                break
        self._settle(content, failed)

    def _settle(self, content: bytes, failed: HeadraceError | None) -> None:
        """Find out whether metadata was created, after the store did not confirm it.

        It may have been created while the response was lost, and refused when it was sent again.
        """
        store, file = self._names.store, self._names.meta(self.number)
        there: bytes | None = None
        try:
            there = store.content(file, LONGEST + 1)
        except HeadraceError as error:
            failed = failed or error
        if there == content:
            return
        if there is not None and is_whole(there):
            holder = f"another process, which has committed generation {self.number},"
            raise SetLockedError(self._names.text, holder)
        reason = "the store gave no answer" if failed is None else str(failed)
        raise UncertainCommitError(store.at(file), reason, _UNCERTAIN) from failed

    def discard(self) -> None:
        """Do nothing: there is no lock, and the job removes its parts."""
