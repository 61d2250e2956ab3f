"""Joins: each row of a data set with the rows of another that have its key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from headrace.api.index.build import where_of
from headrace.api.index.key import KeyIndex, warn_of_index
from headrace.api.index.key_upkeep import fields_of, no_row_has_key, warn_of_keyless
from headrace.api.options import JoinOptions, refuse_other, refuse_unknown
from headrace.api.query import refuse_shared_pipes
from headrace.api.results import Result
from headrace.engines.local.join import JoinRun, JoinTerms
from headrace.engines.rows.rejected import reporting
from headrace.errors import KeyIndexError, UsageError
from headrace.kernel.join import Form, JoinCounts
from headrace.physical.joins import Sides, Strategy, choose, estimated_memory, is_small
from headrace.store.files.source import Source, SourceSpec, total_size
from headrace.store.files.units import parse_size
from headrace.store.index.catalog import SUFFIX
from headrace.store.index.set.stored import INDEXES
from headrace.store.index.subject import set_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from headrace.api.dataset import Dataset
    from headrace.api.options import Errors, Fields
    from headrace.engines.local.key_lookup import LedBy
    from headrace.engines.query.scan import Rows
    from headrace.errors import HeadraceError
    from headrace.kernel.index_meta import Lines
    from headrace.kernel.key_index import Skipped
    from headrace.store.shards.shard_set import ShardSet


def joined(
    dataset: Dataset[Any],
    right: SourceSpec | Dataset[Any],
    on: Fields | None,
    options: JoinOptions,
) -> JoinResult:
    """Return the join of a data set with another source."""
    refuse_unknown(options, JoinOptions)
    how, on_error = options.get("how", "inner"), options.get("on_error", "abort")
    refuse_other("how", how, ("inner", "left"))
    refuse_other("on_error", on_error, ("abort", "skip", "collect"))
    errors, strict = options.get("errors"), options.get("strict", False)
    if errors is not None and on_error != "collect":
        raise UsageError("errors are kept only with on_error='collect'")
    reading = dataset.row_options
    terms = JoinTerms(
        *keys_of(on, options.get("left_on"), options.get("right_on")),
        _form(options, inner=how == "inner"),
        typed=not options.get("text_keys", False),
        memory=parse_size(options.get("memory", "1GiB")),
        max_line=reading.max_line,
        max_depth=dataset.max_depth,
        on_error="abort" if strict else on_error,
        strict=strict,
    )
    other = dataset.other(right)
    refuse_shared_pipes([dataset.files(), other.files()])
    index_dir = reading.keeping.directory
    return JoinResult(
        Side(dataset.files(), dataset.name),
        Side(other.files(), other.name, index_dir),
        terms,
        _wanted(dataset, options),
        errors,
        options.get("report"),
    )


def _form(options: JoinOptions, *, inner: bool) -> Form:
    target, pick = options.get("target"), options.get("pick")
    indicator = options.get("indicator")
    if isinstance(pick, str):
        raise UsageError(f"pick is a list of fields, such as [{pick!r}]")
    if target is not None and target == indicator:
        raise UsageError(f"target and indicator are both called {target!r}")
    picked = None if pick is None else tuple(pick)
    return Form(inner, target, picked, options.get("prefix", ""), indicator)


def _wanted(dataset: Dataset[Any], options: JoinOptions) -> Wanted:
    index, required = options.get("index"), options.get("require_index", False)
    if index is False and required:
        raise UsageError("require_index needs an index, and index=False uses none")
    if index is None and not dataset.row_options.keeping.enabled:
        index = False
    return Wanted(index or True if required else index, required)


@dataclass(frozen=True, slots=True)
class Side:
    """The files of one side, and the name of all of them together."""

    files: Sequence[Rows]
    name: str
    index_dir: str | None = None

    @property
    def sources(self) -> list[Source]:
        """What is read."""
        return [file.source for file in self.files]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which index the caller wants; a `required` one that cannot be used is an error."""

    index: bool | str | os.PathLike[str] | None = None
    required: bool = False

    @property
    def demanded(self) -> bool:
        """Whether the index is used even if it is slower."""
        return self.index not in (None, False)

    @property
    def path(self) -> str | os.PathLike[str] | None:
        """The file of the index, if the caller names it."""
        return None if isinstance(self.index, bool) else self.index


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """How right rows are reached, and why.

    `fresh`: the index is that of the file as it is now; None if no index was opened.
    """

    strategy: Strategy
    right: str
    index: str | None
    format: int | None
    fresh: bool | None
    keys: int | None
    estimated_memory: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class JoinStats:
    """Counts of left rows; rows = emitted + filtered + skipped + blank.

    `bad` of the skipped lines are no rows; `errors` has the first of them. `right` counts the
    scanned lines of the right side by kind, and `right_bad` has the first bad ones. `reads` is
    how often rows were read through the index, `bytes_read` how much of the right side was
    read in all.
    """

    mode: Literal["hash", "indexed"]
    counts: JoinCounts
    bad: int
    errors: tuple[HeadraceError, ...]
    right: Lines
    right_bad: tuple[tuple[str, Skipped], ...]
    held: int
    reads: int
    bytes_read: int


