"""``headrace join``: rows with those of another file that have their key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.console import counted
from headrace.cli.options.common import BAD_ROWS, FILE, FILES, OPTIONS
from headrace.cli.options.index import EVENTS
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.api.dataset import Dataset
    from headrace.api.join import JoinPlan, JoinResult
    from headrace.cli.console import Console
    from headrace.errors import KeyIndexError

ABOUT = """\
For each row of FILE, and each row of RIGHT with its key, prints the left row with the
fields of the right one added. Of fields that both have, the right value counts, at the
place of the left one; the key of the right row is left out, unless --pick names it. A
left row without a right one is left out; with --how left it is printed as it is. Rows
come in the order of FILE, right ones in that of RIGHT, and keep their bytes: numbers
their digits.

Keys are equal as values are in a query: 1 is 1.0, and not "1"; with --text-keys it is.
Null, a field that is missing, an array and an object are equal to nothing.

RIGHT is held in memory, up to --memory. If it is larger than 8MiB and has an index of the
key, the index is used instead where it is faster, or where RIGHT is too large; it takes
little memory however large RIGHT is. --explain says which, and why. The rows are the same.

A line of either side that is not JSON ends the run; --on-error skip leaves such lines out
and counts them. Blank lines are left out."""

EXAMPLES = (
    Example(
        "headrace join users.jsonl --left-key id --right-key id app.jsonl",
        "with the fields of the user",
    ),
    Example(
        "headrace head app.jsonl | headrace join users.jsonl --on id --how left",
        "also rows that have no user",
    ),
    Example(
        "headrace join app.jsonl --on id --target events --pick level,ms users.jsonl",
        "all events of a user in one array",
    ),
    Example(
        "headrace join app.jsonl --on id --prefix app_ --indicator found users.jsonl",
        "fields with other names, and whether there was a match",
    ),
    Example(
        "headrace join app.jsonl --on id --right-index --explain users.jsonl",
        "by the index of app.jsonl, and how it went",
    ),
)

ARGUMENTS = (
    FILE._replace(name="right", help=f"the right side: {FILE.help}", metavar="RIGHT"),
    FILES._replace(help=f"the left side: {FILES.help}"),
    Argument(
        "on",
        "text",
        "the field of the key, or several with commas between them",
        ("--on",),
        metavar="FIELD[,FIELD...]",
    ),
    Argument(
        "left_key",
        "text",
        "the field of the key on the left side, where it has another name",
        ("--left-key",),
        metavar="FIELD[,FIELD...]",
    ),
    Argument(
        "right_key",
        "text",
        "the same on the right side",
        ("--right-key",),
        metavar="FIELD[,FIELD...]",
    ),
    Argument(
        "how",
        "choice",
        "left rows without a match: leave them out (inner), or print them as they are "
        "(left) [default: inner]",
        ("--how",),
        choices=("inner", "left"),
        default="inner",
    ),
    Argument(
        "target",
        "text",
        "print one row for each left one, with all matches as an array in this field",
        ("--target",),
        metavar="FIELD",
    ),
    Argument(
        "pick",
        "text",
        "take only these fields of right rows; may be repeated",
        ("--pick",),
        metavar="FIELD[,FIELD...]",
        arity="repeated",
    ),
    Argument(
        "prefix",
        "text",
        "put this before the names of right fields",
        ("--prefix",),
        metavar="TEXT",
        default="",
    ),
    Argument(
        "indicator",
        "text",
        'add this field, which is "both", or "left_only" where there is no match',
        ("--indicator",),
        metavar="FIELD",
    ),
    Argument(
        "text_keys",
        "switch",
        'compare keys as texts: the number 1 equals the text "1"',
        ("--text-keys",),
    ),
    Argument(
        "right_index",
        "file",
        "reach right rows by their key index [default: the one beside RIGHT]",
        ("--right-index",),
        metavar="PATH",
        arity="optional",
    ),
    Argument(
        "fallback",
        "choice",
        "what to do without the index that --right-index asks for: hold RIGHT in memory, "
        "or fail [default: hash]",
        ("--fallback",),
        choices=("hash", "error"),
        default="hash",
    ),
    Argument(
        "memory",
        "size",
        "how much of RIGHT may be held [default: 1GiB]",
        ("--memory",),
        metavar="SIZE",
        default=1 << 30,
    ),
    *BAD_ROWS,
    Argument(
        "explain",
        "choice",
        "say how right rows are reached, and afterwards what was done; with =plan, print "
        "no rows",
        ("--explain",),
        choices=("plan",),
        arity="optional",
    ),
    Argument("no_progress", "switch", "show no progress", ("--no-progress",)),
    *(
        each
        for each in OPTIONS
        if each.name not in ("strict", "no_index", "events", "quiet")
    ),
    Argument(
        "strict",
        "switch",
        "fail if a line of either side is bad or too long, or an index cannot be used",
        ("--strict",),
    ),
    Argument(
        "no_index",
        "switch",
        "use no key index, and neither read nor write checkpoints on disk",
        ("--no-index",),
    ),
    *EVENTS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the joined rows."""
    import time
    from functools import partial

    from headrace.cli.io.inputs import open_dataset
    from headrace.cli.io.results import errors_to, policy
    from headrace.cli.options.index import fields, say_keyless

    names = [name for text in options.pick or () for name in fields(text)]

    def key(text: str | None) -> tuple[str, ...] | None:
        return None if text is None else fields(text)

    with open_dataset(options, _left(options)) as dataset:
        console.live = any(source.is_pipe for source in dataset.sources)
        joined = dataset.join(
            options.right,
            key(options.on),
            left_on=key(options.left_key),
            right_on=key(options.right_key),
            how=options.how,
            target=options.target,
            pick=names or None,
            prefix=options.prefix,
            indicator=options.indicator,
            index=_index(options),
            require_index=_requires_index(options),
            text_keys=options.text_keys,
            memory=options.memory,
            on_error=policy(options),
            errors=errors_to(options, console),
            strict=options.strict,
            report=lambda trouble: _say_trouble(console, trouble),
        )
        joined.report_keyless = partial(say_keyless, console)
        if options.explain is not None:
            _say_plan(console, joined.plan)
        if options.explain == "plan":
            return 0
        began = time.monotonic()
        try:
            _print(joined, dataset, options, console)
        finally:
            if options.explain is not None:
                _say_stats(console, joined, int((time.monotonic() - began) * 1000))
            if options.stats:
                _say_rows(console, joined)
    return 0


