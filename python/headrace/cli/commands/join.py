"""``headrace join``: rows with those of another file that have their key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headrace.cli.argument import FILE, FILES
from headrace.cli.console import Console, counted, ending_cleanly
from headrace.cli.flags import BAD_ROWS, READING, flag
from headrace.errors import UsageError
from headrace.store.files.units import format_size

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.dataset import Dataset
    from headrace.api.join import JoinPlan, JoinResult
    from headrace.errors import KeyIndexError

ABOUT = """\
For each row of FILE, and each row of RIGHT with its key, prints the left row with the
fields of the right row added. If both have a field, the value is that of the right row, at the
place of the left one. The key of the right row is left out, unless --pick names it. A left row
without a match is left out; with --how left it is printed as it is. Left rows keep the order
of FILE, right rows that of RIGHT, and values keep their bytes: numbers their digits.

Keys are equal as values are in a query: 1 equals 1.0, but not "1", except with --text-keys.
Null, a missing field, an array and an object match nothing.

RIGHT is held in memory, up to --memory. If it is larger than 8 MiB and has an index of the
key, the join uses the index where that is faster, or where RIGHT is too large; the index takes
little memory however large RIGHT is. --explain prints which one is used, and why. The rows
are the same. With --right-index and --require-index, the index is used if it can be.

A line of either side that is not JSON ends the command; --on-error skip leaves such lines out
and counts them. Blank lines are left out."""

EXAMPLES = """\
headrace join users.jsonl --left-on id --right-on id app.jsonl
    # each row with the fields of its user
headrace head app.jsonl | headrace join users.jsonl --on id --how left
    # also rows that have no user
headrace join app.jsonl --on id --target events --pick level,ms users.jsonl
    # all events of a user in one array
headrace join app.jsonl --on id --prefix app_ --indicator found users.jsonl
    # fields with other names, and whether there was a match
headrace join app.jsonl --on id --require-index --explain users.jsonl
    # the plan of a join with the index of app.jsonl
"""

ARGUMENTS = (
    FILE._replace(name="right", help=f"the right side: {FILE.help}", metavar="RIGHT"),
    FILES._replace(help=f"the left side: {FILES.help}"),
    flag("--on"),
    flag("--left-on"),
    flag("--right-on"),
    flag("--how", default="inner"),
    flag("--target"),
    flag("--pick"),
    flag("--prefix"),
    flag("--indicator"),
    flag("--text-keys"),
    flag("--right-index", otherwise="the one beside RIGHT, if it is faster"),
    flag("--require-index", "of RIGHT"),
    flag("--memory", "bounds the right rows that are held", default="1GiB"),
    *BAD_ROWS,
    flag("--explain"),
    *READING,
)


def run(options: Namespace, console: Console) -> int:
    """Print the joined rows."""
    import time
    from functools import partial

    from headrace.api.options import JoinOptions
    from headrace.cli.io.index_trouble import say_keyless
    from headrace.cli.io.inputs import given, open_dataset
    from headrace.cli.io.results import errors_to, policy

    names = [name for some in options.pick or () for name in some]
    with open_dataset(options, _left(options)) as dataset:
        console.live = any(source.is_pipe for source in dataset.sources)
        joined = dataset.join(
            options.right,
            options.on,
            **given(options, JoinOptions)
            | {
                "pick": names or None,
                "prefix": options.prefix or "",
                "index": _index(options),
                "on_error": policy(options),
                "errors": errors_to(options, console),
                "report": partial(_say_trouble, console),
            },
        )
        joined.report_keyless = partial(say_keyless, console)
        if options.explain:
            console.text(_described(joined.plan))
            return 0
        began = time.monotonic()
        try:
            _print(joined, dataset, options, console)
        finally:
            if options.stats:
                _say_stats(console, joined, int((time.monotonic() - began) * 1000))
                _say_rows(console, joined)
    return 0


def _left(options: Namespace) -> list[str]:
    from headrace.cli.io.inputs import files
    from headrace.store.files.source import STDIN

    if options.explain and not options.files:
        return [STDIN]
    return files(options)


def _index(options: Namespace) -> Literal[False] | str | None:
    """Return the option `index` of `Dataset.join`."""
    path: str | None = options.right_index
    if not options.no_index:
        return path
    if path is not None or options.require_index:
        wants = "--require-index" if path is None else "--right-index"
        raise UsageError(f"{wants} needs an index, and --no-index uses none")
    return False


def _print(
    joined: JoinResult, dataset: Dataset[bytes], options: Namespace, console: Console
) -> None:
    from headrace.cli.io.inputs import watching
    from headrace.cli.io.results import say_bad

    sources = (*dataset.sources, *joined.right.sources)

    def bytes_done() -> int:
        # Each reading of the rows is another run.
        return joined.run.bytes_done()

    with ending_cleanly(), watching(console, sources, bytes_done):
        for lines in joined.lines():
            console.write(lines)
    stats = joined.stats
    say_bad(stats.bad, options, console)
    right = stats.right.bad + stats.right.too_long
    if right and not options.stats:
        message = f"{joined.right.name}: {counted(right, 'line')} skipped"
        console.emit("bad_rows", message, bad=right, errors=None)


def _say_trouble(console: Console, trouble: KeyIndexError) -> None:
    from headrace.cli.io.index_trouble import say_fallback, say_trouble

    say_trouble(console, trouble)
    say_fallback(console, trouble)


def _described(plan: JoinPlan) -> str:
    """Describe a plan for people."""
    if plan.strategy == "hash":
        facts = [f"{plan.right}: held in memory, since {plan.reason}"]
        if plan.estimated_memory is not None:
            facts.append(f"estimated memory: {format_size(plan.estimated_memory)}")
    else:
        facts = [f"{plan.right}: found with its key index, since {plan.reason}"]
    if plan.index is not None:
        behind = "" if plan.fresh else ", older than the last rows"
        keys = counted(plan.keys or 0, "key")
        facts.append(f"index: {plan.index}, version {plan.format}, {keys}{behind}")
    return "".join(f"{fact}\n" for fact in facts)


def _say_stats(console: Console, joined: JoinResult, duration: int) -> None:
    stats = joined.stats
    counts = stats.counts
    console.emit(
        "join_stats",
        f"{counted(counts.lookups, 'key')} looked up ({stats.mode}), "
        f"{counted(counts.hits, 'hit')}, {counted(counts.lines, 'row')} of output, "
        f"{duration} ms",
        mode=stats.mode,
        left_records=counts.rows - counts.blank - counts.skipped,
        lookups=counts.lookups,
        hits=counts.hits,
        output_records=counts.lines,
        source_reads=stats.reads,
        bytes_read=stats.bytes_read,
        duration_ms=duration,
    )


def _say_rows(console: Console, joined: JoinResult) -> None:
    from headrace.cli.io.line_counts import row_counts, row_summary

    stats = joined.stats
    counts, right = stats.counts, stats.right
    skipped = [("records", right.records), ("blank", right.blank)]
    skipped += [*right.skipped.items(), ("pending", right.pending)]
    of_right = " + ".join(f"{cause} {count}" for cause, count in skipped if count)
    lines = [
        row_summary(counts),
        f"{joined.right.name}: lines {right.lines} = {of_right or 0}",
        *(error.what for error in stats.errors),
        *(
            f"{path}: line {row.line}, byte {row.offset}: {row.reason}"
            for path, row in stats.right_bad
        ),
    ]
    console.emit(
        "stats",
        "\n  ".join(lines),
        **row_counts(counts),
        bad=stats.bad,
        right=right._asdict(),
    )
