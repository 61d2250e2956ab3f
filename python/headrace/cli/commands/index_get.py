"""``headrace index get``: the rows that have a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.options.index import EVENTS, GRAPH, KEY, MAX_LINE, PLACES, SOURCE
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from headrace.api.index.key import KeyIndex
    from headrace.cli.console import Console
    from headrace.errors import KeyIndexError
    from headrace.kernel.key_index import KeyRequest

MOST_SHOWN = 10
"""How many keys without a row are named."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

ABOUT = """\
Prints the rows as they stand in FILE: those of the first key first, those of one key
in the order of the file. A key that is asked for twice is answered twice.
The index is used only if FILE is proven to be what it was built from; of a FILE that has
only grown the new rows are scanned, and without a usable index all of it. Events say so."""

EXAMPLES = (
    Example("headrace index get app.jsonl --key id --eq 17", "the rows of one key"),
    Example("headrace index get app.jsonl --key id --eq 17,4,99", "of several"),
    Example(
        "headrace index get app.jsonl --key id --eq-json 17",
        'of the number, not of the text "17"',
    ),
    Example(
        "printf '17\\n4\\n' | headrace index get app.jsonl --key id --stdin",
        "of keys on standard input, one a line",
    ),
)

ARGUMENTS = (
    SOURCE,
    KEY,
    Argument(
        "eq",
        "text",
        "keys, with commas between them, whether they are texts or numbers, however those "
        "are written: 1, 1.0 and 1e0 find the same numbers; of a key of several fields a "
        "value for each, or a JSON array of them",
        ("--eq",),
        metavar="VALUE[,VALUE...]",
        arity="repeated",
    ),
    Argument(
        "eq_raw",
        "text",
        "a key as it is, commas too",
        ("--eq-raw",),
        metavar="VALUE",
        arity="repeated",
    ),
    Argument(
        "eq_json",
        "text",
        'a key as JSON: 1 is the number, "1" the text',
        ("--eq-json",),
        metavar="JSON",
        arity="repeated",
    ),
    Argument("stdin", "switch", "read keys, one a line, as --eq-raw", ("--stdin",)),
    Argument(
        "json_keys", "switch", "the keys of --stdin are as --eq-json", ("--json-keys",)
    ),
    Argument(
        "typed",
        "switch",
        "the keys of --eq, --eq-raw and --stdin are texts, and find no numbers",
        ("--typed",),
    ),
    Argument(
        "require_match", "switch", "fail if a key has no row", ("--require-match",)
    ),
    Argument(
        "strict",
        "switch",
        "fail where there is no index that fits, instead of scanning",
        ("--strict",),
    ),
    Argument(
        "auto_rebuild",
        "switch",
        "build an index that is missing, damaged or does not fit, then use it",
        ("--auto-rebuild",),
    ),
    MAX_LINE._replace(
        help="where lines are scanned, pass over those longer than this (as the index "
        "does, or 64MiB, unless told)",
        default=None,
    ),
    GRAPH._replace(
        help="refused: for the edges of a node there is `headrace graph expand --hops 1`"
    ),
    *PLACES,
    *EVENTS,
)


def run(options: Namespace, console: Console) -> int:
    """Print the rows."""
    from functools import partial

    from headrace.api.index.key import KeyIndex
    from headrace.cli.options import index as said
    from headrace.errors import UsageError

    if options.graph:
        raise UsageError(
            "--graph: a graph index has edges, not keys; run `headrace graph expand "
            f"--edges {options.file} --seed ID --hops 1 --emit-edges`"
        )
    if not (options.eq or options.eq_raw or options.eq_json or options.stdin):
        raise UsageError("give a key: --eq VALUE, --eq-raw, --eq-json or --stdin")

    def report(trouble: KeyIndexError) -> None:
        said.say_trouble(console, trouble)
        if not options.auto_rebuild:
            said.say_fallback(console, trouble)

    index = KeyIndex.open(
        options.file,
        said.key_of(options),
        index=options.index,
        index_dir=options.index_dir,
        require_index=options.strict,
        auto_rebuild=options.auto_rebuild,
        max_line=options.max_line,
        report=report,
    )
    index.report_keyless = partial(said.say_keyless, console)
    # Whoever asks key by key waits for each answer.
    console.live = options.stdin
    return _print(options, console, index)


