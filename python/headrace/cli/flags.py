"""The table of flags: each has one type and one meaning.

A command picks its flags with `flag`. It may add to the help text, offer fewer choices and
set a default; type and meaning are those of the table.
"""

from __future__ import annotations

from headrace.cli.argument import Argument, Flag

FLAGS: tuple[Flag, ...] = (
    # Every command.
    Flag("--events text|json", "choice", "format of messages on standard error"),
    Flag("--progress", "switch", "show progress"),
    Flag("--no-progress", "switch", "show no progress"),
    Flag("-q --quiet", "switch", "show no progress and no warnings"),
    Flag("-h --help", "switch", "show this help and exit"),
    # Reading rows.
    Flag(
        "--stats",
        "switch",
        "after the work, print on standard error how many rows were read, and of which kinds",
    ),
    Flag("--strict", "switch", "fail if a row is bad or too long"),
    Flag(
        "--on-error abort|skip|collect",
        "choice",
        "what to do with a bad row: end the command (abort), leave it out (skip), or also "
        "report it (collect)",
    ),
    Flag(
        "--errors FILE", "file", "write bad rows to this file, a JSON object for each"
    ),
    Flag("--max-line SIZE", "size", "a longer row is a bad row, and is not read"),
    Flag(
        "--max-ratio N",
        "number",
        "refuse compressed data, from 256 MiB on, that is over this many times its size",
    ),
    Flag(
        "--max-decoded SIZE",
        "size",
        "refuse compressed data that is longer than this when decoded",
    ),
    Flag("-n --limit N", "number", "print at most this many rows"),
    Flag(
        "--since TIME",
        "time",
        "only lines with this time or a later one: 2026-01-31T12:00:00Z (UTC if it names no "
        "zone), milliseconds since 1970, now, or -15m for 15 minutes ago",
    ),
    Flag("--until TIME", "time", "only lines with an earlier time"),
    Flag("-f --follow", "switch", "go on with rows that are appended"),
    Flag(
        "-F --wait",
        "switch",
        "follow, and wait for the file if it does not exist yet",
    ),
    Flag("--poll SECONDS", "seconds", "how often to look for new rows"),
    Flag("--per-file", "switch", "print each file's count, a tab and its path"),
    # Output.
    Flag("-o --out PATH", "file", "write to this file or directory"),
    Flag(
        "--format ndjson|json|raw|table|csv|tsv|parquet|tree|dot|mermaid",
        "choice",
        "form of the output",
    ),
    Flag("-r --raw", "switch", "the same as --format raw"),
    Flag("--tsv", "switch", "the same as --format tsv"),
    Flag("--json", "switch", "print JSON instead of text"),
    Flag(
        "--prometheus",
        "switch",
        "print metrics in the text format of Prometheus instead of text",
    ),
    Flag("--explain", "switch", "print the plan and end, without reading rows"),
    Flag(
        "--analyze",
        "switch",
        "with --explain, run the query, and print the rows, bytes and seconds of each step "
        "of the plan instead of the answers",
    ),
    Flag("--force", "switch", "replace what is there, even if it is something else"),
    Flag("--dry-run", "switch", "change nothing, only print what would change"),
    # Indexes.
    Flag(
        "--on FIELD[,FIELD...]",
        "fields",
        "the field of the key, or several fields with commas between them",
    ),
    Flag("--graph", "switch", "the graph index of FILE, not a key index"),
    Flag("--from-field FIELD", "text", "the field of the node that an edge comes from"),
    Flag("--pred-field FIELD", "text", "the field of the predicate of an edge"),
    Flag("--to-field FIELD", "text", "the field of the node that an edge goes to"),
    Flag("--incoming", "switch", "index incoming edges too, not only outgoing ones"),
    Flag("--index FILE", "file", "the index file"),
    Flag(
        "--index-dir DIR",
        "directory",
        "directory of index files and checkpoints, instead of beside the data",
    ),
    Flag("--no-index", "switch", "neither read nor write index files and checkpoints"),
    Flag(
        "--require-index",
        "switch",
        "fail if no index can be used, instead of scanning",
    ),
    Flag("--index-version 1|2", "choice", "version of the index format to write"),
    Flag(
        "--mode multi|unique",
        "choice",
        "whether several rows may have one key (multi) or none may (unique)",
    ),
    Flag("--compact", "switch", "the same as --index-version 2: about 6 bytes a row"),
    Flag(
        "--full", "switch", "build the index again, with the options it was built with"
    ),
    Flag("--deep", "switch", "compare every row too"),
    Flag("--memory SIZE", "size", "how much memory to use"),
    Flag("--threads N", "number", "how many threads to use; the output is the same"),
    Flag(
        "--eq VALUE[,VALUE...]",
        "text",
        "keys, with commas between them. A key matches texts and numbers, however they are "
        "written: 1, 1.0 and 1e0 find the same numbers. For a key of several fields, give a "
        "value for each field, or a JSON array of them",
        "repeated",
    ),
    Flag("--eq-raw VALUE", "text", "a key as it is, commas too", "repeated"),
    Flag(
        "--eq-json JSON",
        "text",
        'a key as JSON: 1 is the number, "1" the text',
        "repeated",
    ),
    Flag("--stdin", "switch", "read keys from standard input, one a line, as --eq-raw"),
    Flag("--json-keys", "switch", "read the keys of --stdin as --eq-json"),
    Flag(
        "--typed",
        "switch",
        "keys of --eq, --eq-raw and --stdin match texts only, not numbers",
    ),
    Flag("--require-match", "switch", "fail if nothing is found"),
    Flag(
        "--auto-rebuild",
        "switch",
        "build an index that is missing, damaged or outdated, then use it",
    ),
    # Joins.
    Flag(
        "--left-on FIELD[,FIELD...]",
        "fields",
        "the key on the left side, if its name differs",
    ),
    Flag(
        "--right-on FIELD[,FIELD...]",
        "fields",
        "the key on the right side, if its name differs",
    ),
    Flag(
        "--how inner|left",
        "choice",
        "what to do with a left row without a match: leave it out (inner), or print it as it "
        "is (left)",
    ),
    Flag(
        "--target FIELD",
        "text",
        "print one row for each left row, with all its matches as an array in this field",
    ),
    Flag(
        "--pick FIELD[,FIELD...]",
        "fields",
        "take only these fields of right rows; may be repeated",
        "repeated",
    ),
    Flag("--prefix TEXT", "text", "put this before the names of right fields"),
    Flag(
        "--indicator FIELD",
        "text",
        'add this field: "both", or "left_only" where there is no match',
    ),
    Flag(
        "--text-keys",
        "switch",
        'compare keys as text: the number 1 equals the text "1"',
    ),
    Flag("--right-index FILE", "file", "find right rows with this key index"),
    # Graphs.
    Flag(
        "--edges FILE",
        "file",
        "the edges: a file, compressed or not, with one edge in each row; or a set of "
        "shards, a directory, a log or a pattern; may be repeated",
        "repeated",
    ),
    Flag(
        "--pred PRED[,PRED...]",
        "text",
        "follow only edges with one of these predicates; may be repeated",
        "repeated",
    ),
    Flag(
        "--pred-raw PRED",
        "text",
        "follow edges with this predicate, commas and all; may be repeated",
        "repeated",
    ),
    Flag(
        "--direction out|in|both",
        "choice",
        "follow edges forwards, backwards, or both ways",
    ),
    Flag("--hops N", "number", "follow at most this many edges from a start node"),
    Flag("--seed ID", "text", "a start node; may be repeated", "repeated"),
    Flag(
        "--seed-field FIELD",
        "text",
        "take start nodes from this field of the rows on standard input",
    ),
    Flag(
        "--emit-edges",
        "switch",
        "print the edges that are followed too, each before the node it leads to",
    ),
    Flag(
        "--tree",
        "switch",
        "print only the edges that lead to a node for the first time",
    ),
    Flag("--most-edges N", "number", "follow at most this many edges of each node"),
    Flag(
        "--per-seed",
        "switch",
        "walk from each start node separately, as it arrives, and name it in each line",
    ),
    # Queries.
    Flag("--query-file FILE", "file", "read the query from this file, UTF-8 text"),
    Flag(
        "--arg NAME=TEXT",
        "assigned",
        "define $NAME as this text in the query; may be repeated",
        "repeated",
    ),
    Flag(
        "--argjson NAME=JSON",
        "assigned",
        "define $NAME as this JSON value in the query; may be repeated",
        "repeated",
    ),
    Flag(
        "--name NAME=FILE",
        "named",
        "the rows of another file, as @NAME in the query; may be repeated",
        "repeated",
    ),
    Flag(
        "--allow-env",
        "switch",
        'let the query read environment variables, as in env("HOME")',
    ),
    Flag("--where EXPR", "text", "query only rows for which this expression is truthy"),
    Flag(
        "--matches",
        "switch",
        "print the rows for which the answer is truthy, as they are",
    ),
    Flag(
        "--stream",
        "switch",
        "run the query once over all rows: $ is the array of them",
    ),
    Flag("--reverse", "switch", "read from the last row to the first"),
    Flag(
        "--distinct-by KEY", "text", "query only the first row of each key that is read"
    ),
    Flag(
        "--lines", "switch", "print each element of an array about all rows on a line"
    ),
    Flag("--array", "switch", "print the elements about all rows as one array"),
    Flag("--nulls drop|emit", "choice", "what to do with an answer that is null"),
    Flag("--max-depth N", "number", "how deep values may be nested, up to 1000"),
    Flag("--frame SEP", "text", "lines are a key, this separator and JSON"),
    Flag(
        "--null-payload skip|keep|error",
        "choice",
        "what to do with a framed line whose JSON is null",
    ),
    Flag(
        "--no-lanes",
        "switch",
        "parse all fields of a row, not only those the query reads; the answers are the same",
    ),
    Flag(
        "--strict-types",
        "switch",
        "fail if an operation gets a value of the wrong type, such as a field of a number; "
        "null stays null",
    ),
    # Engines.
    Flag(
        "--engine local|spark",
        "choice",
        "where the work runs: in this process (local), or in tasks of Spark; the output is "
        "the same",
    ),
    Flag(
        "--master URL", "text", "where Spark's tasks run; local[*,4] is all cores here"
    ),
    Flag(
        "--partition-bytes SIZE",
        "size",
        "how many bytes of files a task of Spark reads",
    ),
    # Compressed files and sets of shards.
    Flag("--codec zstd|gzip|none", "choice", "how to compress"),
    Flag("--level N", "level", "how hard to compress: gzip 0 to 9, zstd -7 to 22"),
    Flag(
        "--block-bytes SIZE",
        "size",
        "bytes of rows that are compressed together: smaller for faster single rows, larger "
        "for smaller files",
    ),
    Flag("--max-bytes SIZE", "size", "largest size of a file, compressed"),
    Flag("--max-records N", "number", "most rows in a file"),
    Flag("--max-logical-bytes SIZE", "size", "largest size of a file, decompressed"),
    Flag("--set-name NAME", "text", "the name of the set"),
    Flag(
        "--partition-by KEY",
        "text",
        "write a directory KEY=value for each value of this field, such as user.country",
    ),
    Flag(
        "--grace AGE", "duration", "leave files as they are for this long, such as 7d"
    ),
    Flag(
        "--allow-empty",
        "switch",
        "allow a set without rows to replace one that has rows",
    ),
    Flag(
        "--trusted",
        "switch",
        "do not check that rows are JSON: faster, for data known to be good",
    ),
    Flag("--keep-backup", "switch", "keep the file that is replaced, as FILE.bak"),
    Flag(
        "--keep-arrays",
        "switch",
        "print an outermost array as one line, not as a line for each element",
    ),
    # Logs.
    Flag("--from [NAME=]LINE", "line", "begin with this line", "repeated"),
    Flag("--to LINE", "line", "end with this line"),
    Flag("--ack", "switch", "print ACK n when n records are in the log"),
    Flag(
        "--durability always|data|interval|os",
        "choice",
        "what a record in the log has survived",
    ),
    Flag(
        "--time EXPR",
        "text",
        "an expression for the time of a record, such as $.E: milliseconds since 1970, or a "
        "text in ISO 8601",
    ),
    Flag(
        "--monotonic strict|off|N",
        "text",
        "whether times may go back: never (strict), by at most N milliseconds, or by any "
        "amount (off). A time that goes back further is replaced by the time of writing; "
        "except with off, no time is earlier than that of the line before",
    ),
    Flag("--rotate-bytes SIZE", "size", "largest size of a segment"),
    Flag("--rotate-rows N", "number", "most records in a segment"),
    Flag(
        "--rotate-seconds SECONDS",
        "seconds",
        "begin a new segment when the first record of this one is this old",
    ),
    Flag("--max-record SIZE", "size", "refuse records longer than this"),
    Flag(
        "--metrics FILE",
        "file",
        "write counters and latencies to this file for Prometheus, every 5 seconds",
    ),
    Flag(
        "--retain-bytes SIZE",
        "size",
        "remove the oldest segments until the log, with its indexes, is no larger",
    ),
    Flag(
        "--retain-age AGE",
        "duration",
        "remove segments whose last record is older, such as 7d",
    ),
    Flag(
        "--before-line LINE",
        "number",
        "remove segments all of whose lines are before this one",
    ),
    Flag(
        "--tail auto|keep|strict",
        "choice",
        "what to do with bytes that a crash left at the end and that are no record: move "
        "them to quarantine/ (auto), leave them (keep), or fail (strict)",
    ),
    Flag("--repair", "switch", "give up lines that are lost or damaged"),
    Flag(
        "--accept-loss",
        "switch",
        "update the backup even if it has lines that the log has lost; they are removed",
    ),
    Flag(
        "--consumer NAME",
        "text",
        "go on where this consumer stopped, and save its position",
    ),
    Flag(
        "--gone error|skip",
        "choice",
        "what to do if retention removed lines before a consumer or -f read them: fail "
        "(error), or warn and go on (skip)",
    ),
    Flag(
        "--set NAME=LINE",
        "text",
        "create or move a consumer: it has read up to this line, 0 for none; may be repeated",
        "repeated",
    ),
    Flag("--remove NAME", "text", "remove a consumer; may be repeated", "repeated"),
    Flag(
        "--keep-plain N",
        "number",
        "leave this many of the last full segments uncompressed",
    ),
    Flag(
        "--speed N|max",
        "text",
        "how many times faster than the recorded times to play",
    ),
    Flag(
        "--tag",
        "switch",
        "print objects of partition, line, time (milliseconds) and record",
    ),
    # Pipelines and the demo.
    Flag("--fresh", "switch", "run all passes again, even those that are up to date"),
    Flag(
        "--lineage FILE",
        "file",
        "append what is read and written to this file, as events of OpenLineage",
    ),
    Flag("--rows N", "number", "how many lines of events to write"),
    Flag("--no-spark", "switch", "run no step that needs Spark"),
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
    offered = tuple(row.value.split("|")) if row.kind == "choice" else ()
    return Argument(
        row.name,
        row.kind,
        text,
        row.flags,
        metavar="" if offered else row.value,
        choices=choices or offered,
        default=default,
        arity=row.arity,
    )


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
