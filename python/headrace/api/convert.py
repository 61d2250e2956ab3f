"""Conversion of JSON to lines: of one array, or of values over several lines."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

from headrace.api.open import MAX_LINE, MAX_RATIO, decoding_of
from headrace.api.results import Result
from headrace.engines.query.options import BadRow, OnError
from headrace.engines.rows.rejected import reporting
from headrace.errors import BadRowError, UsageError
from headrace.kernel.values import MAX_DEPTH, ValueSplitter
from headrace.store.files.opened import decoded
from headrace.store.files.source import Source, SourceSpec, expand
from headrace.store.files.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.api.options import Errors
    from headrace.kernel.rows import Decoding

_FIRST_BAD = 10

_END = b""
"""The piece of a source that ends its last value."""


class Conversion(Result):
    """The JSON values of sources as lines, computed when they are read, each time anew.

    `values` counts the values of the last run, `bad` those that are not among the lines;
    `errors` has the first of these.
    """

    def __init__(
        self,
        sources: tuple[Source, ...],
        splitter: Callable[[], ValueSplitter],
        decoding: Decoding,
        *,
        on_error: OnError,
        errors: Errors | None,
    ) -> None:
        super().__init__()
        self.sources = sources
        self.values = self.bad = self.bytes_read = 0
        self.errors: list[BadRowError] = []
        self._splitter = splitter
        self._decoding = decoding
        self._on_error = on_error
        self._report = errors

    def lines(self) -> Iterator[bytes]:
        """Yield the values as lines, many at a time."""
        self.values = self.bad = self.bytes_read = 0
        self.errors = []
        with reporting(self._report) as report:
            yield from self._lines(report)

    def _lines(self, report: Callable[[BadRow], object] | None) -> Iterator[bytes]:
        for source in self.sources:
            splitter = self._splitter()
            before, bad_before = self.values, self.bad
            pieces = filter(None, decoded(source, decoding=self._decoding))
            for piece in chain(pieces, [_END]):
                lines, bad = splitter.feed(piece)
                self.bytes_read += len(piece)
                values, wrong = splitter.counts
                self.values, self.bad = before + values, bad_before + wrong
                if lines:
                    yield lines
                for line, offset, reason, raw in bad:
                    error = BadRowError(source.location, line, offset, reason)
                    if self._on_error == "abort":
                        raise error
                    if len(self.errors) < _FIRST_BAD:
                        self.errors.append(error)
                    if report is not None:
                        report(BadRow(error, raw))


def convert(
    source: SourceSpec,
    *,
    keep_arrays: bool = False,
    on_error: Literal["abort", "skip", "collect"] = "abort",
    errors: Errors | None = None,
    max_line: int | str = MAX_LINE,
    max_depth: int = MAX_DEPTH,
    max_ratio: int = MAX_RATIO,
    max_decoded: int | str | None = None,
) -> Conversion:
    """Return the JSON values of files as lines, each on one line.

    The elements of a top-level array are values, unless `keep_arrays`. Space between tokens
    is left out, all else keeps its bytes. One value is in memory, of at most `max_line` bytes.
    Bad values are errors, are skipped, or with ``"collect"`` go to `errors`, as in a query.
    """
    if errors is not None and on_error != "collect":
        raise UsageError("errors are kept only with on_error='collect'")
    splitter = partial(
        ValueSplitter,
        max_value=parse_size(max_line),
        max_depth=max_depth,
        keeps_arrays=keep_arrays,
        aborts=on_error == "abort",
    )
    decoding = decoding_of(max_ratio, max_decoded)
    return Conversion(
        tuple(expand(source)), splitter, decoding, on_error=on_error, errors=errors
    )
