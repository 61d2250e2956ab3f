"""``headrace log dump-index``: print an index as lines of JSON."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path

from headrace.cli.argument import Argument
from headrace.cli.console import Console, ending_cleanly
from headrace.cli.flags import flag

ABOUT = """\
Prints the header, then for each line of the segment an object with fileNumber,
lineNumberLocal, lineNumberGlobal (both from 1), startByte, endByte (after the newline),
messageTime (milliseconds) and timeSource (created or extracted), and flags if there are
any. An entry that is damaged ends the command with a failure.

Of a log, all indexes are printed one after the other, up to the last committed line. With --out,
each is written as NAME.json to a directory, which may be that of the log."""

EXAMPLES = """\
headrace log dump-index trades/00000000000000000000.jsonl.idx
    # the entries of the first segment
headrace log dump-index trades  # those of all segments
headrace log dump-index trades --out trades  # beside each index, as JSON
"""

ARGUMENTS = (
    Argument("file", "file", "an index, FILE.jsonl.idx, or a log", metavar="FILE"),
    flag(
        "--out",
        "a directory: NAME.json for each index NAME",
        otherwise="standard output",
    ),
)


def run(options: Namespace, console: Console) -> int:
    """Print header and entries, or write them."""
    from headrace.store.files.atomic import write_atomically

    with ending_cleanly():
        for path, entries in _indexes(options.file):
            if options.out is None:
                for line in _lines(entries):
                    console.text(line.decode())
                continue
            target = Path(options.out) / f"{path.name}.json"
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target, _lines(entries))
            console.text(f"{target}\n")
    return 0


def _indexes(file: str) -> Iterator[tuple[Path, Iterator[dict[str, object]]]]:
    from headrace.store.log.entries import dumped_index, dumped_log

    if Path(file).is_dir():
        yield from dumped_log(file)
    else:
        yield Path(file), dumped_index(file)


def _lines(entries: Iterable[dict[str, object]]) -> Iterator[bytes]:
    import json

    return (json.dumps(entry).encode() + b"\n" for entry in entries)
