"""Runner of language cases that are written as data.

``python -m tests.conformance.cases FILE...`` prints every failure and a last line
``N passed, N failed``. A case has a query, an input and the expected answer. Our own cases
(`tests.conformance.language_cases`) run in every mode that applies; those of other projects have a
``source``.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headrace
from headrace.api.results import evaluate
from headrace.errors import HeadraceError
from tests.conformance.language_cases import modes_of, problem_of


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case; `problem` is empty if it passed."""

    case: dict[str, Any]
    problem: str


def load(path: Path) -> list[dict[str, Any]]:
    """Read cases, one on each line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def run(case: dict[str, Any]) -> Outcome:
    """Run one case."""
    wants_error = bool(case.get("error"))
    wanted = case.get("expected")
    if "recommended" in case:
        wants_error, wanted = False, case["recommended"]
    elif case.get("recommended_error"):
        wants_error = True
    may_succeed = "jetro-limit" in case["tags"]
    try:
        answer = over_lines(case) if case.get("mode") else over_document(case)
    except HeadraceError as error:
        problem = "" if wants_error else f"failed: {error}"
        return Outcome(case, problem)
    if wants_error:
        return Outcome(case, "" if may_succeed else f"gave {answer!r}, must fail")
    if case.get("mode"):
        wanted = [json.loads(line) for line in wanted.splitlines()]
    return Outcome(
        case, "" if same(answer, wanted) else f"gave {answer!r}, not {wanted!r}"
    )


def over_document(case: dict[str, Any]) -> Any:
    """Run a query over one document."""
    document = json.dumps(case.get("input"), ensure_ascii=False).encode()
    return json.loads(evaluate(case["query"], document))


def over_lines(case: dict[str, Any]) -> list[Any]:
    """Run a query over the rows of a file."""
    options = case.get("options", {})
    mode = case["mode"].removeprefix("ndjson-")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(case["input"].encode())
        if options.get("source") == "reader":
            path = as_pipe(path)
        dataset = headrace.open(path, max_line=options.get("max_line_len", "64MiB"))
        known = {"key", "limit", "null_output", "max_line_len", "source"}
        known |= {"frame", "separator", "null_payload"}
        # The size of reads changes no answer.
        known |= {"reverse_chunk_size", "parallel_min_bytes"}
        if missing := set(options) - known:
            raise HeadraceError(f"there is no option for {', '.join(sorted(missing))}")
        result = dataset.query(
            case["query"],
            matches=mode.endswith("matches"),
            nulls="emit" if options.get("null_output") == "emit" else "drop",
            limit=options.get("limit"),
            reverse=mode.startswith("rev"),
            distinct_by=options.get("key"),
            frame=options.get("separator"),
            null_payload=options.get("null_payload", "skip"),
        )
        return [
            json.loads(line) for lines in result.lines() for line in lines.splitlines()
        ]


def as_pipe(path: Path) -> Path:
    """Return a pipe with the content of a small file."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(path.read_bytes())
    return Path(f"/dev/fd/{reader}")


def same(left: Any, right: Any) -> bool:
    """Compare values: objects in any order, numbers by value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same(left[key], right[key]) for key in left
        )
    return bool(left == right)


def in_every_mode(case: dict[str, Any]) -> str:
    """Run one of our own cases; return the problem, or an empty text."""
    problems = {mode: problem_of(case, mode) for mode in modes_of(case)}
    return "; ".join(f"{mode}: {text}" for mode, text in problems.items() if text)


def main(paths: list[str]) -> int:
    """Run all cases of all files."""
    passed = failed = 0
    for path in paths:
        for case in load(Path(path)):
            problem = run(case).problem if "source" in case else in_every_mode(case)
            if problem:
                failed += 1
                print(f"{case['id']}: {case['query']}\n    {problem}")  # noqa: T201
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
