"""The table of flags: each has one type and one meaning.

A command picks its flags with `flag`. It may add to the help text, offer fewer choices and
set a default; type and meaning are those of the table.
"""

from __future__ import annotations

from keyword import iskeyword

from headrace.cli.argument import Argument, Arity, Kind


def _row(spelling: str, kind: Kind, text: str, arity: Arity = "one") -> Argument:
    """Return a row of the table.

    >>> (
    ...     _row("-n --limit N", "number", "").spelling,
    ...     _row("--from LINE", "line", "").name,
    ... )
    ('-n, --limit N', 'from_')
    """
    flags = tuple(word for word in spelling.split() if word.startswith("-"))
    value = spelling.removeprefix(" ".join(flags)).strip()
    name = flags[-1].removeprefix("--").replace("-", "_")
    row = Argument(f"{name}_" if iskeyword(name) else name, kind, text, flags)
    if kind == "choice":
        return row._replace(choices=tuple(value.split("|")), arity=arity)
    return row._replace(metavar=value, arity=arity)


FLAGS: tuple[Argument, ...] = (
    # Every command.
    _row("--events text|json", "choice", "format of messages on standard error"),
    _row("--progress", "switch", "show progress"),
    _row("--no-progress", "switch", "show no progress"),
    _row("-q --quiet", "switch", "show no progress and no warnings"),
    _row("-h --help", "switch", "show this help and exit"),
    # Reading rows.
    _row(
        "--stats",
        "switch",
        "after the work, print on standard error how many rows were read, and of which kinds",
    ),
    _row("--strict", "switch", "fail if a row is bad or too long"),
    _row(
        "--on-error abort|skip|collect",
        "choice",
        "what to do with a bad row: end the command (abort), leave it out (skip), or also "
        "report it (collect)",
    ),
    _row(
        "--errors FILE", "file", "write bad rows to this file, a JSON object for each"
    ),
    _row("--max-line SIZE", "size", "a longer row is a bad row, and is not read"),
    _row(
        "--max-ratio N",
        "number",
        "refuse compressed data, from 256 MiB on, that is over this many times its size",
    ),
    _row(
        "--max-decoded SIZE",
        "size",
        "refuse compressed data that is longer than this when decoded",
    ),
    _row("-n --limit N", "number", "print at most this many rows"),
    _row(
        "--since TIME",
        "time",
        "only lines with this time or a later one: 2026-01-31T12:00:00Z (UTC if it names no "
        "zone), milliseconds since 1970, now, or -15m for 15 minutes ago",
    ),
    _row("--until TIME", "time", "only lines with an earlier time"),
    _row("-f --follow", "switch", "go on with rows that are appended"),
    _row(
        "-F --wait",
        "switch",
        "follow, and wait for the file if it does not exist yet",
    ),
    _row("--poll SECONDS", "seconds", "how often to look for new rows"),
    _row("--per-file", "switch", "print each file's count, a tab and its path"),
    # Output.
    _row("-o --out PATH", "file", "write to this file or directory"),
    _row(
        "--format ndjson|json|raw|table|csv|tsv|parquet|tree|dot|mermaid",
        "choice",
        "form of the output",
    ),
    _row("-r --raw", "switch", "the same as --format raw"),
    _row("--tsv", "switch", "the same as --format tsv"),
    _row("--json", "switch", "print JSON instead of text"),
    _row(
        "--prometheus",
        "switch",
        "print metrics in the text format of Prometheus instead of text",
    ),
    _row("--explain", "switch", "print the plan and end, without reading rows"),
    _row(
        "--analyze",
        "switch",
        "with --explain, run the query, and print the rows, bytes and seconds of each step "
        "of the plan instead of the answers",
    ),
    _row("--force", "switch", "replace what is there, even if it is something else"),
    _row("--dry-run", "switch", "change nothing, only print what would change"),
    # Indexes.
    _row(
        "--on FIELD[,FIELD...]",
        "fields",
        "the field of the key, or several fields with commas between them",
    ),
    _row("--graph", "switch", "the graph index of FILE, not a key index"),
    _row("--from-field FIELD", "text", "the field of the node that an edge comes from"),
    _row("--pred-field FIELD", "text", "the field of the predicate of an edge"),
    _row("--to-field FIELD", "text", "the field of the node that an edge goes to"),
    _row("--incoming", "switch", "index incoming edges too, not only outgoing ones"),
    _row("--index FILE", "file", "the index file"),
    _row(
        "--index-dir DIR",
        "directory",
        "directory of index files and checkpoints, instead of beside the data",
    ),
    _row("--no-index", "switch", "neither read nor write index files and checkpoints"),
    _row(
        "--require-index",
        "switch",
        "fail if no index can be used, instead of scanning",
    ),
    _row("--index-version 1|2", "choice", "version of the index format to write"),
    _row(
        "--mode multi|unique",
        "choice",
        "whether several rows may have one key (multi) or none may (unique)",
    ),
    _row("--compact", "switch", "the same as --index-version 2: about 6 bytes a row"),
    _row(
        "--full", "switch", "build the index again, with the options it was built with"
    ),
    _row("--deep", "switch", "compare every row too"),
    _row("--memory SIZE", "size", "how much memory to use"),
    _row("--threads N", "number", "how many threads to use; the output is the same"),
    _row(
        "--eq VALUE[,VALUE...]",
        "text",
        "keys, with commas between them. A key matches texts and numbers, however they are "
        "written: 1, 1.0 and 1e0 find the same numbers. For a key of several fields, give a "
        "value for each field, or a JSON array of them",
        "repeated",
    ),
    _row("--eq-raw VALUE", "text", "a key as it is, commas too", "repeated"),
    _row(
        "--eq-json JSON",
        "text",
        'a key as JSON: 1 is the number, "1" the text',
        "repeated",
    ),
    _row("--stdin", "switch", "read keys from standard input, one a line, as --eq-raw"),
    _row("--json-keys", "switch", "read the keys of --stdin as --eq-json"),
    _row(
        "--typed",
        "switch",
        "keys of --eq, --eq-raw and --stdin match texts only, not numbers",
    ),
    _row("--require-match", "switch", "fail if nothing is found"),
    _row(
        "--auto-rebuild",
        "switch",
        "build an index that is missing, damaged or outdated, then use it",
    ),
    # Joins.
    _row(
        "--left-on FIELD[,FIELD...]",
        "fields",
        "the key on the left side, if its name differs",
    ),
    _row(
        "--right-on FIELD[,FIELD...]",
        "fields",
        "the key on the right side, if its name differs",
    ),
    _row(
        "--how inner|left",
        "choice",
        "what to do with a left row without a match: leave it out (inner), or print it as it "
        "is (left)",
    ),
    _row(
        "--target FIELD",
        "text",
        "print one row for each left row, with all its matches as an array in this field",
    ),
    _row(
        "--pick FIELD[,FIELD...]",
        "fields",
        "take only these fields of right rows; may be repeated",
        "repeated",
    ),
    _row("--prefix TEXT", "text", "put this before the names of right fields"),
    _row(
        "--indicator FIELD",
        "text",
        'add this field: "both", or "left_only" where there is no match',
    ),
    _row(
        "--text-keys",
        "switch",
        'compare keys as text: the number 1 equals the text "1"',
    ),
    _row("--right-index FILE", "file", "find right rows with this key index"),
    # Graphs.
    _row(
        "--edges FILE",
        "file",
        "the edges: a file, compressed or not, with one edge in each row; or a set of "
        "shards, a directory, a log or a pattern; may be repeated",
        "repeated",
    ),
    _row(
        "--pred PRED[,PRED...]",
        "text",
        "follow only edges with one of these predicates; may be repeated",
        "repeated",
    ),
    _row(
        "--pred-raw PRED",
        "text",
        "follow edges with this predicate, commas and all; may be repeated",
        "repeated",
    ),
    _row(
        "--direction out|in|both",
        "choice",
        "follow edges forwards, backwards, or both ways",
    ),
    _row("--hops N", "number", "follow at most this many edges from a start node"),
    _row("--seed ID", "text", "a start node; may be repeated", "repeated"),
    _row(
        "--seed-field FIELD",
        "text",
        "take start nodes from this field of the rows on standard input",
    ),
    _row(
        "--emit-edges",
        "switch",
        "print the edges that are followed too, each before the node it leads to",
    ),
    _row(
        "--tree",
        "switch",
        "print only the edges that lead to a node for the first time",
    ),
    _row("--most-edges N", "number", "follow at most this many edges of each node"),
    _row(
        "--per-seed",
        "switch",
        "walk from each start node separately, as it arrives, and name it in each line",
    ),
    # Queries.
    _row("--query-file FILE", "file", "read the query from this file, UTF-8 text"),
    _row(
        "--arg NAME=TEXT",
        "assigned",
        "define $NAME as this text in the query; may be repeated",
        "repeated",
    ),
    _row(
        "--argjson NAME=JSON",
        "assigned",
        "define $NAME as this JSON value in the query; may be repeated",
        "repeated",
    ),
    _row(
        "--name NAME=FILE",
        "named",
        "the rows of another file, as @NAME in the query; may be repeated",
        "repeated",
    ),
    _row(
        "--allow-env",
        "switch",
        'let the query read environment variables, as in env("HOME")',
    ),
    _row("--where EXPR", "text", "query only rows for which this expression is truthy"),
    _row(
        "--matches",
        "switch",
        "print the rows for which the answer is truthy, as they are",
    ),
    _row(
        "--stream",
        "switch",
        "run the query once over all rows: $ is the array of them",
    ),
    _row("--reverse", "switch", "read from the last row to the first"),
    _row(
        "--distinct-by KEY", "text", "query only the first row of each key that is read"
    ),
    _row(
        "--lines", "switch", "print each element of an array about all rows on a line"
    ),
    _row("--array", "switch", "print the elements about all rows as one array"),
    _row("--nulls drop|emit", "choice", "what to do with an answer that is null"),
    _row("--max-depth N", "number", "how deep values may be nested, up to 1000"),
    _row("--frame SEP", "text", "lines are a key, this separator and JSON"),
    _row(
        "--null-payload skip|keep|error",
        "choice",
        "what to do with a framed line whose JSON is null",
    ),
    _row(
        "--no-lanes",
        "switch",
        "parse all fields of a row, not only those the query reads; the answers are the same",
    ),
    _row(
        "--strict-types",
        "switch",
        "fail if an operation gets a value of the wrong type, such as a field of a number; "
        "null stays null",
    ),
    # Engines.
    _row(
        "--engine local|spark",
        "choice",
        "where the work runs: in this process (local), or in tasks of Spark; the output is "
        "the same",
    ),
    _row(
        "--master URL", "text", "where Spark's tasks run; local[*,4] is all cores here"
    ),
    _row(
        "--partition-bytes SIZE",
        "size",
        "how many bytes of files a task of Spark reads",
    ),
    # Compressed files and sets of shards.
    _row("--codec zstd|gzip|none", "choice", "how to compress"),
    _row("--level N", "level", "how hard to compress: gzip 0 to 9, zstd -7 to 22"),
    _row(
        "--block-bytes SIZE",
        "size",
        "bytes of rows that are compressed together: smaller for faster single rows, larger "
        "for smaller files",
    ),
    _row("--max-bytes SIZE", "size", "largest size of a file, compressed"),
    _row("--max-records N", "number", "most rows in a file"),
    _row("--max-logical-bytes SIZE", "size", "largest size of a file, decompressed"),
    _row("--set-name NAME", "text", "the name of the set"),
    _row(
        "--partition-by KEY",
        "text",
        "write a directory KEY=value for each value of this field, such as user.country",
    ),
    _row(
        "--grace AGE", "duration", "leave files as they are for this long, such as 7d"
    ),
    _row(
        "--allow-empty",
        "switch",
        "allow a set without rows to replace one that has rows",
    ),
    _row(
        "--trusted",
        "switch",
        "do not check that rows are JSON: faster, for data known to be good",
    ),
    _row("--keep-backup", "switch", "keep the file that is replaced, as FILE.bak"),
    _row(
        "--keep-arrays",
        "switch",
        "print an outermost array as one line, not as a line for each element",
    ),
    # Logs.
    _row("--from [NAME=]LINE", "line", "begin with this line", "repeated"),
    _row("--to LINE", "line", "end with this line"),
    _row("--ack", "switch", "print ACK n when n records are in the log"),
    _row(
        "--durability always|data|interval|os",
        "choice",
        "what a record in the log has survived",
    ),
    _row(
        "--time EXPR",
        "text",
        "an expression for the time of a record, such as $.E: milliseconds since 1970, or a "
        "text in ISO 8601",
    ),
    _row(
        "--monotonic strict|off|N",
        "text",
        "whether times may go back: never (strict), by at most N milliseconds, or by any "
        "amount (off). A time that goes back further is replaced by the time of writing; "
        "except with off, no time is earlier than that of the line before",
    ),
    _row("--rotate-bytes SIZE", "size", "largest size of a segment"),
    _row("--rotate-rows N", "number", "most records in a segment"),
    _row(
        "--rotate-seconds SECONDS",
        "seconds",
        "begin a new segment when the first record of this one is this old",
    ),
    _row("--max-record SIZE", "size", "refuse records longer than this"),
    _row(
        "--metrics FILE",
        "file",
        "write counters and latencies to this file for Prometheus, every 5 seconds",
    ),
    _row(
        "--retain-bytes SIZE",
        "size",
        "remove the oldest segments until the log, with its indexes, is no larger",
    ),
    _row(
        "--retain-age AGE",
        "duration",
        "remove segments whose last record is older, such as 7d",
    ),
    _row(
        "--before-line LINE",
        "number",
        "remove segments all of whose lines are before this one",
    ),
    _row(
        "--tail auto|keep|strict",
        "choice",
        "what to do with bytes that a crash left at the end and that are no record: move "
        "them to quarantine/ (auto), leave them (keep), or fail (strict)",
    ),
    _row("--repair", "switch", "give up lines that are lost or damaged"),
    _row(
        "--accept-loss",
        "switch",
        "update the backup even if it has lines that the log has lost; they are removed",
    ),
    _row(
        "--consumer NAME",
        "text",
        "go on where this consumer stopped, and save its position",
    ),
    _row(
        "--gone error|skip",
        "choice",
        "what to do if retention removed lines before a consumer or -f read them: fail "
        "(error), or warn and go on (skip)",
    ),
    _row(
        "--set NAME=LINE",
        "text",
        "create or move a consumer: it has read up to this line, 0 for none; may be repeated",
        "repeated",
    ),
    _row("--remove NAME", "text", "remove a consumer; may be repeated", "repeated"),
    _row(
        "--keep-plain N",
        "number",
        "leave this many of the last full segments uncompressed",
    ),
    _row(
        "--speed N|max",
        "text",
        "how many times faster than the recorded times to play",
    ),
    _row(
        "--tag",
        "switch",
        "print objects of partition, line, time (milliseconds) and record",
    ),
    # Pipelines and the demo.
    _row("--fresh", "switch", "run all passes again, even those that are up to date"),
    _row(
        "--lineage FILE",
        "file",
        "append what is read and written to this file, as events of OpenLineage",
    ),
    _row("--rows N", "number", "how many lines of events to write"),
    _row("--no-spark", "switch", "run no step that needs Spark"),
)

