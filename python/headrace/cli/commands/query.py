"""``headrace query``: the query language over the rows of files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.api.formats import FORMATS
from headrace.cli.argument import FILES, Argument
from headrace.cli.flags import BAD_ROWS, ENGINE, READING, TIMES, flag
from headrace.errors import HeadraceError, SourceNotFoundError, UsageError
from headrace.kernel.values import parse
from headrace.record import field_names
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Set

    from headrace.api.dataset import Dataset
    from headrace.api.results import QueryResult, QueryStats, QueryWork
    from headrace.cli.console import Console
    from headrace.store.files.source import SourceSpec

ABOUT = """\
The query runs once for each row: $ is the row. With --stream, or if it begins with
$.rows(), it runs once over all rows. Each answer is printed on a line; null is not an
answer. Blank lines are skipped. A row that is printed unchanged keeps every byte.

The first line that is not JSON, or on which the query fails, ends the command; the message
names its file, line and byte, and the answers before it stand. --on-error skip goes on with
the next row. --on-error collect also reports each bad row, on standard error or in --errors
FILE: one JSON object on a line with file, line, offset, reason, column (of the query, if the
row is JSON) and raw (raw_base64 if it is not UTF-8).

--format json prints one array. csv and table have a column for each field that the query
names, as in {id, name}; otherwise for each field of the first 1000 answers (1 MiB), which are
held back. An answer that is not an object has the column "value". A field that comes later is
an error in csv; in a table it is left out, and a note says so. csv follows RFC 4180: null is
an empty field, an empty string "", arrays and objects are JSON. The types of the columns of
parquet fit all answers, which are read first; a column of several types is JSON text.

A file of --out, and of --errors, appears when it is complete, and replaces a file of that
name, even one that was read; on failure and Ctrl-C nothing is left. Its name chooses the
format (.jsonl, .ndjson, .json, .csv, .parquet) and the compression (.gz, .zst, .bz2, .xz).

A filter such as id == 7, or a query with --matches that begins with one, reads only the
rows that a key index of id lists, if the file has one (see headrace index build) and no line
of it is bad. The answers and the counts are the same; --explain with a FILE prints what is
read. --no-index and --strict read all rows.

With --since and --until, FILEs are logs. The query runs over their lines with times from
--since up to, but not with, --until, whatever their order; segments without such lines are not
read. --stats counts the other lines as outside the times.

--stats prints what became of the rows, and the work: the rows that were parsed, and those that
were not read because of an index or the times; the bytes that were read of all sources, as they
are stored; the threads; the bytes that the query held at most, as --memory counts them; the
seconds of the run and of all processors. The seconds of its stages are added up over threads:
reading (input, decompression, cutting into rows), evaluating (parsing rows and running the query
over them), merging the results of threads, finishing (what is left when all rows were read) and
writing (output). --explain --analyze prints the plan with them, and with the elements that came
to each step and those that passed, whose counting makes the evaluation take longer.

With --engine spark the query runs in tasks of Spark, on this machine or on the cluster at
--master; --explain prints which part of the query they run. If key indexes list few rows, no
tasks are started.

A query can read other files too: --name users=users.jsonl makes @users the array of their
rows, for joins and look-ups, and $ the array of all rows of FILE. Without a FILE, $ is the
source called main, or the first one. If standard input is a pipe or a file, it could be $
too: write - for it, or call a source main."""

EXAMPLES = """\
headrace query '$.id' app.jsonl  # one field of each row
headrace query '{id, level} if ms > 500 else null' app.jsonl  # some fields of some rows
headrace query --matches 'level == "error"' app.jsonl.gz
    # whole rows, byte for byte except for space around them
headrace query '$.rows().count_by(level)' app.jsonl  # about all rows
headrace query --stream '$.sum(ms)' app.jsonl  # the same, another way
headrace query --explain '$.rows().sort(id).take(3)'  # the plan
headrace query --explain --analyze '$.rows().sort(id).take(3)' app.jsonl
    # the plan, with the rows, bytes and seconds of each step
headrace query '$.lookup(@users, on: user == id)' app.jsonl --name users=users.jsonl
    # with the fields of another file
headrace query --engine spark '$.rows().sum(ms)' logs/
    # with tasks of Spark, on all cores
headrace query --reverse --limit 3 '$' app.jsonl  # the newest rows first
headrace query --stream '$.sum(qty)' trades --since -15m
    # about the last 15 minutes of a log
headrace query '{id, ms}' --format table app.jsonl  # aligned, for people
headrace query '{id, ms}' --format csv app.jsonl  # for a spreadsheet
headrace query '$' --out later.jsonl.zst --errors bad.jsonl app.jsonl
    # to a file, bad rows to another
