"""``headrace query``: the query language over the rows of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cli.arguments import Argument
from headrace.cli.options import FILES, OPTIONS
from headrace.cli.table import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.dataset import Dataset
    from headrace.cli.output import Console
    from headrace.engines.local.query import QueryRun
    from headrace.kernel.programs import Counts
    from headrace.store.source import SourceSpec

ABOUT = """\
The query is asked of every row by itself: $ is the row. With --stream, or if it begins
with $.rows(), it is asked of all rows. Its answers are printed one on a line; null is
no answer. Blank lines are passed over. A row that is printed
unchanged keeps every byte.

The first line that is not JSON, or on which the query cannot be computed, ends the
run with its file, line and byte; the answers before it stand. --on-error skip goes
on with the next row.

Other files can be asked in the same query: --name users=users.jsonl makes @users the
array of their rows, to join with or to look up in, and $ the array of all rows of
FILE. Without a FILE, $ is the source called main, or the first one."""

EXAMPLES = (
    Example("headrace query '$.id' app.jsonl", "one field of each row"),
    Example(
        """headrace query '{id, level} if ms > 500 else null' app.jsonl""",
        "some fields of some rows",
    ),
    Example(
        """headrace query --matches 'level == "error"' app.jsonl.gz""",
        "whole rows, byte for byte",
    ),
    Example("headrace query '$.rows().count_by(level)' app.jsonl", "about all rows"),
    Example("headrace query --stream '$.sum(ms)' app.jsonl", "the same, another way"),
    Example("headrace query --explain '$.rows().sort(id).take(3)'", "what it would do"),
    Example(
        "headrace query '$.lookup(@users, on: user == id)' app.jsonl "
        "--name users=users.jsonl",
        "with the fields of another file",
    ),
    Example("headrace query --rev --limit 3 '$' app.jsonl", "the newest rows first"),
)

ARGUMENTS = (
    Argument("query", "text", "the question", metavar="QUERY"),
    FILES,
    Argument(
        "matches",
        "switch",
        "print the rows for which the answer is truthy, as they are",
        ("--matches",),
    ),
    Argument(
        "stream",
        "switch",
        "ask all rows at once: $ is the array of them",
        ("--stream",),
    ),
    Argument(
        "names",
        "named",
        "rows of another file, as @NAME in the query; may be repeated",
        ("--name",),
        metavar="NAME=FILE",
        arity="repeated",
    ),
    Argument("rev", "switch", "from the last row to the first", ("--rev",)),
    Argument(
        "distinct_by",
        "text",
        "ask only the first row of each key, with --rev the newest",
        ("--distinct-by",),
        metavar="KEY",
    ),
    Argument(
        "limit",
        "number",
        "print no more than this many lines",
        ("--limit",),
        metavar="N",
    ),
    Argument(
        "null",
        "choice",
        "what becomes of an answer that is null (skip unless told)",
        ("--null",),
        choices=("skip", "emit"),
        default="skip",
    ),
    Argument(
        "on_error",
        "choice",
        "what a bad row does (abort unless told)",
        ("--on-error",),
        choices=("abort", "skip"),
        default="abort",
    ),
    Argument(
        "max_depth",
        "number",
        "how deep values may be nested, up to 1000 (256 unless told)",
        ("--max-depth",),
        metavar="N",
        default=256,
    ),
    Argument(
        "frame",
        "text",
        "lines are a key, this separator and JSON",
        ("--frame",),
        metavar="SEP",
    ),
    Argument(
        "null_payload",
        "choice",
        "what JSON of null in a framed line means (skip unless told)",
        ("--null-payload",),
        choices=("skip", "keep", "error"),
        default="skip",
    ),
    Argument("explain", "switch", "print what the query will do", ("--explain",)),
    Argument(
        "memory",
        "size",
        "how much a query may hold at once (1GiB unless told)",
        ("--memory",),
        metavar="SIZE",
        default=1 << 30,
    ),
    *OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the answers."""
    from headrace.cli.reading import files, open_dataset
    from headrace.errors import UsageError

    if options.explain:
        from headrace.physical.explain import explain

        stream = options.stream or bool(options.names)
        console.text(f"{explain(options.query, stream=stream)}\n")
        return 0
    if options.matches and options.null == "emit":
        raise UsageError("--matches prints rows; it has no null to --null emit")
    named = _names(options)
    main = None if options.files or not named else _main(named)
    dataset = open_dataset(options, files(options) if main is None else named[main])
    names: dict[str, SourceSpec | Dataset[Any]] = {**named}
    if main is not None:
        names[main] = dataset
    with dataset:
        console.live = any(source.is_pipe for source in dataset.sources)
        asked = dataset.query(
            options.query,
            mode="stream" if options.stream else None,
            names=names,
            output="match" if options.matches else "answer",
            nulls=options.null == "emit",
            memory=options.memory,
            on_error="abort" if options.strict else options.on_error,
            limit=options.limit,
            max_depth=options.max_depth,
            reverse=options.rev,
            distinct_by=options.distinct_by,
            frame=options.frame,
            null_payload=options.null_payload,
        )
        asked.warn = lambda message: console.emit("memory", message)
        try:
            for lines in asked.lines():
                console.write(lines)
        finally:
            if options.stats:
                _report(asked.run, console)
    return 0


def _names(options: Namespace) -> dict[str, list[str]]:
    """Return the files of each name, in the order they were given."""
    names: dict[str, list[str]] = {}
    for name, file in options.names or ():
        names.setdefault(name, []).append(file)
    return names


def _main(names: dict[str, list[str]]) -> str:
    return "main" if "main" in names else next(iter(names))


def _report(run: QueryRun, console: Console) -> None:
    counts = run.counts
    said = [_said(counts), *(f"@{name}: {_said(read)}" for name, read in run.readings)]
    console.emit(
        "stats",
        "\n  ".join([*said, *map(str, run.errors[:10])]),
        rows=counts.rows,
        emitted=counts.emitted,
        filtered=counts.filtered,
        skipped=counts.skipped,
        blank=counts.blank,
    )


def _said(counts: Counts) -> str:
    return (
        f"rows {counts.rows} = emitted {counts.emitted} + filtered {counts.filtered} "
        f"+ skipped {counts.skipped} + blank {counts.blank}"
    )