_BY_NAME = {each.flags[-1]: each for each in FLAGS}


def flag(
    long: str,
    more: str = "",
    *,
    default: str | None = None,
    otherwise: str = "",
    choices: tuple[str, ...] = (),
) -> Argument:
    """Return a flag of the table for a command.

    `more` follows the help text. `default` is written as a user would type it; `otherwise`
    says in words what happens without the flag, if that is not one value.

    >>> flag("--limit", default="10").help
    'print at most this many rows [default: 10]'
    """
    row = _BY_NAME[long]
    text = "; ".join(filter(None, (row.help, more)))
    if without := otherwise or default:
        text = f"{text} [default: {without}]"
    return row._replace(help=text, choices=choices or row.choices, default=default)


COMMON = (
    flag("--events", otherwise="text on a terminal, JSON lines otherwise"),
    flag("--progress", otherwise="on a terminal"),
    flag("--no-progress"),
    flag("--quiet"),
    flag("--help"),
)
"""The flags of every command."""

BAD_ROWS = (
    flag("--on-error", otherwise="abort"),
    flag("--errors", "implies --on-error collect"),
)

READING = (
    flag("--stats", "the first bad rows are named"),
    flag("--strict"),
    flag("--max-line", default="64MiB"),
    flag("--max-ratio", default="10000"),
    flag("--max-decoded"),
    flag("--index-dir"),
    flag("--no-index"),
)
"""The flags of every command that reads rows."""

TIMES = (
    flag("--since", "every FILE must be a log"),
    flag("--until", "every FILE must be a log"),
)

ENGINE = (
    flag("--engine", default="local"),
    flag("--master", otherwise="local[*,4]"),
    flag("--partition-bytes", otherwise="64MiB"),
)

WRITING = (
    flag("--level", otherwise="gzip 6, zstd 3"),
    flag("--block-bytes", default="256KiB"),
    flag("--threads", otherwise="one for each core"),
)
"""The flags of commands that write compressed files."""
