"""Rows that are computed while they are read, in all the forms they can take."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.api.formats.kinds import load, named, target
from headrace.api.formats.layout import Layout
from headrace.errors import MissingExtraError
from headrace.kernel.blocks import codecs as block_codecs
from headrace.kernel.table import Compressor
from headrace.kernel.values import DEEPEST, parse
from headrace.store.atomic import destination, write_atomically
from headrace.store.shards.line_writer import LineWriter

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import pandas
    import polars
    import pyarrow

    from headrace.api.formats.kinds import FormatName


class Result:
    """Rows, each time computed anew; `notes`: what their form does not show as they are."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def lines(self) -> Iterator[bytes]:
        """Yield the rows as lines of JSON, many at a time."""
        raise NotImplementedError

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of `lines`; where a line is long, a piece is a part of it."""
        return self.lines()

    def _layout(self) -> Layout:
        """Return how rows become columns."""
        return Layout(self._note, None)

    def _note(self, text: str) -> None:
        self.notes.append(text)

    def __iter__(self) -> Iterator[Any]:
        for lines in self.lines():
            # Every line ends with a newline, so the last piece is empty.
            for line in lines.split(b"\n")[:-1]:
                yield parse(line, DEEPEST)

    def to_list(self) -> list[Any]:
        """Return all answers."""
        return list(self)

    def count(self) -> int:
        """Return how many answers there are."""
        return sum(lines.count(b"\n") for lines in self.lines())

    # Files

    def write(
        self, path: str | os.PathLike[str], format: FormatName | None = None
    ) -> int:
        """Write the answers to a file, which appears when it is whole; return how many.

        The end of its name says the format, unless told, and the compression. Lines of
        JSON are compressed in blocks, so that the file can be entered anywhere.
        """
        chosen, codec = target(path, format)
        in_blocks = codec != "none" and codec in block_codecs()
        whole = chosen.name != "ndjson" or in_blocks
        count = 0

        def counted() -> Iterator[bytes]:
            nonlocal count
            for lines in self.lines() if whole else self.pieces():
                count += lines.count(b"\n")
                yield lines

        content = self._formatted(counted(), chosen.name)
        if chosen.name == "ndjson" and in_blocks:
            with LineWriter(path, codec=codec, validate=False) as writer:
                for lines in content:
                    writer.write_lines(lines)
            return count
        if codec != "none":
            content = _compressed(content, codec)
        write_atomically(destination(path), content)
        return count

    def formatted(
        self, format: FormatName = "ndjson", *, width: int | None = None
    ) -> Iterator[bytes]:
        """Yield the answers as the bytes of a file, piece by piece.

        `width` is that of the terminal, for a table that must fit.
        """
        answers = self.pieces() if format == "ndjson" else self.lines()
        return self._formatted(answers, format, width)

    def _formatted(
        self, answers: Iterator[bytes], format: FormatName, width: int | None = None
    ) -> Iterator[bytes]:
        layout = replace(self._layout(), width=width)
        return iter(load(named(format)).write(answers, layout))

    # Data frames

    def to_arrow(self) -> pyarrow.Table:
        """Return all answers as an Arrow table, whose types fit all of them."""
        from headrace.api.formats.arrow import as_table

        return as_table(self.lines(), self._layout())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the answers to whoever takes Arrow, batch by batch."""
        from headrace.api.formats.arrow import as_reader

        reader = as_reader(self.lines(), self._layout())
        return reader.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all answers as a pandas data frame; integers stay integers."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas") from error
        table = self.to_arrow()
        exact = {"int64": pd.Int64Dtype(), "bool": pd.BooleanDtype()}
        return table.to_pandas(types_mapper=lambda kind: exact.get(str(kind)))

    def to_polars(self) -> polars.DataFrame:
        """Return all answers as a polars data frame."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("polars", "polars") from error
        return pl.DataFrame(self.to_arrow())


def whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    r"""Yield the same bytes with all pieces of a line in one.

    >>> list(whole_lines(iter([b"1\n2\n", b"[3,", b"4]", b"\n5\n"])))
    [b'1\n2\n', b'[3,4]\n5\n']
    """
    held = []
    for piece in pieces:
        held.append(piece)
        if piece.endswith(b"\n"):
            yield b"".join(held)
            held = []


def _compressed(content: Iterator[bytes], codec: str) -> Iterator[bytes]:
    compressor = Compressor(codec)
    for piece in content:
        yield compressor.add(piece)
    yield compressor.finish()
