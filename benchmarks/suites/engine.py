"""Queries beside DuckDB, Polars, qj, jq, simdjson and ripgrep, on one thread and on two.

Each work is one query in the language of each tool; simdjson only finds a field. Every candidate writes its answer to a
file, and the answers are compared as values. jq runs over a twentieth of the file, beside
Headrace again. `GOALS` are CPU seconds for 1 GB of `--size`; other sizes scale them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmarks import tools
from benchmarks.answers import written_probe, written_program
from benchmarks.candidate import (
    HEADRACE,
    AtLeast,
    AtMost,
    AtMostAbove,
    AtMostTimes,
    Benchmark,
    Overview,
    Question,
    Ref,
    probe,
    program,
)
from benchmarks.engines import (
    duckdb_probe,
    headrace_join_probe,
    headrace_probe,
    polars_probe,
)
from benchmarks.generate import DATA, MIB, Extent, data_file
from benchmarks.probe import Meter, Outcome
from benchmarks.rows import USERS
from benchmarks.suite import Settings, Suite
from benchmarks.suites.row_index import headrace_len, python_count
from benchmarks.units import threads_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.answers import Content, Order
    from benchmarks.candidate import Candidate, Target
    from benchmarks.engines import Form

Files: TypeAlias = "Mapping[str, Path]"

OURS = "Headrace"
# Only the first one checks each row in full, as Headrace does.
SIMDJSON = {"simdjson DOM": "dom", "simdjson on demand": "ondemand"}
THREADS = (1, 2)
WRITTEN = DATA / "engine.out"

# The part of `--size` that each file has: at 1 GB, the files for which the goals are stated.
SHARES = {"events": 94, "fewer events": 19, "wide": 110, "tweets": 42}
JQ_SHARE = 20
SPEEDUP = 1.85
START = 0.040
WC_SPEED = 0.9
HELD = 72 * MIB
HELD_BY_A_THREAD = 8 * MIB


@dataclass(frozen=True, slots=True)
class Work:
    """One query over the first of `files`, in all languages.

    `sql` is that of DuckDB and Polars, unless DuckDB is faster with another one, `text_sql`, over
    rows that it reads as text. `goal` is the CPU time on one thread, `beside` the part of the CPU
    time of others that it may take, `held` the peak memory on one thread; None for any amount. Each further thread
    may hold `HELD_BY_A_THREAD`. `pointer` is the JSON pointer of the field, if the work is one.
    """

    label: str
    files: tuple[str, ...]
    query: str
    sql: str
    jq: tuple[str, ...] = ()
    rg: tuple[str, ...] = ()
    text_sql: str = ""
    pointer: str = ""
    form: Form = "rows"
    order: Order = "kept"
    goal: float | None = None
    beside: tuple[tuple[str, float], ...] = ()
    faster_on_two: bool = True
    held: int | None = HELD

    def others(self) -> tuple[tuple[str, float], ...]:
        """Return the others and their shares, if they run this query."""
        return tuple(
            (name, share) for name, share in self.beside if name != "qj" or self.jq
        )


EVENTS, FEWER = ("events",), ("fewer events",)
FIRST = (("DuckDB", 1.0), ("qj", 1.0))
HALF_OF_DUCKDB = (("DuckDB", 0.5),)
NO_MEMORY_GOAL = None

WORKS = (
    Work(
        "one field, narrow",
        EVENTS,
        "$.id",
        "select id from events",
        (".id",),
        pointer="/id",
        text_sql="select json->>'$.id' from events",
        form="values",
        goal=1.1,
        beside=FIRST,
    ),
    Work(
        "1 % of the rows, narrow",
        EVENTS,
        '$.rows().filter(level == "fatal")',
        "select * from events where level = 'fatal'",
        ('select(.level == "fatal")',),
        ("-F", '"level":"fatal"'),
        "select json from events where json->>'$.level' = 'fatal'",
        goal=1.1,
    ),
    Work(
        "0.002 % of the rows, narrow",
        EVENTS,
        '$.rows().filter(level == "panic")',
        "select * from events where level = 'panic'",
        ('select(.level == "panic")',),
        ("-F", '"level":"panic"'),
        "select json from events where json->>'$.level' = 'panic'",
    ),
    Work(
        "objects of 3 fields, narrow",
        EVENTS,
        "{id, user, ms}",
        'select id, "user", ms from events',
        ("{id, user, ms}",),
        goal=2.0,
    ),
    Work(
        "sum, narrow",
        EVENTS,
        "$.rows().sum(ms)",
        "select sum(ms) from events",
        ("-n", "reduce inputs as $r (0; . + $r.ms)"),
        form="values",
        goal=1.2,
        beside=HALF_OF_DUCKDB,
    ),
    Work(
        "count by 7 groups, narrow",
        EVENTS,
        "$.rows().group(country, {n: count()})",
        "select country, count(*) as n from events group by country",
        (
            "-n",
            "reduce inputs as $r ({}; .[$r.country] += 1)"
            " | to_entries[] | {country: .key, n: .value}",
        ),
        order="any",
        goal=1.2,
        beside=HALF_OF_DUCKDB,
    ),
    Work(
        "count and sum by 7 groups, narrow",
        EVENTS,
        "$.rows().group(country, {n: count(), total: sum(ms)})",
        "select country, count(*) as n, sum(ms) as total from events group by country",
        (
            "-n",
            "reduce inputs as $r ({}; .[$r.country] as $old"
            " | .[$r.country] = {n: ($old.n + 1), total: ($old.total + $r.ms)})"
            " | to_entries[] | {country: .key} + .value",
        ),
        order="any",
        goal=1.5,
        held=64 * MIB,
    ),
    Work(
        "count and sum by 54,000 groups, narrow",
        EVENTS,
        "$.rows().group(user, {n: count(), total: sum(ms)})",
        'select "user", count(*) as n, sum(ms) as total from events group by "user"',
        (
            "-n",
            "reduce inputs as $r ({}; .[$r.user] as $old"
            " | .[$r.user] = {n: ($old.n + 1), total: ($old.total + $r.ms)})"
            " | to_entries[] | {user: .key} + .value",
        ),
        order="any",
        goal=2.2,
        held=128 * MIB,
    ),
    Work(
        "top 10, narrow",
        EVENTS,
        "$.rows().sort(-trace).take(10)",
        "select * from events order by trace desc limit 10",
        goal=1.2,
    ),
    Work(
        "full sort, fewer narrow",
        FEWER,
        "$.rows().sort(trace)",
        "select * from events order by trace",
        goal=2.5,
        held=NO_MEMORY_GOAL,
    ),
    Work(
        "join with 54,000 rows, fewer narrow",
        (*FEWER, "users"),
        "$.join(@users, on: user)",
        "select events.*, seats, plan, city "
        'from events join users on events."user" = users."user"',
        order="any",
        goal=0.9,
        held=NO_MEMORY_GOAL,
    ),
    Work(
        "to Parquet, fewer narrow",
        FEWER,
        "$",
        "select * from events",
        form="parquet",
        goal=1.2,
    ),
    Work(
        "to Arrow, fewer narrow",
        FEWER,
        "$",
        "select * from events",
        form="arrow",
        goal=0.7,
        faster_on_two=False,
        held=NO_MEMORY_GOAL,
    ),
    Work(
        "one field, wide",
        ("wide",),
        "$.col_25",
        "select col_25 from wide",
        (".col_25",),
        pointer="/col_25",
        form="values",
        goal=0.75,
        beside=FIRST,
    ),
    Work(
        "1 % of the rows, wide",
        ("wide",),
        "$.rows().filter(col_05 >= 990000000)",
        "select * from wide where col_05 >= 990000000",
        ("select(.col_05 >= 990000000)",),
        ('"col_05":99[0-9]{7},',),
        "select json from wide where (json->>'$.col_05')::BIGINT >= 990000000",
        goal=0.75,
    ),
    Work(
        "one nested field, tweets",
        ("tweets",),
        "$.user.followers_count",
        'select "user".followers_count from tweets',
        (".user.followers_count",),
        pointer="/user/followers_count",
        text_sql="select json->>'$.user.followers_count' from tweets",
        form="values",
        goal=0.22,
        beside=FIRST,
    ),
    Work(
        "1 % of the rows, tweets",
        ("tweets",),
        '$.rows().filter(filter_level == "high")',
        "",
        ('select(.filter_level == "high")',),
        ("-F", '"filter_level":"high"'),
        "select json from tweets where json->>'$.filter_level' = 'high'",
        goal=0.22,
    ),
)


def copy_probe(path: str) -> Outcome:
    """Copy a file into memory, a piece at a time; the rows are counted afterwards."""
    piece = bytearray(MIB)
    with Meter() as meter, Path(path).open("rb", buffering=0) as file:
        while file.readinto(piece):
            pass
    return Outcome(python_count(path).answer, meter.figures)


def on(name: str, threads: int) -> str:
    """Name a candidate on a number of threads."""
    return name if threads == 1 else f"{name}, {threads_text(threads)}"


def files_of(size: int) -> dict[str, Path]:
    """Find or make the files of a run."""
    made = {
        name: data_file(name.rpartition(" ")[2], Extent(size * share // 100))
        for name, share in SHARES.items()
    }
    return made | {"users": data_file("users", Extent(USERS, "rows"))}


def tables_of(work: Work, files: Files) -> dict[str, str]:
    """Return the files of a work by the names that its queries use."""
    return {name.rpartition(" ")[2]: str(files[name]) for name in work.files}


def ours(work: Work, files: Files, threads: int) -> Candidate:
    """Make a candidate of the query of a work."""
    arrow = ("pyarrow",) if content_of(work) != "lines" else ()
    return written_probe(
        on(OURS, threads),
        headrace_probe,
        tables_of(work, files),
        work.query,
        work.form,
        threads,
        written=WRITTEN,
        modules=("headrace", *arrow),
        order=work.order,
        content=content_of(work),
    )


def content_of(work: Work) -> Content:
    """Return what a candidate writes."""
    return work.form if work.form in ("parquet", "arrow") else "lines"


def peers(work: Work, files: Files, qj: Path) -> Iterator[Candidate]:
    """Make candidates of the engines that have threads."""
    libraries = (
        ("DuckDB", duckdb_probe, work.text_sql or work.sql),
        ("Polars", polars_probe, work.sql),
    )
    for name, function, sql in libraries:
        for threads in THREADS if sql else ():
            yield written_probe(
                on(name, threads),
                function,
                tables_of(work, files),
                sql,
                work.form,
                threads,
                written=WRITTEN,
                modules=(name.lower(), "pyarrow"),
                order=work.order,
                content=content_of(work),
            )
    if work.jq:
        # Only filters have threads in qj, `reduce` has none.
        for threads in THREADS if "-n" not in work.jq else (1,):
            yield jq_program(
                on("qj", threads), qj, "--threads", threads, work=work, files=files
            )


def jq_program(
    name: str, *command: str | int | Path, work: Work, files: Files
) -> Candidate:
    """Make a candidate of jq, or of a program with its command line."""
    path = files[work.files[0]]
    words = (*command, "-c", *work.jq, path)
    return written_program(name, *words, written=WRITTEN, order=work.order)


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs that are measured beside the libraries; `walk` is the one on simdjson."""

    qj: Path
    rg: Path
    walk: Path


