"""Instructions that the inner loops take for a row: ``make check-speed``.

Times depend on what else a machine does; the number of instructions does not. Each query runs over
the same rows in `crates/headrace-core/examples/scan.rs` under Valgrind, which counts them. The
counts are compared with those kept in `instructions.json`; ``--keep`` replaces these.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks import rows as made
from headrace.physical.query_plan import PlainStage, RowPlan, StreamPlan, plan_query

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parent.parent
KEPT = Path(__file__).with_name("instructions.json")
ROWS = {"narrow": 20_000, "wide": 2_000, "nested": 500}
TOLERANCE = 0.03
"""The share by which a count may be larger than the kept one."""

QUERIES = [
    ("narrow", "rows", "$.id"),
    ("narrow", "rows", "{id, level, user}"),
    ("narrow", "count", "$.rows().filter(latency >= 99.05).count()"),
    ("narrow", "sum", "$.rows().sum(latency)"),
    ("narrow", "count_by", "$.rows().count_by(level)"),
    ("narrow", "group", "$.rows().group(level, {n: count(), total: sum(latency)})"),
    ("wide", "rows", "$.id"),
    ("wide", "count", "$.rows().filter(col_05 >= 990000000).count()"),
    ("nested", "rows", "$.user.address.geo.lat"),
]


def code_of(query: str) -> str:
    """Return the program that runs over each row, in hexadecimal digits."""
    match plan_query(query).main:
        case RowPlan(program=program):
            return program.code.hex()
        case StreamPlan(stages=(PlainStage(code=code),)) if code is not None:
            return code.hex()
        case _:
            raise SystemExit(f"{query}: it has more than one stage")


def instructions(program: Path, reduction: str, query: str, rows: Path) -> int:
    """Count the instructions of one run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*command, program, reduction, code_of(query), rows],
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(f"valgrind printed no count:\n{done.stderr}")
    return int(found[1])


def counts() -> dict[str, int]:
    """Return the instructions for a row of each query, without those of the start."""
    subprocess.run(
        [
            *("cargo", "build", "-q", "--release", "--locked"),
            *("-p", "headrace-core", "--example", "scan"),
        ],
        cwd=ROOT,
        check=True,
    )
    program = ROOT / "target/release/examples/scan"
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        few = {}
        many = {}
        for shape, rows in ROWS.items():
            few[shape] = written(Path(folder, f"few-{shape}.jsonl"), shape, rows // 2)
            many[shape] = written(Path(folder, f"{shape}.jsonl"), shape, rows)
        for shape, reduction, query in QUERIES:
            of_all = instructions(program, reduction, query, many[shape])
            of_few = instructions(program, reduction, query, few[shape])
            rows = ROWS[shape] - ROWS[shape] // 2
            found[f"{shape}: {query}"] = round((of_all - of_few) / rows)
    return found


def written(path: Path, shape: str, rows: int) -> Path:
    """Write the first rows of a data set."""
    lines: list[str] = []
    for block in getattr(made, shape)(Random(1), rows):
        lines += block
        if len(lines) >= rows:
            break
    path.write_text("\n".join(lines[:rows]) + "\n", encoding="utf-8")
    return path


def compared(found: Mapping[str, int], kept: Mapping[str, int]) -> bool:
    """Print the counts beside those that were kept; return whether none is much larger."""
    fine = True
    for name, count in found.items():
        before = kept.get(name)
        change = "" if before is None else f"{count / before - 1:+7.1%}"
        slower = before is not None and count > before * (1 + TOLERANCE)
        fine = fine and before is not None and not slower
        note = "  SLOWER" if slower else "  not kept yet" if before is None else ""
        print(f"{count:9,} instructions a row {change:8} {name}{note}")
    return fine


def main() -> int:
    """Count, and compare or keep."""
    if shutil.which("valgrind") is None:
        print("valgrind is missing: install it (Debian: apt-get install valgrind)")
        return 1
    found = counts()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    fine = compared(found, kept)
    if sys.argv[1:] == ["--keep"]:
        KEPT.write_text(json.dumps(found, indent=2) + "\n")
        return 0
    if not fine:
        print("python -m benchmarks.instructions --keep keeps the counts of a change")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
