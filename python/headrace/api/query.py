"""Queries as plain functions: from a source to a writer, a list or a callback.

A source is a path, anything with ``read``, or a `RowProvider`. `run_` writes one line of JSON for
each answer and returns how many, `collect_` returns the answers, `for_each_` calls
back with them in order and returns how many. The endings say how the rows are gone
through: each by itself, ``_stream`` all at once, ``_rev`` from the last one,
``_multi`` those of several sources one after the other, ``_named`` those of several
sources that the query has by name. ``_par`` promises the same bytes as without it
from however many threads; so far it uses one. `query` is `open` and `Dataset.query`
in one, and reads nothing before its answers are.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

from headrace.api.open import open as open_dataset
from headrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.api.dataset import Dataset
    from headrace.api.results import Errors, QueryResult
    from headrace.engines.query.options import OnError
    from headrace.store.files.source import OneSource, SourceSpec


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
    args: Mapping[str, object] | None
    where: str | None
    allow_env: bool
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
    lanes: bool
    index: bool
    strict_types: bool
    errors: Errors | None


def query(
    query: str, source: SourceSpec, **options: Unpack[QueryKeywords]
) -> QueryResult:
    """Ask the rows of `source`, which is all that `open` takes."""
    return open_dataset(source).query(query, **options)


def run_ndjson(
    source: OneSource, query: str, writer: Writable, **options: Unpack[QueryKeywords]
) -> int:
    """Ask each row; write the answers."""
    return _run([source], query, writer, options)


def collect_ndjson(
    source: OneSource, query: str, **options: Unpack[QueryKeywords]
) -> list[Any]:
    """Ask each row; return the answers."""
    return _collect([source], query, options)


def for_each_ndjson(
    source: OneSource,
    query: str,
    callback: Callable[[Any], object],
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row; call back with the answers."""
    return _for_each([source], query, callback, options)


def run_ndjson_stream(
    source: OneSource, query: str, writer: Writable, **options: Unpack[QueryKeywords]
) -> int:
    """Ask all rows at once, ``$`` is the array of them; write the answers."""
    return _run([source], query, writer, {**options, "mode": "stream"})


def collect_ndjson_stream(
    source: OneSource, query: str, **options: Unpack[QueryKeywords]
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
    source: OneSource, query: str, writer: Writable, **options: Unpack[QueryKeywords]
) -> int:
    """Ask each row; write the answers, in order."""
    return _run([source], query, writer, options)


def run_ndjson_multi(
    sources: Sequence[OneSource],
    query: str,
    writer: Writable,
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row of several sources, one after the other; write the answers."""
    return _run(sources, query, writer, options)


def collect_ndjson_multi(
    sources: Sequence[OneSource], query: str, **options: Unpack[QueryKeywords]
) -> list[Any]:
    """Ask each row of several sources; return the answers."""
    return _collect(sources, query, options)


def for_each_ndjson_multi(
    sources: Sequence[OneSource],
    query: str,
    callback: Callable[[Any], object],
    **options: Unpack[QueryKeywords],
) -> int:
    """Ask each row of several sources; call back with the answers."""
    return _for_each(sources, query, callback, options)


def run_ndjson_named(
    sources: Sequence[tuple[str, OneSource]],
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
    sources: Sequence[tuple[str, OneSource]],
    query: str,
    **options: Unpack[QueryKeywords],
) -> list[Any]:
    """Ask sources that have names; return the answers."""
    with _asked_named(sources, query, options) as result:
        return result.to_list()


def _run(
    sources: Sequence[OneSource], query: str, writer: Writable, options: QueryKeywords
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
    sources: Sequence[OneSource], query: str, options: QueryKeywords
) -> list[Any]:
    with _asked(sources, query, options) as result:
        return result.to_list()


def _for_each(
    sources: Sequence[OneSource],
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
    sources: Sequence[OneSource], query: str, options: QueryKeywords
) -> Iterator[QueryResult]:
    with open_dataset(sources) as dataset:
        yield dataset.query(query, **options)


@contextmanager
def _asked_named(
    sources: Sequence[tuple[str, OneSource]], query: str, options: QueryKeywords
) -> Iterator[QueryResult]:
    if not sources:
        raise UsageError("give at least one source: the first one is $")
    names = dict(sources)
    main = "main" if "main" in names else sources[0][0]
    with open_dataset(names[main]) as dataset:
        asked: QueryKeywords = {**options, "names": {**names, main: dataset}}
        yield dataset.query(query, **asked)


def _file(path: object) -> str:
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    raise UsageError("a reader has no end to begin from; give the path of a file")
