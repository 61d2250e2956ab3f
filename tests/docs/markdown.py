"""What a document shows: its fenced blocks, and its examples on one line.

A block says what it is in the words behind its fence. The tests go through all of
them and refuse one they know nothing to do with, so that nothing is shown unrun.
"""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = "```"


@dataclass(frozen=True)
class Block:
    """One fenced block: ``words`` stand behind its fence, `line` is where it begins."""

    path: Path
    line: int
    words: tuple[str, ...]
    text: str

    @property
    def kind(self):
        return self.words[0] if self.words else ""

    @property
    def name(self):
        return f"{self.path.name}:{self.line}"


def blocks(path):
    """Return the fenced blocks of a document; a fence that is none is an error."""
    found = []
    begun = None
    for number, line in enumerate(path.read_text().splitlines(keepends=True), 1):
        if not line.lstrip().startswith((FENCE, "~~~")):
            if begun is not None:
                begun[1].append(line)
            continue
        assert line.startswith(FENCE), f"{path}:{number}: a fence stands at the margin"
        if begun is None:
            begun = (number, [], tuple(line[len(FENCE) :].split()))
        else:
            assert line == f"{FENCE}\n", f"{path}:{number}: a block is still open"
            found.append(Block(path, begun[0], begun[2], "".join(begun[1])))
            begun = None
    assert begun is None, f"{path}: a block is never closed"
    return found


@dataclass(frozen=True)
class Command:
    """A command of a session and what it prints."""

    line: str
    printed: str


def session(block):
    """Return the commands of a console block, each with what it prints.

    A line that ends with a backslash goes on in the next. In a block ``console same``
    all commands print what is shown behind the last.
    """
    assert block.text.startswith("$ "), f"{block.name}: a session begins with `$ `"
    pieces = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    commands = []
    for piece in pieces:
        line = re.match(r"(?:.*\\\n)*.*", piece)[0]
        commands.append(Command(line, piece[len(line) + 1 :]))
    if "same" in block.words:
        assert not any(command.printed for command in commands[:-1]), block.name
        printed = commands[-1].printed
        commands = [Command(command.line, printed) for command in commands]
    return commands


def words_of(line):
    """Return the words of a line that calls headrace and nothing else, or None."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    needs_a_shell = any(set(word) <= set("();<>|&") for word in words) or "$'" in line
    return None if needs_a_shell or words[0] != "headrace" else words


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    text: str


def exactly(text):
    """Return JSON with the order of its keys and the text of its numbers."""
    return json.loads(
        text,
        parse_int=Number,
        parse_float=Number,
        object_pairs_hook=lambda pairs: ("object", pairs),
    )


@dataclass(frozen=True)
class Example:
    """A query on one line of a document, and its answer or part of its error."""

    query: str
    document: str
    answer: str | None
    error: str | None


_EXAMPLE = re.compile(
    r"^- `(?P<query>.+?)`(?: on `(?P<document>.+?)`)? "
    r"(?:gives `(?P<answer>.+)`|fails: `(?P<error>.+)`)$"
)


def examples(path):
    """Return the examples of a document that stand on one line.

    A line that begins or ends as one does must be one.
    """
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := _EXAMPLE.match(line):
            given = match.groupdict()
            document = given["document"] or "null"
            found.append(
                Example(given["query"], document, given["answer"], given["error"])
            )
        else:
            looks_like_one = line.lstrip().startswith(("- `", "* `", "+ `")) or any(
                word in line for word in ("` gives `", "` fails:")
            )
            assert not looks_like_one, f"{path}:{number}: an example that is not run"
    return found
