"""Reading a log under a name, from where it was left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.store.closing import Closing
from headrace.store.log.follow import POLL, again_and_again

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.store.log.consuming import Consuming
    from headrace.store.log.reader import Block

R = TypeVar("R")


class Consumer(Closing, Generic[R]):
    """The records of a log that this consumer is not done with.

    Whoever asks for the next record is done with the one before. The checkpoint moves
    behind records that are done, never further; so a record may come twice, after a
    crash or an exception, but none is missed.
    """

    def __init__(self, consuming: Consuming, value: Callable[[bytes], R]) -> None:
        self._consuming = consuming
        self._value = value

    @property
    def line(self) -> int:
        """The number of the last line that was given out."""
        return self._consuming.given

    @property
    def committed(self) -> int:
        """The number of the line at which it would go on behind."""
        return self._consuming.committed

    @property
    def gone(self) -> int:
        """How many lines were gone, and passed over as ``gone="skip"`` asks."""
        return self._consuming.gone

    def __iter__(self) -> Iterator[R]:
        """Yield the records that are there."""
        for block in self._consuming.blocks():
            yield from self._records(block)

    def follow(self, *, poll: float = POLL) -> Iterator[R]:
        """Yield the records that are there, and those still to come, without end."""
        for block in again_and_again(self._consuming.blocks, poll):
            if block is None:
                self._consuming.commit_if_due()
            else:
                yield from self._records(block)

    def _records(self, block: Block) -> Iterator[R]:
        for number, line in block.numbered():
            self._consuming.given = number
            yield self._value(line)
            self._consuming.finish(number)

    def commit(self, line: int | None = None) -> None:
        """Move the checkpoint to a line, the last that was given out unless told, durably.

        If that fails, the error is raised, and the checkpoint is where it was.
        """
        self._consuming.commit(self.line if line is None else line)

    def close(self) -> None:
        """Commit what is done, and let others be this consumer."""
        self._consuming.close()