def question(work: Work, files: Files, programs: Programs) -> Question:
    """Run a work with every engine, and with ripgrep if a search has the same answer."""
    path = files[work.files[0]]
    candidates = [ours(work, files, threads) for threads in THREADS]
    if "users" in work.files:
        candidates.append(
            written_probe(
                f"{OURS}, Dataset.join",
                headrace_join_probe,
                path,
                files["users"],
                "user",
                written=WRITTEN,
                modules=("headrace",),
                order=work.order,
            )
        )
    candidates += peers(work, files, programs.qj)
    if work.pointer:
        for name, mode in SIMDJSON.items():
            words = (programs.walk, mode, work.pointer, path)
            candidates.append(written_program(name, *words, written=WRITTEN))
    if work.rg:
        search: tuple[str | Path, ...] = (
            programs.rg,
            "--no-config",
            "--no-line-number",
            *work.rg,
            path,
        )
        candidates.append(written_program("rg", *search, written=WRITTEN))
    return Question(work.label, tuple(candidates), path.stat().st_size)


def jq_question(work: Work, files: Files) -> Question:
    """Run a work over fewer rows, with jq."""
    jq = jq_program("jq", "jq", work=work, files=files)
    size = files[work.files[0]].stat().st_size
    label = f"{work.label}, a twentieth"
    return Question(label, (ours(work, files, 1), jq), size)


