"""Flags of jq and of former versions, misspelt flags and choices, and what to write instead.

They are not accepted: the message about an unknown option says which one is meant.
"""

import re
from collections.abc import Iterable

from headrace.suggestion import nearest

_JQ = {
    **dict.fromkeys(("-s", "--slurp"), "for an array of all rows write --stream"),
    **dict.fromkeys(
        ("-n/--limit:", "--null-input"),
        "a query without rows needs one: echo null | headrace query QUERY",
    ),
    **dict.fromkeys(("-c", "--compact-output"), "each answer is one line already"),
    **dict.fromkeys(
        ("-e", "--exit-status"), "the exit code is that of the run, not of the answer"
    ),
    **dict.fromkeys(("-R", "--raw-input"), "each line is a JSON value; text is no row"),
    **dict.fromkeys(
        ("--slurpfile", "--rawfile"), "write --name NAME=FILE and @NAME in the query"
    ),
    **dict.fromkeys(
        ("-C", "--color-output", "--tab", "--indent"),
        "answers are one line each; for people write --format table",
    ),
    **dict.fromkeys(
        ("-j", "--join-output", "-a"), "write -r for strings without quotes"
    ),
    **dict.fromkeys(("-f", "--from-file", "--file"), "write --query-file FILE"),
}

_NUMBER = re.compile(r"'-?[\d.]+'")
"""A number in a message: the option has its own meaning, not that of jq."""

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from ([^)]*)\)")

_OF_COMMANDS = {
    "query": _JQ,
    "index build": {
        "--out": "write --index FILE",
        "--format": "write --index-version",
        "--reverse": "write --incoming",
        "--pred": "write --pred-field FIELD",
    },
    "index get": {
        "--graph": "a graph index has edges, not keys; run `headrace graph expand --edges FILE "
        "--seed ID --hops 1 --emit-edges`",
        "--key": "write --on FIELD and --eq VALUE",
        "--strict": "write --require-index",
    },
    "graph expand": {"--explain=plan": "write --explain"},
    "graph path": {"--explain=plan": "write --explain"},
    "log stats": {"--format": "write --json or --prometheus"},
    "log retain": {"--max-bytes": "write --retain-bytes"},
    "shard write": {"--name": "write --set-name"},
}

_EVERYWHERE = {
    "--rev": "write --reverse",
    "--output": "write --out PATH, or -o",
    "--null": "write --nulls drop or --nulls emit",
    "--key": "write --on FIELD[,FIELD...]",
    "--left-key": "write --left-on",
    "--right-key": "write --right-on",
    "--fallback": "write --require-index to fail where no index can be used",
    "--from": "write --from-field FIELD",
    "--to": "write --to-field FIELD",
    "--pretty": "text is for people, --json for programs",
    "--compress": "write --codec",
    "--max-age": "write --retain-age",
    "--older-than": "write --grace",
    "--rows": "write --limit, or -n",
}


def spelled_here(
    command: str, words: Iterable[str], flags: Iterable[str] = ()
) -> str | None:
    """Return what to write in a command instead of a flag among the words of an error.

    `flags` are those of the command.

    >>> spelled_here("query", ["--onerror"], ["--on-error", "--errors"])
    'did you mean --on-error?'
    """
    meant = {**_EVERYWHERE, **_OF_COMMANDS.get(command, {})}
    flags = [spelling for flag in flags for spelling in (flag, f"{flag}:")]
    words = list(words)
    has_number = any(map(_NUMBER.fullmatch, words))
    for word in words:
        if word in meant and not (has_number and word.endswith(":")):
            return meant[word]
    for word in words:
        is_unknown = word.startswith("--") and word not in flags
        if is_unknown and (near := nearest(word, flags)):
            return f"did you mean {near}?"
    return None


def meant_choice(message: str) -> str | None:
    """Return the choice that is probably meant, of a message about one that there is not.

    >>> meant_choice(
    ...     "argument --how: invalid choice: 'iner' (choose from 'inner', 'left')"
    ... )
    'did you mean inner?'
    """
    found = _CHOICE.search(message)
    if found is None:
        return None
    near = nearest(found[1], re.findall(r"[\w.-]+", found[2]))
    return near and f"did you mean {near}?"
