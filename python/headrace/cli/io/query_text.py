"""The query of a command line, its variables and its output format.

Imported when a command runs, not when its help is shown.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import UsageError
from headrace.kernel.values import parse

if TYPE_CHECKING:
    from argparse import Namespace

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