def _print(options: Namespace, console: Console, index: KeyIndex) -> int:
    missing: dict[int, str] = {}
    in_hand: list[int] = []

    def requests() -> Iterator[KeyRequest]:
        for number, (text, several) in enumerate(_keys(options, index)):
            missing[number] = text
            for asked in several:
                in_hand.append(number)
                yield asked

    for some in index.together(requests()):
        for position, rows in index.answers(some):
            if len(rows):
                missing.pop(in_hand[position], None)
                console.write(rows.lines())
        in_hand.clear()
    if missing and options.require_match:
        _say_missing(console, options.file, list(missing.values()))
        return 1
    return 0


def _say_missing(console: Console, location: str, keys: list[str]) -> None:
    first = ", ".join(keys[:MOST_SHOWN])
    more = f" and {len(keys) - MOST_SHOWN} more" if len(keys) > MOST_SHOWN else ""
    message = f"{location}: {len(keys)} of the keys have no row: {first}{more}"
    console.emit("error", message, error="NoMatch", missed=len(keys))


def _keys(
    options: Namespace, index: KeyIndex
) -> Iterator[tuple[str, Iterable[KeyRequest]]]:
    """Yield each key as it is written, with what is looked up for it."""
    from headrace.errors import UsageError

    def of_value(text: str) -> tuple[str, Iterable[KeyRequest]]:
        return text, _of_value(text, index, typed=options.typed)

    def of_json(text: str) -> tuple[str, Iterable[KeyRequest]]:
        return text, [index.request_of_json(text)]

    for text in options.eq or ():
        # Several keys of one field, or the parts of one key.
        yield from map(of_value, text.split(",") if len(index.key) == 1 else [text])
    yield from map(of_value, options.eq_raw or ())
    yield from map(of_json, options.eq_json or ())
    if options.stdin:
        for line, text in _lines():
            try:
                yield of_json(text) if options.json_keys else of_value(text)
            except UsageError as error:
                raise UsageError(f"standard input, line {line}: {error}") from None


def _of_value(text: str, index: KeyIndex, *, typed: bool) -> list[KeyRequest]:
    """Return what is looked up for a text: also the number, where that has another text."""
    from headrace.errors import UsageError
    from headrace.kernel.key_index import request, request_of_json

    parts = _parts(text, index)
    found = [request(parts, index.key, typed=typed)]
    if typed or text.startswith("["):
        return found
    if isinstance(parts, str):
        if _is_other_number(parts):
            found.append(request_of_json(parts, index.key, typed=True))
    elif any(map(_is_other_number, parts)):
        raise UsageError(
            f"{text}: a number that is not written the shortest way may be a text; write "
            "the key as JSON (--eq-json)"
        )
    return found


def _is_other_number(text: str) -> bool:
    """Whether a text is a number of JSON, but not the text that a key of it has."""
    from headrace.kernel.key_index import request, request_of_json

    if not _NUMBER.fullmatch(text):
        return False
    return request_of_json(text, ("",), typed=False) != request(text, ("",))


def _parts(text: str, index: KeyIndex) -> str | list[str]:
    """Return the parts of a composite key: of a JSON array, or with commas between them."""
    from headrace.errors import UsageError
    from headrace.kernel.values import InvalidJsonError, parse

    if len(index.key) == 1:
        return text
    parts: object = text.split(",")
    if text.startswith("["):
        try:
            parts = parse(text.encode())
        except InvalidJsonError as error:
            raise UsageError(f"{text}: not a JSON array: {error}") from None
    if not isinstance(parts, list) or len(parts) != len(index.key):
        count = len(index.key)
        raise UsageError(
            f"{text}: a key of {','.join(index.key)} has {count} values; give them with "
            "commas between them, or as a JSON array"
        )
    return parts


def _lines() -> Iterator[tuple[int, str]]:
    """Yield the keys on standard input, with the numbers of their lines."""
    import sys

    from headrace.errors import UsageError

    if sys.stdin is None:
        raise UsageError("--stdin: there is no standard input")
    for number, line in enumerate(sys.stdin.buffer, 1):
        key = line.removesuffix(b"\n").removesuffix(b"\r")
        if key:
            try:
                yield number, key.decode()
            except UnicodeDecodeError:
                raise UsageError(
                    f"standard input, line {number}: {key!r} is not UTF-8"
                ) from None
