"""Explanation of a query over files: its plan, how rows are reached and divided, and a run of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.engines.query.report import RunReport
from headrace.engines.query.run import begin, execute
from headrace.engines.query.scan import (
    are_worth_threads,
    has_fragments,
    main_scan,
    search_index,
)
from headrace.kernel.programs import RowQuery
from headrace.language.traversal import deep
from headrace.language.unparse import unparse
from headrace.logical.stream_plan import StreamPlan as Stream
from headrace.logical.stream_planner import plan_stream
from headrace.physical.access import choose_scan, why_indivisible
from headrace.physical.explain import (
    Measured,
    drawn,
    explain_files,
    explain_tree,
    measured_line,
)
from headrace.physical.query_plan import (
    JoinPlan,
    RowPlan,
    StreamPlan,
    ValuePlan,
    ZipPlan,
)
from headrace.record import field, mutable_record, record, replace
from headrace.store.files.units import format_size
from headrace.store.rows.demand import KeyFilter, NoKeyRows
from headrace.store.rows.row_file import RowFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.engines.query.options import OnError
    from headrace.engines.query.report import ScanRun
    from headrace.engines.query.scan import QueryInput, Rows, Scan
    from headrace.physical.query_plan import QueryPlan, StagePlan


def explain_query(
    query: QueryInput,
    *,
    stream: bool,
    where: str | None,
    local: bool,
    run: AnalyzedRun | None = None,
) -> Iterator[str]:
    """Yield the explanation of a query, part by part; with a run, what it measured.

    `local`: this process reads the rows.
    """
    plan, options = query.plan, query.options
    measured = None if run is None else _Analysis(plan, run.report)
    with deep():
        parts = measured.parts(stream=stream) if measured else {}
        chosen = iter(measured.chosen if measured else ())
        if where is not None:
            yield measured_line(f"only rows for which {where}", next(chosen, ""))
        if plan.key is not None:
            first = f"only the first row of each {unparse(plan.key)}"
            yield measured_line(first, next(chosen, ""))
        yield explain_tree(
            plan.tree, stream=stream, indexes=options.index, measured=parts
        )
    if run is not None and measured:
        yield measured.others()
        yield _described_run(run)
    elif local:
        yield explain_threads(query)
    keys, access = _explain_access(query)
    if keys is not None:
        yield explain_files(keys, access)


def _explain_access(
    query: QueryInput,
) -> tuple[KeyFilter | None, list[tuple[str, str]]]:
    """Return the key filter of the main scan, and the access that it gives to each file."""
    scan = main_scan(query.plan, query.options)
    if scan is None or not isinstance(scan.keys, KeyFilter):
        return None, []
    explained = []
    for file in query.sources[scan.source]:
        found = search_index(file, scan, query.options)
        text = "all rows are read" if found is None else found.reason
        explained.append((file.source.location, text))
    return scan.keys, explained


# Threads


def explain_threads(query: QueryInput) -> str:
    """Explain which threads read the rows of the main source; empty if it is not read."""
    plan, threads = query.plan, query.options.threads
    plans: list[StreamPlan] = []
    match plan.main:
        case RowPlan():
            pass
        case StreamPlan(source=None) as main:
            plans = [main]
        case _:
            plans = [each for each in plan.questions if each.source is None]
            if not plans:
                return ""
    one = "one thread reads the rows"
    if threads == 1:
        return f"{one}: threads (--threads) is 1"
    if plan.places:
        return f"{one}: the place of a row depends on the rows before it"
    if (reason := why_indivisible(plans)) is not None:
        return f"{one}: {reason}"
    whys = list(dict.fromkeys(_why_alone(query, plans)))
    if any(why is None for why in whys):
        limited = _has_limit(query, plans)
        behind = " behind the first 2 MiB" if limited else ""
        return f"{threads} threads share the rows{behind}"
    reasons = "; ".join(filter(None, whys))
    return f"{one}: {reasons}" if reasons else ""


def _has_limit(query: QueryInput, plans: Sequence[StreamPlan]) -> bool:
    """Whether the first rows may be enough."""
    if not plans or plans[0].reduction == "lines":
        return query.options.limit is not None
    return plans[0].reduction == "collect" and plans[0].limit is not None


def _why_alone(query: QueryInput, plans: Sequence[StreamPlan]) -> Iterator[str | None]:
    """Yield why one thread reads the rows of each file; None where several do."""
    options, threads = query.options, query.options.threads
    scan = main_scan(query.plan, options)
    reverse = scan.reverse if scan is not None else plans[0].reverse
    worth = are_worth_threads(query.files, options)
    for file in query.files:
        if len(plans) == 1 and choose_scan(plans[0], file.capabilities) == "tail":
            yield "only the last rows are read"
        elif file.source.times is not None:
            yield "lines in a range of times are read in order"
        elif not isinstance(file, RowFile):
            yield "its reader gives one row after the other"
        elif scan is not None and _is_indexed(file, scan, query):
            yield "a key index leads to them"
        elif worth and not reverse:
            yield None
        else:
            if reverse:
                why = "they come from the last to the first"
            elif has_fragments(file):
                why = "the files are small"
            else:
                why = "they come in order"
            yield f"{why}; {threads} threads share those behind the first ones"


def _is_indexed(file: Rows, scan: Scan, query: QueryInput) -> bool:
    found = search_index(file, scan, query.options)
    return found is not None and not isinstance(found, NoKeyRows)


# A run


@record
class AnalyzedRun:
    """A run whose output was only counted: its report, and how many lines it gave."""

    report: RunReport
    lines: int


def analyzed(query: QueryInput, warn: Callable[[str], None]) -> AnalyzedRun:
    """Run a query in this process, counting the elements that come to each stage.

    Bad rows are skipped or end the run, as the options say, and are not collected.
    """
    aborts = query.options.on_error == "abort"
    on_error: OnError = "abort" if aborts else "skip"
    options = replace(query.options, analyze=True, on_error=on_error)
    report = RunReport(on_error, warn)
    run = begin(replace(query, options=options), report)
    lines = sum(piece.count(b"\n") for piece in report.timed(execute(run)))
    return AnalyzedRun(report, lines)


@mutable_record
class _Analysis:
    """What a run measured, by the parts of the plan.

    `chosen` is what `where` and `distinct_by` let pass, which are stages of the plan, but not of the
    query.
    """

    plan: QueryPlan
    report: RunReport
    chosen: list[str] = field(default_factory=list)
    _taken: list[ScanRun] = field(default_factory=list)

    def parts(self, *, stream: bool) -> dict[str | None, Measured]:
        """Return what was measured of sub-queries, by their text, and of the main part."""
        plan = self.plan
        found: dict[str | None, Measured] = {}
        named = zip(plan.question_names, plan.questions, strict=True)
        for number, (name, question) in enumerate(named):
            found[name] = self._part(number, question)
        match plan.main:
            case RowPlan():
                found[None] = self._rows()
            case StreamPlan() as main:
                logical = plan_stream(plan.tree, whole=stream)
                shown = len(logical.stages) if isinstance(logical, Stream) else 1
                measured = self._part(None, main)
                found[None] = self._shown(measured, len(main.stages) - shown)
            case ValuePlan():
                found[None] = Measured(rest=self._finished(()))
        return found

    def _rows(self) -> Measured:
        scans = self._take(lambda scan: not scan.parts and scan.scan.join is None)
        scan = scans[0]
        counts = scan.counts
        computed = counts.emitted + counts.filtered
        return Measured(_described(scan), (computed, counts.emitted))

    def _shown(self, measured: Measured, hidden: int) -> Measured:
        """Return what was measured of the stages behind the first `hidden` ones."""
        if not measured.elements:
            return measured
        self.chosen = [measured.passed(number) for number in range(hidden)]
        return replace(
            measured,
            elements=measured.elements[hidden:],
            rights={at - hidden: said for at, said in measured.rights.items()},
        )

    def _part(self, number: int | None, plan: StreamPlan) -> Measured:
        """Return what was measured of a sub-query, or of the main part."""

        def serves(scan: ScanRun) -> bool:
            is_alone = len(scan.parts) < 2
            return (
                (number in scan.parts if scan.parts else number is None)
                and scan.scan.join is None
                and scan.scan.source == plan.source
                and (scan.scan.stages == plan.stages or not is_alone)
            )

        # Several sub-queries share a scan.
        scan = next(filter(serves, self.report.scans), None)
        if scan is None:
            return Measured()
        self._take(lambda other: other is scan)
        at = 0 if number is None else scan.parts.index(number)
        query = scan.queries[at]
        assert not isinstance(query, RowQuery)
        elements = tuple(query.arrived)
        return Measured(
            _described(scan),
            elements,
            {
                at: said
                for at, stage in enumerate(plan.stages)
                if (said := self._right(stage, number))
            },
            "1 element" if elements[-1] == 1 else f"{elements[-1]:,} elements",
            self._finished(scan.parts),
        )

    def _right(self, stage: StagePlan, number: int | None) -> str:
        """Describe what was read for the other side of a stage."""
        parts = () if number is None else (number,)
        match stage:
            case JoinPlan():
                scans = self._take(lambda scan: scan.scan.join == stage)
            case ZipPlan(right):
                wanted = (right.source, right.stages)
                scans = self._take(
                    lambda scan: (
                        (scan.scan.source, scan.scan.stages) == wanted
                        and tuple(scan.parts) == parts
                    )
                )
            case _:
                scans = []
        sides = ("left keys" if scan.scan.again else "right side" for scan in scans)
        return "; ".join(
            f"{side}: {_described(scan)}"
            for side, scan in zip(sides, scans, strict=True)
        )

    def _take(self, chosen: Callable[[ScanRun], bool]) -> list[ScanRun]:
        """Return scans, which are those of a part from now on."""
        found = [scan for scan in self.scans if chosen(scan)]
        self._taken += found
        return found

    def _finished(self, parts: Sequence[int]) -> str:
        seconds = self.report.finished.get(tuple(parts))
        return "" if seconds is None else f"{seconds:.3f} s"

    @property
    def scans(self) -> list[ScanRun]:
        """The scans of no part so far."""
        taken = set(map(id, self._taken))
        return [scan for scan in self.report.scans if id(scan) not in taken]

    def others(self) -> str:
        """Return the scans of no part that is shown; empty if there are none."""
        if not self.scans:
            return ""
        named = (
            ("$" if each.scan.source is None else f"@{each.scan.source}", each)
            for each in self.scans
        )
        return drawn(
            "also read", [f"{name}: {_described(scan)}" for name, scan in named]
        )


def _described(scan: ScanRun) -> str:
    """Describe a scan: its rows, bytes, threads and seconds."""
    counts = scan.counts
    unread = sum(lines.counts.rows for lines in scan.skipped)
    kinds = (
        (counts.rows, "row" if counts.rows == 1 else "rows"),
        (counts.blank, "blank"),
        (counts.skipped, "skipped"),
        (unread, "not read"),
    )
    rows = [f"{n:,} {kind}" for n, kind in kinds if n or kind == "rows"]
    work = scan.work
    threads = "1 thread" if scan.threads == 1 else f"{scan.threads} threads"
    times = [f"reading {work.read:.3f} s", f"evaluating {work.evaluate:.3f} s"]
    if scan.threads > 1:
        times.append(f"merging {work.merge:.3f} s")
    what = ", ".join([*rows, format_size(work.bytes), threads])
    return f"{what}: {', '.join(times)}"


def _described_run(run: AnalyzedRun) -> str:
    """Describe a run as a whole."""
    wall, cpu = run.report.seconds
    held = format_size(run.report.work.held)
    lines = "1 line" if run.lines == 1 else f"{run.lines:,} lines"
    return f"the run: {wall:.3f} s, CPU {cpu:.3f} s, {lines} of output, {held} held at most"
