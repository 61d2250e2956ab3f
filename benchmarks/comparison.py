"""Comparison of five NDJSON readers: a bad line, a late key, a mixed type and large files.

``python -m benchmarks.comparison`` writes the files, gives each to jq, DuckDB, Polars,
Spark and Headrace, and prints a table. A cell is worded from what the tool returned:
its answer is compared with the right one, its error message is searched for the line.
Where a tool has an option for the case, a second run uses it. ``--save`` keeps the run;
the table in the README is `table` of the kept run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from benchmarks import comparison_probes as probes
from benchmarks.candidate import (
    HEADRACE,
    ROOT,
    Candidate,
    probe,
    program,
)
from benchmarks.generate import Extent, data_file
from benchmarks.machine import facts, package_version
from benchmarks.probe import Outcome
from benchmarks.runner import CandidateFailedError, run_once
from benchmarks.units import bytes_text, seconds_text, size

TOOLS = ("jq", "DuckDB", "Polars", "Spark", "Headrace")
ORDER = (
    "a bad line",
    "a late key",
    "a mixed type",
    "a big file",
    "a second look-up",
    "a cluster",
)
KEPT = Path(__file__).parent / "runs/0.1.0-comparison.json"

ROWS = 200_000
BROKEN = 150_000
"""The broken row, and the row of a different type: after the rows that readers sample."""
LATE_ROWS = 10


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of one tool; `option` is the setting that differs from the defaults."""

    tool: str
    candidate: Candidate
    option: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a run: an answer, or None after an error; and its output."""

    answer: str | None
    message: str
    figures: dict[str, float] = field(default_factory=dict)


Wording: TypeAlias = Callable[[Seen], str]


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table; `controls` are the same trials of a file without odd lines."""

    name: str
    trials: tuple[Trial, ...]
    words: Wording
    measure: bool = False
    controls: tuple[Trial, ...] = ()


def write_rows(path: Path, odd: Callable[[int, dict[str, Any]], str | None]) -> Path:
    """Write the rows of a case; `odd` returns a line to write instead of the usual one."""
    with path.open("w") as file:
        for at in range(ROWS):
            row = {"number": at, "id": at, "ms": at % 9000 / 10}
            file.write((odd(at, row) or json.dumps(row)) + "\n")
    return path


def broken(at: int, row: dict[str, Any]) -> str | None:
    """Cut one line short, as a crash of its writer does."""
    return json.dumps(row)[:-12] if at == BROKEN else None


def late(at: int, row: dict[str, Any]) -> str | None:
    """Give the last rows one more key."""
    return json.dumps(row | {"late": at}) if at >= ROWS - LATE_ROWS else None


def mixed(at: int, row: dict[str, Any]) -> str | None:
    """Give one row a text where all others have a number."""
    return json.dumps(row | {"id": "x-17"}) if at == BROKEN else None


def stopped(seen: Seen) -> str:
    """Describe an error by the facts that help to find the line."""
    found = re.search(r"line (\d+)(?:, byte (\d+))?", seen.message)
    if found is None:
        return "stops, names no line"
    byte = " and byte" if found[2] else ""
    return f"stops, names line {int(found[1]):,}{byte}"


def bad_line(seen: Seen) -> str:
    """Describe the result for the values of the good lines."""
    if seen.answer is None:
        return stopped(seen)
    rows, values = map(int, seen.answer.split())
    warned = re.search(r"bad row|malformed|corrupt", seen.message, re.IGNORECASE)
    nulls = ", a null for the bad line" if rows > values else ""
    return f"{values:,} values{nulls}{', and says so' if warned else ', silently'}"


def late_key(seen: Seen) -> str:
    """Describe the result for a key that only the last rows have."""
    if seen.answer is None:
        return stopped(seen)
    row = json.loads(seen.answer)[0]
    return "keeps it" if row.get("late") == ROWS - 1 else "drops it silently"


def mixed_type(seen: Seen) -> str:
    """Describe the result for a number beside a text."""
    if seen.answer is None:
        return stopped(seen)
    ids = [row["id"] for row in json.loads(seen.answer)]
    if ids == ["x-17", BROKEN + 1]:
        return "keeps both"
    return "all become strings" if ids == ["x-17", str(BROKEN + 1)] else f"{ids}"