"""

ARGUMENTS = (
    Argument(
        "query",
        "text",
        "the query; with --query-file there is none, and all arguments are FILEs",
        metavar="QUERY",
        arity="optional",
    ),
    FILES,
    flag("--query-file"),
    flag("--arg"),
    flag("--argjson"),
    flag("--allow-env"),
    flag("--where"),
    flag("--matches"),
    flag("--stream"),
    flag("--name"),
    *TIMES,
    flag("--reverse"),
    flag("--distinct-by", "with --reverse, the newest"),
    flag("--limit"),
    flag("--lines"),
    flag("--array"),
    flag("--nulls", default="drop"),
    *BAD_ROWS,
    flag(
        "--format",
        "; ".join(f"{each.name}: {each.doc}" for each in FORMATS),
        otherwise="from the name of --out, else ndjson",
        choices=tuple(each.name for each in FORMATS),
    ),
    flag("--raw", "strings without quotes"),
    flag("--tsv"),
    flag("--out", otherwise="standard output"),
    flag("--max-depth", default="256"),
    flag("--frame"),
    flag("--null-payload", default="skip"),
    flag("--threads", otherwise="one for each core"),
    flag("--no-lanes"),
    flag("--strict-types"),
    flag("--explain"),
    flag("--analyze"),
    *ENGINE,
    flag(
        "--memory",
        "bounds the JSON that a query holds; working on it takes a few times more",
        default="1GiB",
    ),
    *READING,
)


def run(options: Namespace, console: Console) -> int:
    """Print the answers."""
    from headrace.api.options import QueryOptions
    from headrace.cli.io.inputs import files, given, open_dataset, stdin_waits
    from headrace.cli.io.results import deliver, errors_to, format_of, policy

    take_query(options)
    choose_format(options)
    _check_explain(options)
    if options.explain and not (options.files or options.analyze):
        _explain(options, console)
        return 0
    if options.matches and options.nulls == "emit":
        raise UsageError("--matches prints rows; it has no null to --nulls emit")
    if options.lines and options.array:
        raise UsageError("--lines and --array are two shapes of the answer; choose one")
    chosen = None if options.explain else format_of(options, console)
    named = _names(options)
    main = None if options.files or not named else _main(named)
    if main is not None and stdin_waits():
        _pass_over_stdin(main, named[main][0], options, console)
    chosen_files = files(options) if main is None else named[main]
    try:
        dataset = open_dataset(options, chosen_files)
    except SourceNotFoundError as error:
        raise _swapped(options, error) from None
    names: dict[str, SourceSpec | Dataset[Any]] = {**named}
    if main is not None:
        names[main] = dataset
    with dataset:
        console.live = any(source.is_pipe for source in dataset.sources)
        chosen_options = given(options, QueryOptions) | {
            "stream": options.stream or None,
            "names": names,
            "args": args_of(options),
            "on_error": policy(options),
            "errors": errors_to(options, console),
            "lanes": not options.no_lanes,
            "index": _uses_indexes(options),
            "shape": "lines" if options.lines else "array" if options.array else None,
        }
        result = dataset.query(options.query, **chosen_options)
        _warn_of_unused(result, named.keys() - {main}, console)
        if chosen is None:
            console.text(f"{result.explain(analyze=options.analyze)}\n")
            return 0
        result.warn = lambda message: console.emit("memory", message)
        try:
            deliver(result, dataset, chosen, options, console)
        finally:
            if options.stats:
                _report(result.stats, console)
    return 0


def _swapped(options: Namespace, error: SourceNotFoundError) -> HeadraceError:
    """Return the error for a query where a FILE is expected, and a FILE where the query is."""
    if error.path not in options.files or not os.path.isfile(options.query):  # noqa: PTH113, no import
        return error
    return UsageError(
        f"{error.path}: no such file; the query comes before the files: "
        f"headrace query {error.path!r} {options.query}"
    )


def _check_explain(options: Namespace) -> None:
    """Refuse --analyze without --explain, and flags about answers beside it: it prints none."""
    if options.analyze and not options.explain:
        raise UsageError(
            "--analyze measures the steps that --explain prints: write --explain "
            "--analyze, or --stats for the times of a run that prints its answers"
        )
    if not options.explain:
        return
    flags = {"out": "--out", "format": "--format (or --raw, --tsv)", "stats": "--stats"}
    for name, flag_text in flags.items():
        if getattr(options, name):
            raise UsageError(
                f"--explain prints the plan and no answers, so {flag_text} means nothing "
                "beside it; --explain --analyze prints the plan with what was measured"
            )


def _explain(options: Namespace, console: Console) -> None:
    from headrace.language.tokens import bindings_of
    from headrace.physical.distribution import described
    from headrace.physical.explain import explain
    from headrace.physical.query_plan import plan_query

    stream = options.stream or bool(options.name)
    bindings = bindings_of(args_of(options), os.environ if options.allow_env else None)
    explained = explain(
        options.query,
        stream=stream,
        indexes=_uses_indexes(options),
        bindings=bindings,
    )
    console.text(f"{explained}\n")
    if options.engine == "spark":
        plan = plan_query(options.query, stream=stream, bindings=bindings)
        console.text(f"{described(plan)}\n")


def _uses_indexes(options: Namespace) -> bool:
    return not (options.no_index or options.strict)


def _names(options: Namespace) -> dict[str, list[str]]:
    """Return the file of each name, in the order they were given."""
    names: dict[str, list[str]] = {}
    for name, file in options.name or ():
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
    """Warn that standard input is not read, or raise where the caller may mean it as ``$``."""
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


def _warn_of_unused(result: QueryResult, names: Set[str], console: Console) -> None:
    """Warn of named sources that the query does not use: they change what ``$`` is."""
    unused = sorted(names - {name for name, _place in result.query.plan.names})
    if unused:
        of = ", ".join(f"@{name}" for name in unused)
        message = (
            f"the query does not use {of}; with --name, $ is the array of all rows"
        )
        console.emit("unused_names", message, names=unused)


def _report(counts: QueryStats, console: Console) -> None:
    from headrace.cli.io.line_counts import row_counts, row_summary

    work = counts.work
    lines = [
        row_summary(counts, counts.outside),
        *(f"@{name}: {row_summary(read, read.outside)}" for name, read in counts.named),
        *(error.what for error in counts.errors[:10]),
        _work_line(work),
        _times_line(work),
    ]
    console.emit(
        "stats",
        "\n  ".join(lines),
        **row_counts(counts),
        bad=counts.bad,
        outside=counts.outside,
        **{name: round(getattr(work, name), 6) for name in field_names(work)},
    )


def _work_line(work: QueryWork) -> str:
    threads = "1 thread" if work.threads == 1 else f"{work.threads} threads"
    return (
        f"parsed {work.parsed}, not read {work.unread}, "
        f"{format_size(work.bytes_read)} read, {threads}, "
        f"{format_size(work.memory)} held at most"
    )


def _times_line(work: QueryWork) -> str:
    stages = (
        ("reading", work.read_seconds),
        ("evaluating", work.evaluate_seconds),
        ("merging", work.merge_seconds),
        ("finishing", work.finish_seconds),
        ("writing", work.write_seconds),
    )
    times = ", ".join(f"{name} {seconds:.3f}" for name, seconds in stages)
    return f"{work.seconds:.3f} s, CPU {work.cpu_seconds:.3f} s: {times}"


LONGEST = 1 << 20
"""Bytes of a query in a file."""


def take_query(options: Namespace) -> None:
    """Read the query of --query-file; the first argument is a FILE then."""
    if options.query_file is None:
        if options.query is None:
            raise UsageError(
                "give a QUERY, or --query-file FILE; see `headrace query --help`"
            )
        return
    if options.query is not None:
        options.files = [options.query, *options.files]
    options.query = _text(options.query_file)


def _text(path: str) -> str:
    if path == "-":
        content = sys.stdin.buffer.read(LONGEST + 1)
    else:
        with Path(path).open("rb") as file:
            content = file.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise UsageError(
            f"{path}: longer than 1 MiB; --query-file reads a query, not rows"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: byte {error.start} is not UTF-8; save the query as UTF-8 text"
        ) from None


def args_of(options: Namespace) -> dict[str, object]:
    """Return the values of --arg and --argjson by name."""
    args: dict[str, object] = {}
    for option, given in (("--arg", options.arg), ("--argjson", options.argjson)):
        for name, text in given or ():
            if name in args:
                raise UsageError(f"{option} {name}: ${name} is given twice")
            args[name] = text if option == "--arg" else _json(name, text)
    return args


def _json(name: str, text: str) -> object:
    try:
        value = parse(text.encode())
    except ValueError as error:
        reason = str(error)
    else:
        if text.strip():
            return value
        reason = "it is empty"
    message = f"--argjson {name}={text}: not JSON: {reason}; for a text write --arg"
    raise UsageError(message)


def choose_format(options: Namespace) -> None:
    """Turn --raw and --tsv into --format."""
    chosen = [
        *([options.format] if options.format else []),
        *(["raw"] if options.raw else []),
        *(["tsv"] if options.tsv else []),
    ]
    if len(set(chosen)) > 1:
        raise UsageError(f"{' and '.join(chosen)}: answers have one format; choose one")
    options.format = chosen[0] if chosen else None
