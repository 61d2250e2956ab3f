"""Options of a streaming read, besides those of every read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.engines.spark.source.options import (
    Option,
    ReadOptions,
    one_of,
    read_options,
    size_option,
)
from headrace.errors import UsageError

STREAM_OPTIONS = (
    Option("maxBytesPerTrigger", "limit on the bytes of files or lines of a batch"),
    Option("maxRowsPerTrigger", "limit on the lines of a batch"),
    Option(
        "startingOffsets",
        "where a new query begins: `earliest`, `latest`, or an offset as JSON",
    ),
    Option(
        "onDataLoss",
        "`fail`: stop if unread input is gone; `skip`: warn and continue",
    ),
)


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a batch; None for no limit."""

    max_bytes: int | None = None
    max_rows: int | None = None


class Spending:
    """The rest of a budget while files or parts are taken one after the other.

    `max_bytes` and `max_rows` may still be taken; None for no limit.
    """

    def __init__(self, budget: Budget) -> None:
        self.max_bytes = budget.max_bytes
        self.max_rows = budget.max_rows
        self._some = False

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        left = (self.max_bytes, self.max_rows)
        return self._some and any(each is not None and each <= 0 for each in left)

    def take(self, size: int, rows: int) -> None:
        """Subtract bytes and rows from the budget."""
        self._some = True
        self.max_bytes = None if self.max_bytes is None else self.max_bytes - size
        self.max_rows = None if self.max_rows is None else self.max_rows - rows

    def first_of(self, sizes: Iterable[tuple[int, int]]) -> int:
        """Take the first items that fit, given their bytes and lines; return their number.

        The first item of a batch is always taken, so that a stream never stops.

        >>> spending = Spending(Budget(max_bytes=10))
        >>> spending.first_of([(7, 1), (3, 1), (1, 1)]), spending.first_of([(1, 1)])
        (2, 0)
        """
        taken = 0
        for size, rows in sizes:
            over = self._over(size, self.max_bytes) or self._over(rows, self.max_rows)
            if self.spent or (self._some and over):
                break
            self.take(size, rows)
            taken += 1
        return taken

    @staticmethod
    def _over(wanted: int, left: int | None) -> bool:
        return left is not None and wanted > left


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of one streaming read; its schema is separate."""

    read: ReadOptions
    budget: Budget
    starting: str
    skip_lost: bool


def stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Parse Spark's options; refuse a name that is in neither table of a read.

    >>> stream_options({"path": "log", "maxBytesPerTrigger": "64MiB"}).budget
    Budget(max_bytes=67108864, max_rows=None)
    """
    values = {name.lower(): value for name, value in given.items()}
    ours = {option.name.lower() for option in STREAM_OPTIONS}
    losing = values.get("ondataloss", "fail").lower()
    one_of("onDataLoss", losing, ("fail", "skip"))
    return StreamOptions(
        read_options(
            {name: text for name, text in given.items() if name.lower() not in ours}
        ),
        Budget(
            _most("maxBytesPerTrigger", values),
            _most("maxRowsPerTrigger", values),
        ),
        values.get("startingoffsets", "earliest"),
        losing == "skip",
    )


def _most(name: str, values: Mapping[str, str]) -> int | None:
    text = values.get(name.lower())
    if text is None:
        return None
    most = size_option(name, text)
    if most == 0:
        raise UsageError(f"option {name} is {text}; it must be at least 1")
    return most
