"""``headrace query``: the query language over the rows of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from headrace.api.formats.registry import FORMATS
from headrace.cli.argument import Argument
from headrace.cli.options.common import BAD_ROWS, FILES, OPTIONS
from headrace.cli.options.engine import MASTER, PARTITION_BYTES, engine
from headrace.cli.options.log import TIMES
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Set

    from headrace.api.dataset import Dataset
    from headrace.api.results import QueryResult, QueryStats
    from headrace.cli.console import Console
    from headrace.kernel.programs import Counts
    from headrace.store.files.source import SourceSpec

ABOUT = """\
The query is asked of every row by itself: $ is the row. With --stream, or if it begins
with $.rows(), it is asked of all rows. Its answers are printed one on a line; null is
no answer. Blank lines are passed over. A row that is printed
unchanged keeps every byte.

The first line that is not JSON, or on which the query cannot be computed, ends the
run with its file, line and byte; the answers before it stand. --on-error skip goes
on with the next row, collect also tells of each, on standard error or in --errors
FILE: one JSON object on a line with file, line, offset, reason, column (of the query,
if the row is good) and raw (raw_base64 if it is not UTF-8).

--format json is one array, whatever the answers are. csv and table have a column for
each field that the query names, as in {id, name}, otherwise for those of the first
1000 answers (1 MiB), which are waited for; what is no object stands under "value". A
later column is an error in csv, in a table it is told of. csv follows RFC 4180: null
is an empty field, an empty string "", arrays and objects are JSON. parquet types its
columns by the first 16 MiB of answers; a column of several types is JSON text.

A file of --out, and of --errors, appears when it is whole, in place of one that was
there, even if that was read; on failure and Ctrl-C nothing is left. Its name chooses
the format (.jsonl, .ndjson, .json, .csv, .parquet) and the compression (.gz, .zst,
.bz2, .xz).

A filter such as id == 7, or a query with --matches that begins with one, reads only the
rows that a key index of id leads to, where a file has one (see headrace index build)
and every line of it is sound. The answers are the same, so is the account, and
--explain with a FILE says what is read. --no-index and --strict read all rows.

With --since and --until, FILEs are logs, and only their lines with times from one to before
the other are asked, whatever their order; of segments without such lines nothing is read.
--stats counts the others as outside the times.

With --engine spark the rows are asked by tasks of Spark, on this machine or on the
cluster that --master names; --explain says which part of the query they do. Rows that
key indexes lead to are asked without tasks if they are few.

