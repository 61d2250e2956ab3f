"""Queries as plain functions: from a source to a writer, a list or a callback.

A source is a path, or anything with ``read``. `run_` writes one line of JSON for
each answer and returns how many, `collect_` returns the answers, `for_each_` calls
back with them in order and returns how many. The endings say how the rows are gone
through: each by itself, ``_stream`` all at once, ``_rev`` from the last one,
``_multi`` those of several sources one after the other, ``_named`` those of several
sources that the query has by name. ``_par`` promises the same
bytes as without it from however many threads; so far it uses one.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

from headrace.api.dataset import open as open_dataset
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.api.dataset import Dataset
    from headrace.api.query import QueryResult
    from headrace.engines.local.query import OnError
    from headrace.store.source import SourceSpec

_PIECE = 1 << 16


class Readable(Protocol):
    """Anything that bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        ...


class Writable(Protocol):
    """Anything that bytes can be written to."""

    def write(self, data: bytes, /) -> object:
        """Take bytes."""
        ...


class QueryKeywords(TypedDict, total=False):
    """What `Dataset.query` can be told."""

    mode: Literal["row", "stream"] | None
    names: Mapping[str, SourceSpec | Dataset[Any]] | None
    size_hints: Mapping[str, int] | None
    output: Literal["answer", "match"]
    nulls: bool
    on_error: OnError
    limit: int | None
    max_depth: int | None
    memory: int | str
    reverse: bool
    distinct_by: str | None
    frame: str | None
    null_payload: Literal["skip", "keep", "error"]


Readers: TypeAlias = "str | os.PathLike[str] | Readable"


def run_ndjson(
    source: Readers, query: str, writer: Writable, **options: Unpack[QueryKeywords]
) -> int:
    """Ask each row; write the answers."""
    return _run([source], query, writer, options)


def collect_ndjson(
    source: Readers, query: str, **options: Unpack[QueryKeywords]
) -> list[Any]:
    """Ask each row; return the answers."""
    return _collect([source], query, options)


