"""``headrace index get``: the rows that have a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.cli.argument import INDEXED
from headrace.cli.flag_groups import PLACES
from headrace.cli.flags import flag
from headrace.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from headrace.api.index.key import KeyIndex
    from headrace.cli.console import Console
    from headrace.errors import KeyIndexError
    from headrace.kernel.key_index import KeyRequest

MOST_SHOWN = 10
"""Keys without a row that the message names."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

ABOUT = """\
Prints the rows as they stand in FILE, in the order of the keys; rows of one key in the order of
FILE. If a key is given twice, its rows are printed twice. The index is used only if FILE is
proven to be what it was built from. If FILE has only grown, its new rows are scanned; without a
usable index, all rows are. Events say so."""

EXAMPLES = r"""
headrace index get app.jsonl --on id --eq 17  # the rows of one key
headrace index get app.jsonl --on id --eq 17,4,99  # of several keys
headrace index get app.jsonl --on id --eq-json 17  # of the number, not of the text "17"
printf '17\n4\n' | headrace index get app.jsonl --on id --stdin
    # of the keys on standard input, one a line
"""

ARGUMENTS = (
    INDEXED,
    flag("--on", otherwise="the key of the only index of FILE"),
    flag("--eq"),
    flag("--eq-raw"),
    flag("--eq-json"),
    flag("--stdin"),
    flag("--json-keys"),
    flag("--typed"),
    flag("--require-match", "for any of the keys"),
    flag("--require-index"),
    flag("--auto-rebuild"),
    flag("--max-line", "in a scan", otherwise="as the index does, else 64MiB"),
    *PLACES,
)


def run(options: Namespace, console: Console) -> int:
    """Print the rows."""
    from functools import partial

    from headrace.api.index.key import KeyIndex
    from headrace.api.options import KeyIndexOptions
    from headrace.cli.io import index_trouble
    from headrace.cli.io.inputs import given

    if not (options.eq or options.eq_raw or options.eq_json or options.stdin):
        raise UsageError("give a key: --eq VALUE, --eq-raw, --eq-json or --stdin")

    def report(trouble: KeyIndexError) -> None:
        index_trouble.say_trouble(console, trouble)
        if not options.auto_rebuild:
            index_trouble.say_fallback(console, trouble)

    index = KeyIndex.open(
        options.file,
        options.on,
        **given(options, KeyIndexOptions),
        report=report,
    )
    index.report_keyless = partial(index_trouble.say_keyless, console)
    # A program that writes key by key waits for each answer.
    console.live = options.stdin
    return _print(options, console, index)


def _print(options: Namespace, console: Console, index: KeyIndex) -> int:
    missing: dict[int, str] = {}
    in_hand: list[int] = []

    def requests() -> Iterator[KeyRequest]:
        for number, (text, several) in enumerate(_keys(options, index)):
            missing[number] = text
            for request in several:
                in_hand.append(number)
                yield request

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
    """Yield each key as it is written, with the requests that look it up."""

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
    """Return the requests for a text: also for the number, where its text differs."""
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
    """Whether a text is a JSON number, but not in the spelling that keys use."""
    from headrace.kernel.key_index import request, request_of_json

    if not _NUMBER.fullmatch(text):
        return False
    return request_of_json(text, ("",), typed=False) != request(text, ("",))


def _parts(text: str, index: KeyIndex) -> str | list[str]:
    """Return the parts of a composite key: of a JSON array, or with commas between them."""
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
