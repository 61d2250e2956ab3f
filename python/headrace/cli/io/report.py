"""Reports of commands such as `check` and `stats`: text, or JSON with ``--json``.

Imported when a command runs, not when its help is shown.
"""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping

from headrace.cli.console import Console


def print_report(
    facts: Mapping[str, object], options: Namespace, console: Console
) -> None:
    """Print names and values, one a line, or one JSON object."""
    if options.json:
        print_json(facts, console)
    else:
        console.text(as_text(facts))


def print_json(facts: Mapping[str, object], console: Console) -> None:
    """Print one JSON object on a line."""
    console.text(json.dumps(facts, ensure_ascii=False) + "\n")


def as_text(facts: Mapping[str, object]) -> str:
    """Return aligned names and values; an object within has its name before a dot.

    >>> print(as_text({"valid": True, "lines": {"bad": 2}}), end="")
    valid      yes
    lines.bad  2
    """
    lines = dict(_flat(facts, ""))
    width = max(map(len, lines), default=0)
    return "".join(f"{name:{width}}  {text}\n" for name, text in lines.items())


def _flat(facts: Mapping[str, object], before: str) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
            for number, each in enumerate(value, 1):
                yield from _flat({str(number): each}, f"{before}{name}.")
        else:
            yield f"{before}{name}", _text(value)


def _text(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(_text, value)) or "none"
        case _:
            from headrace.api.formats.printable import printable

            return printable(str(value))
