"""Asking: the query language over one document, or over the rows of a data set."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.engines.local.query import QueryRun, warn_of_memory
from headrace.kernel.programs import Program
from headrace.kernel.values import MAX_DEPTH, parse
from headrace.logical.compiler import compile_query
from headrace.query import parser
from headrace.store.atomic import write_atomically

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.engines.local.query import QueryOptions, Rows
    from headrace.physical.query_plan import QueryPlan


@lru_cache(maxsize=256)
def prepare(query: str) -> Program:
    """Compile a query about one document."""
    return Program(query, compile_query(query, parser.parse(query)))


def evaluate(query: str, document: bytes, max_depth: int = MAX_DEPTH) -> bytes:
    """Return the answer to a query over one JSON document, as JSON.

    >>> evaluate("$.a + 1", b'{"a": 41}')
    b'42'
    """
    return prepare(query).evaluate(document, max_depth)


class QueryResult:
    """The answers to a query, computed while they are read.

    Each way of reading runs the query anew. `run` has the counts and the errors of
    the last run. `warn` is told when a run holds most of the memory it may.
    """

    def __init__(
        self,
        plan: QueryPlan,
        files: Sequence[Rows],
        named: Mapping[str, Sequence[Rows]],
        options: QueryOptions,
    ) -> None:
        self.plan = plan
        self._files = files
        self._named = named
        self._options = options
        self.warn: Callable[[str], None] = warn_of_memory
        self.run = QueryRun(plan, options)

    def lines(self) -> Iterator[bytes]:
        """Yield the answers as lines of JSON, many at a time."""
        self.run = QueryRun(self.plan, self._options, self.warn)
        return self.run.answers(self._files, self._named)

    def __iter__(self) -> Iterator[Any]:
        for lines in self.lines():
            # Every line ends with a newline, so the last piece is empty.
            for line in lines.split(b"\n")[:-1]:
                yield parse(line, self._options.max_depth)

    def to_list(self) -> list[Any]:
        """Return all answers."""
        return list(self)

    def count(self) -> int:
        """Return how many answers there are."""
        return sum(lines.count(b"\n") for lines in self.lines())

    def write(self, path: str | os.PathLike[str]) -> int:
        """Write the answers to a file, which appears when it is whole; return how many."""
        count = 0

        def counted() -> Iterator[bytes]:
            nonlocal count
            for lines in self.lines():
                count += lines.count(b"\n")
                yield lines

        write_atomically(Path(path), counted())
        return count