def cost(seen: Seen) -> str:
    """Format the peak memory and the CPU time of a run."""
    if seen.answer is None:
        return "fails"
    memory, cpu = seen.figures["peak_rss"], seen.figures["cpu"]
    return f"{bytes_text(memory)}, {seconds_text(cpu)}"


def cpu_time(seen: Seen) -> str:
    """Format the CPU time of a run."""
    return "fails" if seen.answer is None else seconds_text(seen.figures["cpu"])


def spread(seen: Seen) -> str:
    """Describe whether the answer on Spark equals that of the local engine."""
    return "`--engine spark`: the same bytes" if seen.answer == "same" else "differs"


def value_count(stdout: bytes) -> Outcome:
    """Count the values a command printed; those of bad rows are not printed."""
    count = len(stdout.splitlines())
    return Outcome(f"{count} {count}")


def printed_rows(stdout: bytes) -> Outcome:
    """Read the rows a command printed."""
    return Outcome(json.dumps([json.loads(line) for line in stdout.splitlines()]))


def rounded(stdout: bytes) -> Outcome:
    """Read a sum."""
    return Outcome(f"{float(stdout):.6g}")


def text(stdout: bytes) -> Outcome:
    """Read the one JSON string a command printed."""
    return Outcome(json.loads(stdout))


def bad_line_trials(path: Path) -> Iterator[Trial]:
    """Read `ms` of every row: with the defaults, then with the option for bad rows."""
    name, count = str(path), value_count
    yield Trial("jq", program("jq", "jq", ".ms", name, outcome=count))
    skip = program("jq", "jq", "-R", "fromjson? | .ms", name, outcome=count)
    yield Trial("jq", skip, "-R 'fromjson?'")
    yield from with_options(
        "DuckDB", probes.duckdb_values, (name,), {"ignore_errors": True}
    )
    yield from with_options(
        "Polars", probes.polars_values, (name,), {"ignore_errors": True}
    )
    yield Trial("Spark", probe("Spark", probes.spark_values, name, {}))
    query = (HEADRACE, "query", "ms", name)
    yield Trial("Headrace", program("headrace", *query, outcome=count))
    skip = program("headrace", *query, "--on-error", "skip", outcome=count)
    yield Trial("Headrace", skip, "--on-error skip")


def with_options(
    tool: str,
    function: Callable[..., Outcome],
    arguments: tuple[str, ...],
    options: probes.Options,
) -> Iterator[Trial]:
    """Run a probe with the defaults of its reader, then with one option."""
    path, *rest = arguments
    yield Trial(tool, probe(tool, function, path, {}, *rest))
    (shown,) = (f"{key}={value}" for key, value in options.items())
    yield Trial(tool, probe(tool, function, path, options, *rest), shown)


def row_trials(path: Path, at: Sequence[int], *fields: str) -> Iterator[Trial]:
    """Read whole rows: with the defaults, then after a look at all rows for the types."""
    name, wanted = str(path), ",".join(map(str, at))
    same = " or ".join(f".number == {each}" for each in at)
    jq = program("jq", "jq", "-c", f"select({same})", name, outcome=printed_rows)
    yield Trial("jq", jq)
    arguments = (name, wanted, *fields)
    yield from with_options(
        "DuckDB", probes.duckdb_rows, arguments, {"sample_size": -1}
    )
    yield from with_options(
        "Polars", probes.polars_rows, arguments, {"infer_schema_length": None}
    )
    yield Trial("Spark", probe("Spark", probes.spark_rows, name, {}, wanted, *fields))
    query = (HEADRACE, "query", "--matches", f"number in [{wanted}]", name)
    yield Trial("Headrace", program("headrace", *query, outcome=printed_rows))


def sum_trials(path: Path) -> Iterator[Trial]:
    """Sum a field of all rows of a large file."""
    name = str(path)
    adding = ("jq", "-n", "reduce inputs as $row (0; . + $row.latency)", name)
    yield Trial("jq", program("jq", *adding, outcome=rounded))
    yield Trial("DuckDB", probe("DuckDB", probes.duckdb_sum, name))
    yield Trial("Polars", probe("Polars", probes.polars_sum, name))
    yield Trial("Spark", probe("Spark", probes.spark_sum, name))
    query = (HEADRACE, "query", "$.rows().sum(latency)", name)
    yield Trial("Headrace", program("headrace", *query, outcome=rounded))


