"""One generation in the making in an object store: created, or taken by somebody else.

Who commits lists which generations there are, and creates the metadata of the next one. If
it is there by then, somebody else was faster: the whole of it is done again, with what that
one has made. Protocol: docs/formats/shards.md.
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
"""Seconds after which a file that no generation names is taken for that of a dead job."""

_UNCERTAIN = (
    "nobody knows whether the set has the rows of this job; look at it, or run the job again "
    "if it has an id (jobId)"
)

_PAUSES = (0.0, 1.0, 3.0)
"""Seconds before each time that metadata is sent to a store that does not answer.

That is safe: of all these, one at most is created.
"""

_QUICK = 300.0
"""Seconds in which metadata must be created once it is known which there are.

The name of a generation that was superseded can be had again, but not sooner than after a day.
"""


class RemoteGeneration:
    """The next generation of a set, of parts that were uploaded `since` then."""

    def __init__(self, names: RemoteSet, since: float, least: int) -> None:
        self._names = names
        self._since = since
        self._begun = time.monotonic()
        # The parts of a set are those of generations that are not higher than its own.
        self.number = max(*names.committed()[:1], 0, least - 1) + 1

    def take(self, parts: Sequence[Part]) -> list[Part]:
        """Return parts, each found to be there, and as long as it should be."""
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
        """Let readers see it, unless somebody has committed another of its number."""
        if time.monotonic() - self._begun > _QUICK:
            raise SetLockedError(self._names.text, "somebody")
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
        """Find out what became of metadata that the store did not say it has created.

        It may have been created when the answer was lost, and refused when it was sent again.
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
        """Do nothing: there is no lock, and parts are the business of their job."""