def for_each_ndjson(
    source: Readers,
    query: str,
    callback: Callable[[Any], object],
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row; call back with the answers."""
    return _for_each([source], query, callback, options)


def run_ndjson_stream(
    source: Readers, query: str, writer: Writable, **options: Unpack[QueryKeywords]
) -> int:
    """Ask all rows at once, ``$`` is the array of them; write the answers."""
    return _run([source], query, writer, {**options, "mode": "stream"})


def collect_ndjson_stream(
    source: Readers, query: str, **options: Unpack[QueryKeywords]
) -> list[Any]:
    """Ask all rows at once; return the answers: one value, or the elements of a stream."""
    return _collect([source], query, {**options, "mode": "stream"})


def run_ndjson_rev(
    path: str | os.PathLike[str],
    query: str,
    writer: Writable,
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row of a file, the last one first; write the answers."""
    return _run([_file(path)], query, writer, {**options, "reverse": True})


def collect_ndjson_rev(
    path: str | os.PathLike[str], query: str, **options: Unpack[QueryKeywords]
) -> list[Any]:
    """Ask each row of a file, the last one first; return the answers."""
    return _collect([_file(path)], query, {**options, "reverse": True})


def for_each_ndjson_rev(
    path: str | os.PathLike[str],
    query: str,
    callback: Callable[[Any], object],
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row of a file, the last one first; call back with the answers."""
    return _for_each([_file(path)], query, callback, {**options, "reverse": True})


def run_ndjson_par(
    source: Readers, query: str, writer: Writable, **options: Unpack[QueryKeywords]
) -> int:
    """Ask each row; write the answers, in order."""
    return _run([source], query, writer, options)


def run_ndjson_multi(
    sources: Sequence[Readers],
    query: str,
    writer: Writable,
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row of several sources, one after the other; write the answers."""
    return _run(sources, query, writer, options)


def collect_ndjson_multi(
    sources: Sequence[Readers], query: str, **options: Unpack[QueryKeywords]
) -> list[Any]:
    """Ask each row of several sources; return the answers."""
    return _collect(sources, query, options)


def for_each_ndjson_multi(
    sources: Sequence[Readers],
    query: str,
    callback: Callable[[Any], object],
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row of several sources; call back with the answers."""
    return _for_each(sources, query, callback, options)


def run_ndjson_named(
    sources: Sequence[tuple[str, Readers]],
    query: str,
    writer: Writable,
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask sources that have names, ``@name`` is the array of rows; write the answers.

    ``$`` is the array of the rows of the source called ``main``, or of the first one.
    """
    with _asked_named(sources, query, options) as result:
        return _written(result, writer)


def collect_ndjson_named(
    sources: Sequence[tuple[str, Readers]],
    query: str,
    **options: Unpack[QueryKeywords],
) -> list[Any]:
    """Ask sources that have names; return the answers."""
    with _asked_named(sources, query, options) as result:
        return result.to_list()


def _run(
    sources: Sequence[Readers], query: str, writer: Writable, options: QueryKeywords
) -> int:
    with _asked(sources, query, options) as result:
        return _written(result, writer)


def _written(result: QueryResult, writer: Writable) -> int:
    count = 0
    for lines in result.lines():
        writer.write(lines)
        count += lines.count(b"\n")
    return count


def _collect(
    sources: Sequence[Readers], query: str, options: QueryKeywords
) -> list[Any]:
    with _asked(sources, query, options) as result:
        return result.to_list()


def _for_each(
    sources: Sequence[Readers],
    query: str,
    callback: Callable[[Any], object],
    options: QueryKeywords,
) -> int:
    count = 0
    with _asked(sources, query, options) as result:
        for answer in result:
            callback(answer)
            count += 1
    return count


@contextmanager
def _asked(
    sources: Sequence[Readers], query: str, options: QueryKeywords
) -> Iterator[QueryResult]:
    with _paths(sources) as paths, open_dataset(paths) as dataset:
        yield dataset.query(query, **options)


@contextmanager
def _asked_named(
    sources: Sequence[tuple[str, Readers]], query: str, options: QueryKeywords
) -> Iterator[QueryResult]:
    if not sources:
        raise UsageError("give at least one source: the first one is $")
    with _paths([source for _name, source in sources]) as paths:
        names: dict[str, str] = {}
        for (name, _source), path in zip(sources, paths, strict=True):
            names[name] = path
        main = "main" if "main" in names else sources[0][0]
        with open_dataset(names[main]) as dataset:
            asked: QueryKeywords = {**options, "names": {**names, main: dataset}}
            yield dataset.query(query, **asked)


@contextmanager
def _paths(sources: Sequence[Readers]) -> Iterator[list[str]]:
    """Give every source a path while it is asked."""
    feeds: list[_Feed] = []
    paths: list[str] = []
    for source in sources:
        if isinstance(source, (str, os.PathLike)):
            paths.append(os.fspath(source))
        else:
            feeds.append(_Feed(source))
            paths.append(feeds[-1].path)
    try:
        yield paths
    finally:
        for feed in feeds:
            feed.close()


def _file(path: object) -> str:
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    raise UsageError("a reader has no end to begin from; give the path of a file")


class _Feed:
    """A reader as a pipe with a path: a thread hands over its bytes as they are wanted."""

    def __init__(self, reader: Readable) -> None:
        self._reader = reader
        self._out, self._in = os.pipe()
        self.path = f"/dev/fd/{self._out}"
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._hand_over)
        self._thread.start()

    def _hand_over(self) -> None:
        # Whoever reads may have enough before the end.
        with suppress(BrokenPipeError), os.fdopen(self._in, "wb", buffering=0) as pipe:
            try:
                while piece := self._reader.read(_PIECE):
                    view = memoryview(piece)
                    while view:
                        view = view[pipe.write(view) :]
            except OSError as failure:
                if isinstance(failure, BrokenPipeError):
                    raise
                self._failure = failure

    def close(self) -> None:
        """End the thread, and raise what the reader raised."""
        os.close(self._out)
        self._thread.join()
        if self._failure is not None:
            raise self._failure