def targets(work: Work, size: int) -> Iterator[Target]:
    """Return the goals of a work for files of this size."""
    one, two = (Ref(work.label, on(OURS, threads)) for threads in THREADS)
    if work.goal is not None:
        yield AtMost(one, "cpu", work.goal * size / 1e9)
    for name, share in work.others():
        yield AtMostTimes(one, Ref(work.label, name), "cpu", share)
    if work.faster_on_two:
        yield AtLeast(two, one, SPEEDUP)
    if work.held is not None:
        for threads, ref in zip(THREADS, (one, two), strict=True):
            further = (threads - 1) * HELD_BY_A_THREAD
            yield AtMost(ref, "peak_rss", work.held + further)


def count(name: str, path: Path, rg: Path) -> Question:
    """Count rows; the newlines and a copy are the limits of every query of a file."""
    return Question(
        f"count of rows, {name}",
        (
            probe(OURS, headrace_len, path, modules=("headrace",)),
            program("rg", rg, "--no-config", "-c", "", path),
            program("wc -l", "wc", "-l", path),
            probe("copy", copy_probe, path),
        ),
        path.stat().st_size,
    )


def one_row(qj: Path) -> Question:
    """Run a query of one row as a whole process, beside an interpreter that does nothing."""
    path = data_file("events", Extent(1, "rows"))
    return Question(
        "one row, whole process",
        (
            program(OURS, HEADRACE, "query", "$.id", path),
            program("python -c print(0)", sys.executable, "-c", "print(0)"),
            program("qj", qj, ".id", path),
            program("jq", "jq", ".id", path),
        ),
    )