def look_up_trials(path: Path, rows: int) -> Iterator[Trial]:
    """Look a row up by its id, in a process that has looked up another before."""
    name, first, second = str(path), rows // 3, rows * 9 // 10
    select = f"select(.id == {second}).msg"
    yield Trial("jq", program("jq", "jq", select, name, outcome=text))
    for tool, function in (
        ("DuckDB", probes.duckdb_second),
        ("Polars", probes.polars_second),
        ("Spark", probes.spark_second),
        ("Headrace", probes.headrace_second),
    ):
        yield Trial(tool, probe(tool, function, name, first, second))


def plain(_at: int, _row: dict[str, Any]) -> str | None:
    """Leave every row as it is."""
    return None


def cases(folder: Path, large: Path) -> Iterator[Case]:
    """Write the files and return the rows of the table."""
    clean = write_rows(folder / "clean.jsonl", plain)

    def odd_case(
        name: str,
        odd: Callable[[int, dict[str, Any]], str | None],
        trials: Callable[[Path], Iterator[Trial]],
        words: Wording,
    ) -> Case:
        path = write_rows(folder / f"{name.rsplit(maxsplit=1)[-1]}.jsonl", odd)
        return Case(name, tuple(trials(path)), words, controls=tuple(trials(clean)))

    yield odd_case("a bad line", broken, bad_line_trials, bad_line)
    yield odd_case("a late key", late, late_key_trials, late_key)
    yield odd_case("a mixed type", mixed, mixed_type_trials, mixed_type)
    yield Case("a big file", tuple(sum_trials(large)), cost, measure=True)
    rows = sum(1 for _line in large.open("rb"))
    looked = tuple(look_up_trials(large, rows))
    yield Case("a second look-up", looked, cpu_time, measure=True)
    again = probe("Headrace", probes.headrace_on_spark, str(clean))
    yield Case("a cluster", (Trial("Headrace", again),), spread)


def late_key_trials(path: Path) -> Iterator[Trial]:
    """Read the last row."""
    return row_trials(path, [ROWS - 1])


def mixed_type_trials(path: Path) -> Iterator[Trial]:
    """Read the ids of the odd row and of the next."""
    return row_trials(path, [BROKEN, BROKEN + 1], "id")


# Not measured: where these packages run. Everything else in the table comes from a run.
CLUSTER = {
    "jq": "one machine",
    "DuckDB": "one machine",
    "Polars": "one machine",
    "Spark": "made for it",
}


def without_traceback(message: str) -> str:
    """Return the error that a traceback of Python ends with; other text as it is."""
    if "Traceback (most recent call last)" not in message:
        return message
    return re.split(r"^(?=\w[\w.]*(?:Error|Exception): )", message, flags=re.MULTILINE)[
        -1
    ]


def look(candidate: Candidate) -> Seen:
    """Run a command; return its answer and its output."""
    done = subprocess.run(
        candidate.argv, check=False, cwd=ROOT, capture_output=True, timeout=600
    )
    message = without_traceback(done.stderr.decode(errors="replace"))
    if done.returncode != 0:
        return Seen(None, message)
    return Seen(str(candidate.outcome(done.stdout).answer), message)


def measure(candidate: Candidate, rounds: int) -> Seen:
    """Run a command several times; return the medians of its costs."""
    try:
        runs = [run_once(candidate) for _ in range(rounds)]
    except CandidateFailedError as error:
        return Seen(None, error.stderr)
    names = set.intersection(*(set(run.figures) for run in runs))
    figures = {name: median(run.figures[name] for run in runs) for name in names}
    return Seen(str(runs[0].answer), "", figures)


