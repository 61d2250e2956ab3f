"""A query over the lines of files: row by row, or over the stream of all rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from headrace.language import ast, parser, traversal
from tests.reference.language.arguments import Arguments
from tests.reference.language.evaluate import evaluate
from tests.reference.language.methods import METHODS
from tests.reference.language.methods.reducers import addend
from tests.reference.language.methods.streams import (
    Lazy,
    first_of_each,
    settled,
    spread,
)
from tests.reference.language.scope import NO_ROW, RowsOnly, Scope
from tests.reference.language.steps import Walk
from tests.reference.language.values import (
    NotInSubset,
    QueryError,
    identity,
    read,
    truthy,
)
from tests.reference.language.writes import is_write, written
from tests.reference.slow_rows import slow_rows


@dataclass(frozen=True)
class Line:
    """One line of one of the files."""

    file: int
    number: int
    offset: int
    content: bytes


class LineFailed(Exception):  # noqa: N818
    """The query cannot be computed on a line, or there is no JSON on it."""

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.line = line


@dataclass
class Result:
    """The answers, the lines that failed, and the number of lines of each kind."""

    answers: list[Any] = field(default_factory=list)
    failed: list[Line] = field(default_factory=list)
    before_failure: list[Any] | None = None
    """The answers that came before the first line that failed."""
    emitted: int = 0
    filtered: int = 0
    blank: int = 0

    def fail(self, line):
        if not self.failed:
            self.before_failure = list(self.answers)
        self.failed.append(line)


def lines_of(files, *, reverse=False):
    """Return the lines of all files, with `reverse` from the last to the first."""
    lines = [
        Line(file, number, offset, content)
        for file, data in enumerate(files)
        for number, (offset, content) in enumerate(slow_rows(data), 1)
    ]
    return lines[::-1] if reverse else lines


def is_blank(content):
    return not content.strip(b" \t\r\n")


def ask_each(
    query,
    files,
    *,
    nulls=False,
    reverse=False,
    match=False,
    distinct_by=None,
    limit=None,
):
    """Run a row query; with `match`, the answers are unchanged lines."""
    tree = parser.parse(query)
    key_tree = None if distinct_by is None else parser.parse(distinct_by)
    result, seen = Result(), set()
    for line in lines_of(files, reverse=reverse):
        if is_blank(line.content):
            result.blank += 1
            continue
        try:
            row = read(line.content)
            if key_tree is not None:
                key = identity(_about(key_tree, row))
                if key in seen:
                    result.filtered += 1
                    continue
                seen.add(key)
            answer = _about(tree, row)
        except QueryError:
            result.fail(line)
            continue
        if match and truthy(answer):
            answer = line.content
        elif match or (answer is None and not nulls):
            result.filtered += 1
            continue
        result.emitted += 1
        result.answers.append(answer)
        if result.emitted == limit:
            break
    return result


def _about(tree, row):
    return evaluate(tree, Scope(row, row))


def ask_all(query, files, *, skip, reverse=False):
    """Return the answers of a stream query, and the lines that failed.

    With `skip`, a line that fails is skipped, else it raises `LineFailed`.
    A failure after the rows is a `QueryError`.
    """
    path = parser.parse(query)
    steps = list(path.steps) if isinstance(path, ast.Path) else []
    of_rows = steps[:1] == [ast.Method("rows")]
    if of_rows:
        steps = steps[1:]
        if steps[:1] == [ast.Method("reverse")]:
            steps, reverse = steps[1:], not reverse
    stream = Stream(lines_of(files, reverse=reverse), skip=skip)
    if is_write(path):
        return stream.written(path), stream.failed
    rest = stream.through(steps, of_rows=of_rows)
    value = settled(Walk(NOTHING, evaluate, of_rows).through(stream.value, rest))
    return (value if gives_lines(steps) else [value]), stream.failed


def ask_whole(query, rows, *, of_rows, manner="plain"):
    """Return the answer of any query over all rows, which are in memory.

    `of_rows`: only ``$.rows()`` reaches them, else ``$`` is the array of them.
    """
    scope = (
        Scope(RowsOnly(rows), NO_ROW, manner=manner)
        if of_rows
        else Scope(rows, rows, manner=manner)
    )
    return settled(evaluate(parser.parse(query), scope))


def _arguments(path):
    return (node for step in path.steps for node in traversal.walk(step))


MADE_OF = {"sum", "avg", "min", "max"}
REDUCING = MADE_OF | {"all", "any", "count", "count_by", "find", "first", "last"}
KEYED = {"group_by", "index_by", "max_by", "min_by", "partition", "sort", "sort_by"}
EXTREME = {"max_by", "min_by"}
COUNTING = {"take", "skip", "drop"}
WHOLE = {"sort", "sort_by", "reverse", "flatten"}


def gives_lines(steps):
    """Whether the last step gives a stream, and not a single value."""
    if not steps or isinstance(steps[-1], ast.Slice):
        return True
    last = steps[-1]
    if not isinstance(last, ast.Method):
        return False
    if last.name in {"first", "last"}:
        return bool(last.args)
    return last.name in STAGES.keys() | COUNTING | WHOLE


class Stream:
    """The rows with their lines, read one after the other."""

    def __init__(self, lines, *, skip):
        self.skip = skip
        self.failed = []
        self.several = set()
        self.value = self._rows(lines)

    def _rows(self, lines):
        for line in lines:
            if is_blank(line.content):
                continue
            try:
                row = read(line.content)
            except QueryError:
                self.fail(line)
                continue
            yield line, row

    def fail(self, line):
        if not self.skip:
            raise LineFailed(line)
        if line in self.several:
            # Its other elements must not count either, but may be in the answers already.
            raise NotInSubset("a row that fails by one of its elements")
        self.failed.append(line)

    def written(self, path):
        """Return all changed rows: row by row if the path begins with all elements."""
        # A computed key is evaluated outside of the path, on all rows.
        mentions_all = any(
            isinstance(part, ast.Root | ast.Computed)
            for part in (*path.steps, *_arguments(path))
        )
        if mentions_all or not isinstance(path.steps[0], ast.Each | ast.Descend):
            document = [row for _line, row in self.value]
            return written(path, Scope(document, document), document, evaluate) or []
        made = []
        for line, row in self.value:
            try:
                made += written(path, Scope([row], [row]), [row], evaluate)
            except QueryError:
                self.fail(line)
        return made

    def through(self, steps, *, of_rows):
        """Apply the steps that run row by row; return the others."""
        for place, step in enumerate(steps):
            if not isinstance(step, ast.Method):
                break
            if step.name in REDUCING:
                self.value = self._reduced(step, of_rows)
                return steps[place + 1 :]
            if step.name in KEYED:
                self.value = self._with_keys(step, of_rows)
            if step.name not in STAGES.keys() | COUNTING:
                break
            self.value = self._stage(step, of_rows)
        else:
            place = len(steps)
        self.value = [value for _line, value in self.value]
        return steps[place:]

    def _with_keys(self, step, of_rows):
        """Yield the elements with computable keys."""
        keys = tuple(arg.value for arg in step.args)
        if any(isinstance(key, ast.Lambda) and len(key.params) > 1 for key in keys):
            return self.value
        if step.name not in EXTREME:
            keys = tuple(map(without_sign, keys))
        args = tuple(map(ast.Arg, keys))
        arguments = Arguments(args, NOTHING, evaluate, of_rows)
        if step.name == "partition":
            keyed = [arguments.condition()]
        else:
            keyed = [arguments.each(place) for place in range(len(keys))]
        return self._keyed(self.value, keyed)

    def _keyed(self, source, keyed):
        # All keys of a row are computed before those of the next row.
        together = self.each(source, lambda value: [key(value) for key in keyed])
        for line, value, _keys in together:
            yield line, value

    def _stage(self, step, of_rows):
        arguments = Arguments(step.args, NOTHING, evaluate, of_rows)
        if step.name in COUNTING:
            arguments.check(1)
            count = arguments.count(0)
            bounds = (count,) if step.name == "take" else (count, None)
            return islice(self.value, *bounds)
        return STAGES[step.name](self, self.value, arguments)

    def each(self, source, function):
        """Yield each element with its line and the result of a function."""
        for line, value in source:
            try:
                made = function(value)
            except QueryError:
                self.fail(line)
                continue
            yield line, value, made

    def filtered(self, source, arguments):
        for line, value, holds in self.each(source, arguments.condition()):
            if holds:
                yield line, value

    def mapped(self, source, arguments):
        for line, _value, made in self.each(source, arguments.each(0)):
            yield line, made

    def flat_mapped(self, source, arguments):
        for line, _value, made in self.each(source, arguments.each(0)):
            found = list(spread(made))
            if len(found) > 1:
                self.several.add(line)
            for inner in found:
                yield line, inner

    def unique_by(self, source, arguments):
        keyed = self.each(source, arguments.each(0))
        return first_of_each((key, (line, value)) for line, value, key in keyed)

    def unique(self, source, _arguments):
        return first_of_each((value, (line, value)) for line, value in source)

    def compacted(self, source, _arguments):
        return ((line, value) for line, value in source if value is not None)

    def _added(self, arguments):
        """Yield the addends; an element that cannot be added fails its row."""
        arguments.check(0, 1)
        made = arguments.each(0) if arguments else (lambda value: value)

        def checked(value):
            term = made(value)
            return term if term is None else addend(term)

        return (term for _line, _value, term in self.each(self.value, checked))

    def _reduced(self, step, of_rows):
        """Return the value that a method makes of the elements of the stream."""
        arguments = Arguments(step.args, NOTHING, evaluate, of_rows)
        if step.name in {"sum", "avg"}:
            return METHODS[step.name](Lazy(self._added(arguments)), NO_ARGUMENTS)
        if not step.args or step.name in {"first", "last"}:
            plain = (value for _line, value in self.value)
            return METHODS[step.name](Lazy(plain), arguments)
        if step.name in MADE_OF | {"count_by"}:
            made = (
                made for _line, _value, made in self.each(self.value, arguments.each(0))
            )
            if step.name == "count_by":
                groups = METHODS["group_by"](Lazy(made), ITSELF)
                return {key: len(group) for key, group in groups.items()}
            return METHODS[step.name](Lazy(made), NO_ARGUMENTS)
        tested = self.each(self.value, arguments.condition())
        if step.name == "count":
            return sum(holds for _line, _value, holds in tested)
        if step.name == "any":
            return any(holds for _line, _value, holds in tested)
        if step.name == "all":
            return all(holds for _line, _value, holds in tested)
        return next((value for _line, value, holds in tested if holds), None)


def without_sign(key):
    """Return a key without the minus sign that reverses its order."""
    if isinstance(key, ast.Lambda):
        return replace(key, body=without_sign(key.body))
    return key.operand if isinstance(key, ast.Negate) else key


NOTHING = Scope(None, None)
NO_ARGUMENTS = Arguments((), NOTHING, evaluate)
ITSELF = Arguments((ast.Arg(ast.Current()),), NOTHING, evaluate)

STAGES = {
    "filter": Stream.filtered,
    "find_all": Stream.filtered,
    "map": Stream.mapped,
    "flat_map": Stream.flat_mapped,
    "unique_by": Stream.unique_by,
    "distinct_by": Stream.unique_by,
    "unique": Stream.unique,
    "distinct": Stream.unique,
    "compact": Stream.compacted,
}