def build(settings: Settings) -> Benchmark:
    """Run all works, and what bounds them."""
    qj, rg = tools.installed("qj", "rg")
    programs = Programs(qj, rg, tools.simdjson())
    files = files_of(settings.size)
    smaller = files_of(settings.size // JQ_SHARE)
    works = [question(work, files, programs) for work in WORKS]
    with_jq = [jq_question(work, smaller) for work in WORKS if work.jq]
    shown = {"narrow": "events", "wide": "wide", "tweets": "tweets"}
    limits = [count(name, files[data], rg) for name, data in shown.items()]
    start = one_row(qj)
    rows = Ref("count of rows, narrow", OURS)
    return Benchmark(
        SUITE.name,
        SUITE.doc,
        (*works, *with_jq, *limits, start),
        metric="cpu",
        targets=(
            *(target for work in WORKS for target in targets(work, settings.size)),
            AtLeast(rows, rows._replace(candidate="wc -l"), WC_SPEED),
            AtMostAbove(
                Ref(start.label, OURS),
                Ref(start.label, "python -c print(0)"),
                "cpu",
                START,
            ),
        ),
        overviews=OVERVIEWS,
    )


PEERS = ("DuckDB", "Polars", "qj")
OVERVIEWS = (
    Overview("cpu", (OURS, *PEERS, *SIMDJSON, "jq", "rg", "wc -l", "copy")),
    Overview("time", (OURS, *(on(name, 2) for name in (OURS, *PEERS)), "wc -l")),
    Overview(
        "peak_rss", (OURS, *PEERS, *(on(name, 2) for name in (OURS, *PEERS)), "jq")
    ),
)

SUITE = Suite(
    "engine", "Queries beside other engines, on one thread and on two.", build
)
