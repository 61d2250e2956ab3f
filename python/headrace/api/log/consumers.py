"""Consumers of a log: named readers with a checkpoint, and their positions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from headrace.store.files.opened import Closing
from headrace.store.log.read.consumers import POLL, ActiveConsumer, poll_forever
from headrace.store.log.read.reader import Block


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """The position of a consumer: `line` is the last it is done with, 0 for none.

    It is `lag_lines` behind, of which `gone_lines` were removed; `lag_ms` is the time from
    that line to the last. `updated` is when its checkpoint was written.
    """

    consumer: str
    line: int
    lag_lines: int
    lag_ms: int
    gone_lines: int
    updated: int


R = TypeVar("R")


class Consumer(Closing, Generic[R]):
    """A consumer: a named reader of the records of a log that it is not done with.

    A record is done when the next one is read. The checkpoint never moves beyond records that
    are done; so after a crash or an exception a record may come twice, but none is missed.
    """

    def __init__(self, consuming: ActiveConsumer, value: Callable[[bytes], R]) -> None:
        self._consuming = consuming
        self._value = value

    @property
    def line(self) -> int:
        """The number of the last line that was yielded."""
        return self._consuming.given

    @property
    def committed(self) -> int:
        """The number of the line after which another reader would go on."""
        return self._consuming.committed

    @property
    def gone(self) -> int:
        """How many lines were removed unread, with ``gone="skip"``."""
        return self._consuming.gone

    def __iter__(self) -> Iterator[R]:
        """Yield the records that are committed now."""
        for block in self._consuming.blocks():
            yield from self._records(block)

    def follow(self, *, poll: float = POLL) -> Iterator[R]:
        """Yield the records that are committed now, then new ones, without end."""
        for block in poll_forever(self._consuming.blocks, poll):
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
        """Move the checkpoint to a line, durably [default: the last that was yielded].

        If that fails, the checkpoint does not move, and the error is raised.
        """
        self._consuming.commit(self.line if line is None else line)

    def close(self) -> None:
        """Commit the records that are done, and let another process be this consumer."""
        self._consuming.close()
