"""Hint of a query: why a run printed nothing, and the fields it reads that no row has.

A misspelt field is null, and null leaves an answer out, a total 0 and one row of each key. The first
rows are read again for this, and stop at the row with which all fields were found. A file is searched
as a whole before the hint that no row has a field, unless it is large.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from headrace.engines.query.report import RunReport
from headrace.engines.query.run import LocalEngine
from headrace.engines.query.scan import QueryInput
from headrace.errors import HeadraceError
from headrace.kernel import values
from headrace.language import ast
from headrace.language.traversal import deep
from headrace.logical.row_fields import (
    MOST_ROWS,
    AbsentFields,
    Path,
    row_fields,
    sampled_fields,
    search_for,
    unmet,
)
from headrace.physical.query_plan import RowPlan, StreamPlan, plan_query
from headrace.store.files.source import total_size

MOST_SEARCHED = 256 << 20
"""Limit on the bytes of files that are searched for a field."""


def hint_of(
    query: QueryInput, report: RunReport, *, stream: bool, printed: bool
) -> str:
    """Return the hint on a run that came to its end; empty if there is none."""
    counts, options, main = report.counts, query.options, query.plan.main
    if options.limit == 0:
        return ""
    if printed:
        is_lines = isinstance(main, RowPlan) or (
            isinstance(main, StreamPlan) and main.reduction == "lines"
        )
        # Null answers are printed as they are.
        is_visible = options.nulls and is_lines
        return "" if is_visible else _absent(query, report, stream=stream, printed=True)
    if not counts.rows:
        return ""
    absent = _absent(query, report, stream=stream, printed=False)
    tree = query.plan.tree
    filters = (
        options.output == "match"
        or query.plan.condition is not None
        or (isinstance(main, StreamPlan) and main.reduction == "lines")
        # As ``where`` has it.
        or (isinstance(tree, ast.Conditional) and tree.otherwise == ast.Literal(None))
    )
    if filters or options.nulls or not counts.filtered + counts.emitted:
        return absent and f"nothing was printed: {absent}"
    null = "nothing was printed: the answer is null"
    if isinstance(main, RowPlan) and counts.rows > 1:
        null = f"{null} for each of {counts.filtered:,} rows"
    return f"{null}; {absent}" if absent else null


def _absent(
    query: QueryInput, report: RunReport, *, stream: bool, printed: bool
) -> str:
    """Return which fields of the query no row has, source by source."""
    plan = query.plan
    of_each = [each for each in (plan.condition, plan.key) if each is not None]
    with deep():
        read = row_fields(plan.tree, whole=stream)
        read += [each for tree in of_each for each in row_fields(tree, of_each=True)]
    paths: dict[str | None, list[Path]] = {None: []}
    for source, path in read:
        paths.setdefault(source, []).append(path)
    messages: list[str] = []
    for source, wanted in paths.items():
        try:
            found = _absent_of(query, report, source, wanted, printed=printed)
        except HeadraceError:
            continue
        messages += filter(None, [found])
    return "; ".join(messages)


def _absent_of(
    query: QueryInput,
    report: RunReport,
    source: str | None,
    paths: list[Path],
    *,
    printed: bool,
) -> str:
    """Return which fields no row of a source has."""
    plan = query.plan
    everywhere = not printed and not query.named
    if not paths and not everywhere:
        return ""
    left = unmet(paths, islice(_rows(query, report, source), MOST_ROWS))
    if not left and not everywhere:
        return ""
    rows = list(islice(_rows(query, report, source), MOST_ROWS + 1))
    complete = len(rows) <= MOST_ROWS and not _is_cut(query, report, source)
    rows = [row for row in rows[:MOST_ROWS] if row is not None]
    if not rows:
        return ""
    is_proven = complete
    if not complete and (proven := _proven(query, source, left)) is not None:
        left, is_proven = proven, True
    absent = AbsentFields(left, sampled_fields(rows, complete=is_proven, source=source))
    if everywhere:
        trees = [each for each in (plan.condition, plan.tree) if each is not None]
        return absent.message(trees)
    return absent.message([], only_near=not is_proven)


def _is_cut(query: QueryInput, report: RunReport, source: str | None) -> bool:
    """Whether a source that can be read only once has rows beside its sample."""
    files = query.sources[source]
    if not any(file.source.is_pipe for file in files):
        return False
    return (
        source is not None
        or query.options.limit is not None
        or (report.counts.rows > report.sampled)
    )


def _rows(
    query: QueryInput, report: RunReport, source: str | None
) -> Iterator[object | None]:
    """Yield the first rows of a source; None for one that is blank or no JSON."""
    files = query.sources[source]
    frame = query.options.frame if source is None else None
    for content in report.first_rows(files, MOST_ROWS + 1):
        row = content or b""
        if frame is not None:
            row = row.partition(frame.separator.encode())[2]
        try:
            yield values.parse(row, query.options.max_depth)
        except ValueError:
            yield None


def _proven(
    query: QueryInput, source: str | None, paths: list[Path]
) -> list[Path] | None:
    """Return the paths that no row of a source has; None if the source is too large to search."""
    files = [file.source for file in query.sources[source]]
    size = total_size(files)
    if any(file.kind != "file" for file in files) or size is None:
        return None
    if size > MOST_SEARCHED:
        return None
    options = replace(
        query.options,
        output="answer",
        nulls=True,
        on_error="skip",
        limit=None,
        reverse=False,
        shape=None,
        frame=query.options.frame if source is None else None,
    )
    absent = []
    for path in paths:
        plan = plan_query(search_for(path))
        search = QueryInput(plan, options, query.sources[source])
        pieces = LocalEngine().answers(search, RunReport("skip"))
        if b"".join(pieces) != b"true\n":
            absent.append(path)
    return absent