Other files can be asked in the same query: --name users=users.jsonl makes @users the
array of their rows, to join with or to look up in, and $ the array of all rows of
FILE. Without a FILE, $ is the source called main, or the first one. Where standard
input is a pipe or a file, it could be $ too: write - for it, or call a source main."""

EXAMPLES = (
    Example("headrace query '$.id' app.jsonl", "one field of each row"),
    Example(
        """headrace query '{id, level} if ms > 500 else null' app.jsonl""",
        "some fields of some rows",
    ),
    Example(
        """headrace query --matches 'level == "error"' app.jsonl.gz""",
        "whole rows, byte for byte but for space around them",
    ),
    Example("headrace query '$.rows().count_by(level)' app.jsonl", "about all rows"),
    Example("headrace query --stream '$.sum(ms)' app.jsonl", "the same, another way"),
    Example("headrace query --explain '$.rows().sort(id).take(3)'", "what it would do"),
    Example(
        "headrace query '$.lookup(@users, on: user == id)' app.jsonl "
        "--name users=users.jsonl",
        "with the fields of another file",
    ),
    Example(
        "headrace query --engine spark '$.rows().sum(ms)' logs/",
        "by tasks of Spark, on all cores",
    ),
    Example("headrace query --rev --limit 3 '$' app.jsonl", "the newest rows first"),
    Example(
        "headrace query --stream '$.sum(qty)' trades --since -15m",
        "about the last 15 minutes of a log",
    ),
    Example(
        "headrace query '{id, ms}' --format table app.jsonl", "aligned, for people"
    ),
    Example("headrace query '{id, ms}' --format csv app.jsonl", "for a spreadsheet"),
    Example(
        "headrace query '$' --out later.jsonl.zst --errors bad.jsonl app.jsonl",
        "to a file, bad rows to another",
    ),
)

ELSEWHERE = {
    **dict.fromkeys(("-s", "--slurp"), "for an array of all rows write --stream"),
    **dict.fromkeys(
        ("-n", "--null-input"),
        "a query without rows needs one: echo null | headrace query QUERY",
    ),
    **dict.fromkeys(("-c", "--compact-output"), "each answer is one line already"),
    **dict.fromkeys(
        ("-e", "--exit-status"), "the exit code is that of the run, not of the answer"
    ),
    **dict.fromkeys(("-R", "--raw-input"), "each line is a JSON value; text is no row"),
    **dict.fromkeys(
        ("--slurpfile", "--rawfile"), "write --name NAME=FILE and @NAME in the query"
    ),
    **dict.fromkeys(
        ("-C", "--color-output", "--tab", "--indent"),
        "answers are one line each; for people write --format table",
    ),
    **dict.fromkeys(
        ("-j", "--join-output", "-a"), "write -r for strings without quotes"
    ),
}
"""Options of jq, and what to write here."""

ARGUMENTS = (
    Argument(
        "query",
        "text",
        "the query; with -f there is none, and all that stands here is FILEs",
        metavar="QUERY",
        arity="optional",
    ),
    FILES,
    Argument(
        "query_file",
        "file",
        "read the query from this file, UTF-8 text",
        ("-f", "--file"),
        metavar="FILE",
    ),
    Argument(
        "arg",
        "assigned",
        "make $NAME this text in the query; may be repeated",
        ("--arg",),
        metavar="NAME=TEXT",
        arity="repeated",
    ),
    Argument(
        "argjson",
        "assigned",
        "make $NAME this JSON value in the query; may be repeated",
        ("--argjson",),
        metavar="NAME=JSON",
        arity="repeated",
    ),
    Argument(
        "allow_env",
        "switch",
        'let the query read the environment: env("HOME") is a variable',
        ("--allow-env",),
    ),
    Argument(
        "where",
        "text",
        "run the query only over rows for which this expression is truthy",
        ("--where",),
        metavar="EXPR",
    ),
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
    *TIMES,
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
        "lines",
        "switch",
        "print each element of an array about all rows on a line",
        ("--lines",),
    ),
    Argument(
        "array",
        "switch",
        "print the elements about all rows as one array",
        ("--array",),
    ),
    Argument(
        "null",
        "choice",
        "what becomes of an answer that is null (skip unless told)",
        ("--null",),
        choices=("skip", "emit"),
        default="skip",
    ),
    *BAD_ROWS,
    Argument(
        "format",
        "choice",
        "how answers are written (by the name of --out, else ndjson): "
        + "; ".join(f"{each.name}, {each.doc}" for each in FORMATS),
        ("--format",),
        choices=tuple(each.name for each in FORMATS),
    ),
    Argument(
        "raw",
        "switch",
        "the same as --format raw: strings without quotes",
        ("-r", "--raw"),
    ),
    Argument("tsv", "switch", "the same as --format tsv", ("--tsv",)),
    Argument(
        "out",
        "file",
        "write the answers to this file, not to standard output",
        ("--out",),
        metavar="FILE",
    ),
    Argument(
        "threads",
        "number",
        "how many threads may work; changes no byte, and so far a query uses one",
        ("--threads",),
        metavar="N",
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
    Argument(
        "no_lanes",
        "switch",
        "record all fields of a row, also those nobody reads; the answers are the same",
        ("--no-lanes",),
    ),
    Argument(
        "strict_types",
        "switch",
        "a value of a kind that an operation is not for is an error: a field of a number, upper of one; null stays null",
        ("--strict-types",),
    ),
    Argument("explain", "switch", "print what the query will do", ("--explain",)),
    engine("asks the rows", "the answers are the same"),
    MASTER,
    PARTITION_BYTES,
    Argument(
        "memory",
        "size",
        "how much JSON a query may hold at once (1GiB unless told); working on it takes some times more",
        ("--memory",),
        metavar="SIZE",
        default=1 << 30,
    ),
    *OPTIONS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the answers."""
    from headrace.cli.io.inputs import files, open_dataset, stdin_waits
    from headrace.cli.io.query_text import args_of, choose_format, take_query
    from headrace.cli.io.results import deliver, errors_to, format_of, policy
    from headrace.errors import UsageError

    take_query(options)
    choose_format(options)
    if options.explain and not options.files:
        _explain(options, console)
        return 0
    if options.matches and options.null == "emit":
        raise UsageError("--matches prints rows; it has no null to --null emit")
    if options.lines and options.array:
        raise UsageError("--lines and --array are two shapes of the answer; choose one")
    if options.threads == 0:
        raise UsageError("--threads 0: at least one must do the work")
    chosen = None if options.explain else format_of(options, console)
    named = _names(options)
    main = None if options.files or not named else _main(named)
    if main is not None and stdin_waits():
        _pass_over_stdin(main, named[main][0], options, console)
    dataset = open_dataset(options, files(options) if main is None else named[main])
    names: dict[str, SourceSpec | Dataset[Any]] = {**named}
    if main is not None:
        names[main] = dataset
    with dataset:
        console.live = any(source.is_pipe for source in dataset.sources)
        asked = dataset.query(
            options.query,
            stream=options.stream or None,
            names=names,
            args=args_of(options),
            where=options.where,
            allow_env=options.allow_env,
            matches=options.matches,
            nulls="emit" if options.null == "emit" else "drop",
            memory=options.memory,
            on_error=policy(options),
            errors=errors_to(options, console),
            limit=options.limit,
            max_depth=options.max_depth,
            reverse=options.rev,
            distinct_by=options.distinct_by,
            frame=options.frame,
            null_payload=options.null_payload,
            lanes=not options.no_lanes,
            index=_uses_indexes(options),
            shape="lines" if options.lines else "array" if options.array else None,
            strict_types=options.strict_types,
            engine=options.engine,
            master=options.master,
            partition_bytes=options.partition_bytes,
        )
        _warn_of_unused(asked, named.keys() - {main}, console)
        if chosen is None:
            console.text(f"{asked.explain()}\n")
            return 0
        asked.warn = lambda message: console.emit("memory", message)
        try:
            deliver(asked, dataset, chosen, options, console)
        finally:
            if options.stats:
                _report(asked.stats, console)
    return 0