def run_case(
    case: Case, rounds: int, say: Callable[[str], None]
) -> list[dict[str, object]]:
    """Run all trials of a case; a tool that is not installed is left out."""
    records: list[dict[str, object]] = []
    for control in case.controls:
        if control.candidate.missing() is None:
            seen = look(control.candidate)
            if seen.answer is None:
                raise SystemExit(f"{control.tool} fails for any file: {seen.message}")
    for trial in case.trials:
        if (absent := trial.candidate.missing()) is not None:
            say(f"{case.name}: {trial.tool} is left out, {absent} is missing")
            continue
        say(f"{case.name}: {trial.tool} {trial.option}")
        seen = (
            measure(trial.candidate, rounds) if case.measure else look(trial.candidate)
        )
        shown = asdict(seen) | {"message": first_lines(seen.message)}
        records.append(
            {
                "case": case.name,
                "tool": trial.tool,
                "option": trial.option,
                "command": re.sub(r"/\S*/", "", trial.candidate.shown()),
                "words": case.words(seen),
                **shown,
            }
        )
    answers = {str(each["tool"]): each["answer"] for each in records if case.measure}
    if len(set(answers.values())) > 1:
        said = [each["message"] for each in records if each["answer"] is None]
        raise SystemExit(f"{case.name}: the answers differ: {answers} {said}")
    return records


def first_lines(message: str) -> list[str]:
    """Return the beginning of a tool's output, without paths and Spark's greeting."""
    lines = re.sub(r"/\S*/", "", message).strip().splitlines()
    greeting = re.compile(r"WARN|log level|sc\.setLogLevel|UserWarning|warnings\.warn")
    return [line[:200] for line in lines if not greeting.search(line)][:5]


def cell(records: Sequence[dict[str, Any]]) -> str:
    """Describe the results of one tool, with its defaults and with its option."""
    if not records:
        return "not measured"
    plain, *others = records
    if not others:
        return str(plain["words"])
    (other,) = others
    same = other["words"] == plain["words"]
    return f"{plain['words']}; `{other['option']}`: {'the same' if same else other['words']}"


def table(kept: dict[str, Any]) -> str:
    """Render a run as the table that the README shows."""
    versions = kept["versions"]
    header = ["", *(f"{tool} {versions[tool]}" for tool in TOOLS)]
    rows = [header, [":--"] * len(header)]
    for name in dict.fromkeys(record["case"] for record in kept["trials"]):
        found = [
            cell(
                [
                    record
                    for record in kept["trials"]
                    if (record["case"], record["tool"]) == (name, tool)
                ]
            )
            if name != "a cluster" or tool not in CLUSTER
            else CLUSTER[tool]
            for tool in TOOLS
        ]
        rows.append([f"**{name}**", *found])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def short(version: object) -> str:
    """Return the first two numbers of a version."""
    return ".".join(str(version).split(".")[:2])


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.comparison",
        description="Show what readers of NDJSON do with awkward files.",
    )
    made.add_argument(
        "--size",
        type=size,
        default=10**9,
        help="size of the large file [default: 1GB]",
    )
    made.add_argument(
        "--rounds", type=int, default=3, help="runs that are measured [default: 3]"
    )
    made.add_argument(
        "--case",
        action="append",
        metavar="NAME",
        help="run only this row of the table, such as 'a late key'; with --save, the "
        "other rows of the kept run stay; may be repeated",
    )
    made.add_argument(
        "--save",
        action="store_true",
        help=f"keep the run in benchmarks/runs/{KEPT.name}",
    )
    return made


def main() -> int:
    """Run every trial and print the table."""
    arguments = parser().parse_args()
    large = data_file("narrow", Extent(arguments.size))
    subprocess.run(
        [HEADRACE, "index", "build", large, "--on", "id", "--quiet"], check=True
    )

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    machine = facts()
    versions = dict(machine["versions"], spark=package_version("pyspark"))
    kept: dict[str, Any] = {
        "size": arguments.size,
        "rounds": arguments.rounds,
        "machine": machine,
        "versions": {tool: short(versions[tool.lower()]) for tool in TOOLS},
        "trials": [],
    }
    if arguments.case and KEPT.exists():
        kept["trials"] = json.loads(KEPT.read_text())["trials"]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder), large):
            if arguments.case and case.name not in arguments.case:
                continue
            others = [each for each in kept["trials"] if each["case"] != case.name]
            kept["trials"] = sorted(
                others + run_case(case, arguments.rounds, say),
                key=lambda each: ORDER.index(each["case"]),
            )
            if arguments.save:
                KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    print(table(kept), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
