"""The decoded bytes of a source, without a search for rows."""

from collections.abc import Iterator

from headrace.errors import UnusableTableError
from headrace.kernel.rows import END, Decoded, Decoding, reading
from headrace.store.files.opened import Keeping, OpenedFile, open_pipe, read_in_order
from headrace.store.files.source import Source


def decoded(
    source: Source,
    keeping: Keeping = Keeping(),  # noqa: B008, frozen
    decoding: Decoding = Decoding(),  # noqa: B008, frozen
) -> Iterator[bytes]:
    """Yield the decoded bytes of a file or a pipe in order, in pieces."""
    if source.is_pipe:
        reader, codec = open_pipe(source)
        native = Decoded(reader, codec, size=END, decoding=decoding)
        yield from _pieces(source.location, native, None)
        return
    given = 0
    try:
        for piece in _of_file(OpenedFile(source, keeping, decoding)):
            given += len(piece)
            yield piece
    except UnusableTableError as error:
        # Decoding in order yields the same bytes first, so skip what was already yielded.
        source = read_in_order(source, error)
        for piece in _of_file(OpenedFile(source, keeping, decoding)):
            if rest := piece[given:]:
                yield rest
            given = max(given - len(piece), 0)


def _of_file(opened: OpenedFile) -> Iterator[bytes]:
    native = Decoded(
        opened.data, opened.codec, size=opened.size, decoding=opened.decoding
    )
    return _pieces(opened.path, native, opened)


def _pieces(path: str, native: Decoded, opened: OpenedFile | None) -> Iterator[bytes]:
    while True:
        with reading(path):
            piece = native.read()
        if opened is not None:
            opened.check()
        if not piece:
            return
        yield piece