def _explain(options: Namespace, console: Console) -> None:
    from headrace.cli.io.query_text import args_of
    from headrace.language.bindings import bindings_of
    from headrace.physical.distribution import described
    from headrace.physical.explain import explain
    from headrace.physical.query_plan import plan_query

    stream = options.stream or bool(options.names)
    bindings = bindings_of(args_of(options), os.environ if options.allow_env else None)
    told = explain(
        options.query,
        stream=stream,
        indexes=_uses_indexes(options),
        bindings=bindings,
    )
    console.text(f"{told}\n")
    if options.engine == "spark":
        plan = plan_query(options.query, stream=stream, bindings=bindings)
        console.text(f"{described(plan)}\n")


def _uses_indexes(options: Namespace) -> bool:
    return not (options.no_index or options.strict)


def _names(options: Namespace) -> dict[str, list[str]]:
    """Return the file of each name, in the order they were given."""
    from headrace.errors import UsageError

    names: dict[str, list[str]] = {}
    for name, file in options.names or ():
        if name in names:
            raise UsageError(
                f"--name {name} is given twice, for {names[name][0]} and {file}; choose "
                f"another name, or one pattern for both: --name '{name}=*.jsonl'"
            )
        names[name] = [file]
    return names


def _pass_over_stdin(
    main: str, file: str, options: Namespace, console: Console
) -> None:
    """Say that standard input is not read, or refuse where it may be meant as ``$``."""
    from headrace.errors import UsageError

    if main != "main" and _reads_main(options):
        raise UsageError(
            f"$ could be standard input or @{main}, and there is no FILE: add - for "
            f"standard input, or name the rows of $: --name main={file}"
        )
    console.emit("unread", f"standard input is not read: $ is @{main}; - names it")


def _reads_main(options: Namespace) -> bool:
    """Whether a query beside named sources reads the rows of ``$``."""
    from headrace.physical.query_plan import ValuePlan, plan_query

    plan = plan_query(options.query, stream=True, distinct_by=options.distinct_by)
    if isinstance(plan.main, ValuePlan):
        return any(question.source is None for question in plan.questions)
    return getattr(plan.main, "source", None) is None


def _main(names: dict[str, list[str]]) -> str:
    return "main" if "main" in names else next(iter(names))


def _warn_of_unused(asked: QueryResult, names: Set[str], console: Console) -> None:
    """Say which named sources the query does not use: they change what ``$`` is."""
    unused = sorted(names - {name for name, _place in asked.query.plan.names})
    if unused:
        of = ", ".join(f"@{name}" for name in unused)
        message = (
            f"the query does not use {of}; with --name, $ is the array of all rows"
        )
        console.emit("unused_names", message, names=unused)


def _report(counts: QueryStats, console: Console) -> None:
    said = [_said(counts), *(f"@{name}: {_said(read)}" for name, read in counts.named)]
    console.emit(
        "stats",
        "\n  ".join([*said, *(error.what for error in counts.errors[:10])]),
        rows=counts.rows,
        emitted=counts.emitted,
        filtered=counts.filtered,
        skipped=counts.skipped,
        blank=counts.blank,
        bad=counts.bad,
        outside=counts.outside,
    )


def _said(counts: QueryStats | Counts) -> str:
    outside = f" + outside the times {counts.outside}" if counts.outside else ""
    return (
        f"rows {counts.rows} = emitted {counts.emitted} + filtered {counts.filtered} "
        f"+ skipped {counts.skipped} + blank {counts.blank}{outside}"
    )