def keys_of(
    on: Fields | None, left_on: Fields | None, right_on: Fields | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the key fields of both sides.

    >>> keys_of("id", None, None), keys_of(None, ["a", "b"], ["c", "d"])
    ((('id',), ('id',)), (('a', 'b'), ('c', 'd')))
    """
    if on is not None:
        if (left_on, right_on) != (None, None):
            raise UsageError(
                "the key has one name (on, --on), or one for each side (left_on and "
                "right_on, --left-on and --right-on), not both"
            )
        left_on = right_on = on
    if left_on is None or right_on is None:
        missing = (
            "left_on (--left-on)"
            if right_on is not None
            else ("right_on (--right-on)" if left_on is not None else "on (--on)")
        )
        raise UsageError(
            f"name the key: {missing} is missing; on (--on) names a field that both "
            "sides have"
        )
    left, right = fields_of(left_on), fields_of(right_on)
    if len(left) != len(right):
        raise UsageError(
            f"the key has as many fields on both sides, not {','.join(left)} and "
            f"{','.join(right)}"
        )
    return left, right


def _may_have_index(source: Source) -> bool:
    return source.seekable and source.kind == "file" and source.times is None


class JoinResult(Result):
    """The rows of a join, computed when they are read, each time anew.

    `plan` is how right rows are reached, `stats` the counts of the last run. Bad left rows go to
    `errors`: a file that appears when the run is over, or a function. `report_keyless` is
    called after a run with the name and the key of a side that has rows, but none with the
    key.
    """

    def __init__(
        self,
        left: Side,
        right: Side,
        terms: JoinTerms,
        wanted: Wanted,
        errors: Errors | None = None,
        report: Callable[[KeyIndexError], object] | None = None,
    ) -> None:
        super().__init__()
        self._left, self.right = left, right
        self._terms, self._wanted, self._errors = terms, wanted, errors
        self._report = report or warn_of_index
        self.report_keyless: Callable[[str, str], object] = warn_of_keyless
        self._found: LedBy | None = None
        self.plan = self._planned()
        self.run = self._new_run()

    def _new_run(self) -> JoinRun:
        led_by = self._found if self.plan.strategy == "index" else None
        run = JoinRun(self._terms, self.right.files, led_by)
        run.give_up = self._give_up
        return run

    def lines(self) -> Iterator[bytes]:
        """Yield the rows as lines of JSON, many at a time."""
        self.notes = []
        self.run = self._new_run()
        return self._answers()

    def _answers(self) -> Iterator[bytes]:
        with reporting(self._errors) as self.run.tell:
            yield from self.run.answers(self._left.files)
            stats = self.stats
            counts, right = stats.counts, stats.right
            if counts.lookups == 0 and counts.rows > counts.blank + counts.skipped:
                self.report_keyless(self._left.name, ",".join(self._terms.left))
            if no_row_has_key(right):
                self.report_keyless(self.right.name, ",".join(self._terms.right))

    def explain(self) -> str:
        """Return how right rows are reached, and why."""
        plan = self.plan
        how = "are held in memory" if plan.strategy == "hash" else f"by {plan.index}"
        return f"{plan.right}: rows {how}; {plan.reason}"

    @property
    def stats(self) -> JoinStats:
        """The counts of the last run so far."""
        run = self.run
        led_by = run.led_by
        lines = run.lines
        if led_by is not None and not led_by.grown:
            lines = led_by.stored.whole.lines
        read = sum(file.bytes_read() for file in self.right.files)
        if self._found is not None:
            read += self._found.opened.file.bytes_read
        return JoinStats(
            "hash" if led_by is None else "indexed",
            run.counts,
            run.bad,
            tuple(run.errors),
            lines,
            tuple(run.skipped),
            run.held,
            run.reads,
            read,
        )

    # The index

    def _planned(self) -> JoinPlan:
        """Open an index if one may be used, and choose the strategy."""
        right = total_size(self.right.sources)
        fresh = None
        if self._wanted.demanded or (
            self._wanted.index is None and not is_small(right)
        ):
            self._found, fresh = self._led_by(), False
        found = self._found
        if found is not None:
            right, fresh = found.opened.size, not found.grown
        meta = None if found is None else found.stored.whole
        sides = Sides(
            total_size(self._left.sources),
            right,
            indexed=found is not None,
            demanded=self._wanted.demanded,
            memory=self._terms.memory,
            rows_per_key=meta.records / meta.keys if meta and meta.keys else 1.0,
        )
        choice = choose(sides)
        hashed = choice.strategy == "hash" and right is not None
        return JoinPlan(
            choice.strategy,
            self.right.name,
            None if found is None else str(found.stored.path),
            None if found is None else found.stored.index.version,
            fresh,
            None if meta is None else meta.keys,
            estimated_memory(right) if hashed and right is not None else None,
            choice.reason,
        )

    def _led_by(self) -> LedBy | None:
        """Return an index that gives the same rows as a scan, if there is one."""
        try:
            return self._opened_index()
        except KeyIndexError as trouble:
            if self._wanted.required:
                raise
            self._say(trouble)
            return None

    def _opened_index(self) -> LedBy | None:
        subject, terms = self._indexed(), self._terms
        troubles: list[KeyIndexError] = []
        index = KeyIndex(
            subject,
            terms.right,
            index=self._wanted.path,
            index_dir=self.right.index_dir,
            max_line=terms.max_line,
            max_depth=terms.max_depth,
            report=troubles.append,
        )
        found = index.leads
        if found is None:
            raise troubles[0]
        meta = found.stored.whole
        location, path = index.source.location, str(found.stored.path)
        if meta.max_line > terms.max_line or meta.max_depth > terms.max_depth:
            reason = "it has rows over max_line or max_depth"
            raise KeyIndexError(location, path, "limits", reason)
        if terms.on_error == "abort" and (meta.lines.bad or meta.lines.too_long):
            # A scan finds the first bad line, and ends there.
            return None
        for trouble in troubles:
            if self._wanted.required:
                raise trouble
            self._say(trouble)
        return found

    def _indexed(self) -> Source | ShardSet:
        """Return the subject of the index: a file, or the set whose parts the files are."""
        sources = self.right.sources
        shards = set_of(sources)
        if shards is not None and (len(sources) > 1 or self._has_index(shards)):
            return shards
        if len(sources) == 1 and _may_have_index(sources[0]):
            return sources[0]
        reason = "only one seekable file, or a set of shards, has an index"
        place = f"{self.right.name}{SUFFIX}"
        raise KeyIndexError(self.right.name, place, "missing", reason)

    def _has_index(self, shards: ShardSet) -> bool:
        where = where_of(self._wanted.path, self.right.index_dir)
        found = INDEXES.find(shards.path, where, self._terms.right)
        return found is not None

    def _say(self, trouble: KeyIndexError) -> None:
        if trouble.kind != "missing" or self._wanted.demanded:
            self._report(trouble)

    def _give_up(self, trouble: KeyIndexError) -> None:
        """Replace a damaged index by rows in memory."""
        if self._wanted.required:
            raise trouble
        self.plan = replace(self.plan, strategy="hash", reason=trouble.reason)
        self._report(trouble)