def _left(options: Namespace) -> list[str]:
    from headrace.cli.io.inputs import files
    from headrace.store.files.source import STDIN

    if options.explain == "plan" and not options.files:
        return [STDIN]
    return files(options)


def _index(options: Namespace) -> bool | str | None:
    """Say which index is wanted, as `Dataset.join` has it."""
    from headrace.errors import UsageError

    path: str | None = options.right_index
    if options.no_index:
        if path is not None:
            raise UsageError("--right-index asks for an index, and --no-index for none")
        return False
    return True if path == "" else path


def _requires_index(options: Namespace) -> bool:
    asked = _index(options) not in (None, False)
    return asked and bool(options.strict or options.fallback == "error")


def _print(
    joined: JoinResult, dataset: Dataset[bytes], options: Namespace, console: Console
) -> None:
    from contextlib import ExitStack

    from headrace.cli.console import ending_cleanly
    from headrace.cli.io.inputs import watching
    from headrace.cli.io.results import say_bad

    with ExitStack() as stack:
        stack.enter_context(ending_cleanly())
        if not options.no_progress:
            report = stack.enter_context(console.progress())
            sources = (*dataset.sources, *joined.right.sources)

            def done() -> int:
                return joined.run.bytes_done()

            stack.enter_context(watching(sources, report, done))
        for lines in joined.lines():
            console.write(lines)
    stats = joined.stats
    say_bad(stats.bad, options, console)
    right = stats.right.bad + stats.right.too_long
    if right and not options.stats:
        message = f"{joined.right.name}: {counted(right, 'line')} passed over"
        console.emit("bad_rows", message, bad=right, errors=None)


def _say_trouble(console: Console, trouble: KeyIndexError) -> None:
    from headrace.cli.options.index import say_fallback, say_trouble

    say_trouble(console, trouble)
    say_fallback(console, trouble)


def _say_plan(console: Console, plan: JoinPlan) -> None:
    from dataclasses import asdict

    how = {"hash": "held in memory", "index": f"reached by {plan.index}"}
    message = f"{plan.right}: {how[plan.strategy]}, since {plan.reason}"
    console.emit("join_plan", message, **asdict(plan))


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
    stats = joined.stats
    counts, right = stats.counts, stats.right
    skipped = [("records", right.records), ("blank", right.blank)]
    skipped += [*right.skipped.items(), ("pending", right.pending)]
    of_right = " + ".join(f"{cause} {count}" for cause, count in skipped if count)
    said = [
        f"rows {counts.rows} = emitted {counts.emitted} + filtered {counts.filtered} "
        f"+ skipped {counts.skipped} + blank {counts.blank}",
        f"{joined.right.name}: lines {right.lines} = {of_right or 0}",
        *(error.what for error in stats.errors),
        *(
            f"{path}: line {row.line}, byte {row.offset}: {row.reason}"
            for path, row in stats.right_bad
        ),
    ]
    console.emit(
        "stats",
        "\n  ".join(said),
        rows=counts.rows,
        emitted=counts.emitted,
        filtered=counts.filtered,
        skipped=counts.skipped,
        blank=counts.blank,
        bad=stats.bad,
        right=right._asdict(),
    )
