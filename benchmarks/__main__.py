"""The command ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.machine import facts
from benchmarks.report import LEGEND, record_run, render, render_run
from benchmarks.runner import BenchmarkError, Result, run
from benchmarks.suite import FULL, QUICK, Settings
from benchmarks.table import SUITES
from benchmarks.units import size

RUNS = Path(__file__).parent / "runs"


def file_name(text: str) -> str:
    """Refuse a name that is a path."""
    if Path(text).name != text or text.startswith("."):
        raise argparse.ArgumentTypeError(f"{text!r} is not a plain file name")
    return text


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Headrace beside its peers.",
        epilog="\n".join(f"{suite.name:12} {suite.doc}" for suite in SUITES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [suite.name for suite in SUITES]
    made.add_argument(
        "--suite",
        action="append",
        choices=names,
        metavar="NAME",
        help="measure only this one; may be given more than once",
    )
    made.add_argument("--size", type=size, help="size of the files [default: 1GB]")
    made.add_argument("--rounds", type=int, help="timed runs of each [default: 7]")
    made.add_argument(
        "--quick", action="store_true", help="20 MB and 3 rounds: a smoke run"
    )
    made.add_argument(
        "--save", type=file_name, metavar="NAME", help="keep the run in benchmarks/runs"
    )
    return made


def say(line: str) -> None:
    """Print progress to stderr, apart from the tables."""
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; with a name, also store the run."""
    wanted = parser().parse_args(arguments)
    usual = QUICK if wanted.quick else FULL
    settings = Settings(
        size=wanted.size or usual.size,
        large=usual.large,
        rounds=wanted.rounds or usual.rounds,
    )
    machine = facts()
    results: list[Result] = []
    print(LEGEND, end="\n\n")
    try:
        for suite in SUITES:
            if wanted.suite is None or suite.name in wanted.suite:
                say(f"{suite.name}: preparing")
                results.append(run(suite.build(settings), settings.rounds, say))
                print(render(results[-1]), flush=True)
    except BenchmarkError as error:
        say(f"error: {error}")
        return 1
    machine["load_after"] = round(os.getloadavg()[0], 2)
    if wanted.save:
        kept = RUNS / wanted.save
        chosen = asdict(settings)
        text = json.dumps(record_run(results, chosen, machine), indent=1)
        RUNS.mkdir(exist_ok=True)
        kept.with_name(kept.name + ".json").write_text(text + "\n")
        kept.with_name(kept.name + ".md").write_text(
            render_run(results, chosen, machine)
        )
        say(f"kept in benchmarks/runs/{wanted.save}.json and .md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
