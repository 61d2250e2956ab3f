"""Language cases of this repository: `tests/conformance/cases/*.jsonl`, one JSON object a line.

| key | meaning |
|---|---|
| `id` | unique: file, topic, number |
| `query` | the text of the query |
| `input` | the document that `$` is; null if the key is missing |
| `rows`, `text` | instead of `input`: the rows of a file, or its raw text |
| `names` | further sources by name, each a list of rows |
| `options` | arguments of `Dataset.query` |
| `expected` | the answer; of `rows` and `text` the list of all answers |
| `expected_text` | instead of `expected`: the exact output, where spelling is the point |
| `bad` | how many rows were refused and skipped [default: 0] |
| `error` | a fragment of the error message, in place of an answer |
| `refused`, `column` | the error comes before any row is read; where it points to |
| `modes` | the modes that the case runs in [default: all that apply] |

A case with an `input` runs in four modes. `document`: the query is about the document.
`row`: the document is each row of a file. `stream`: its elements are the rows of a file, if
it is an array. `spark`: the previous two, divided into tasks by the Spark engine, without Spark.
A case with `rows` or `text` runs as `lines`, and as `spark`.

Answers are compared with the order of keys, and an integer is no decimal. Two decimals are
equal within a relative 1e-12, or 1e-15 about zero.
"""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import headrace
from headrace.api.results import evaluate, prepare
from headrace.errors import HeadraceError, QueryMeaningError, QuerySyntaxError
from tests.reference.engines import BY_TASKS

FOLDER = Path(__file__).parent / "cases"
SPARK: dict[str, Any] = {**BY_TASKS, "partition_bytes": 24}


def files() -> list[Path]:
    """Return the files with cases."""
    return sorted(FOLDER.glob("*.jsonl"))


def load(path: Path) -> list[dict[str, Any]]:
    """Read the cases of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def modes_of(case: dict[str, Any]) -> list[str]:
    """Return the modes that a case runs in."""
    if "rows" in case or "text" in case:
        default = ["lines", "spark"]
    elif isinstance(case.get("input"), list):
        default = ["document", "row", "stream", "spark"]
    else:
        default = ["document", "row", "spark"]
    modes: list[str] = case.get("modes", default)
    return modes


def problem_of(case: dict[str, Any], mode: str) -> str:
    """Run a case in one mode; return the problem, or an empty text."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            return "; ".join(filter(None, RUNS[mode](case, Path(folder))))
    except HeadraceError as error:
        return _of_error(case, error)


def _of_error(case: dict[str, Any], error: HeadraceError) -> str:
    if "error" not in case:
        return f"failed: {error}"
    if case["error"] not in str(error):
        return f"failed with {error}, not with {case['error']}"
    if case.get("refused"):
        if not isinstance(error, QuerySyntaxError | QueryMeaningError):
            return f"failed while it ran: {error}"
        if case.get("column") not in (None, error.column):
            return f"column {error.column}, not {case['column']}"
    return ""


def _document(case: dict[str, Any], _folder: Path) -> list[str]:
    if case.get("refused"):
        prepare(case["query"])
        return ["was not refused"]
    document = json.dumps(case.get("input"), ensure_ascii=False).encode()
    strict = case.get("options", {}).get("strict_types", False)
    answer = evaluate(case["query"], document, strict_types=strict)
    return [_compared(case, answer.decode())]


def _each_row(case: dict[str, Any], folder: Path, **options: Any) -> list[str]:
    # Two rows of the same kind: one must not change the answer to the other.
    lines = _query_lines(case, folder, [case.get("input")] * 2, nulls="emit", **options)
    if len(lines) != 2:
        return [f"gave {lines}, not one answer for each of two rows"]
    return [_compared(case, line) for line in lines]


def _all_rows(case: dict[str, Any], folder: Path, **options: Any) -> list[str]:
    rows = case["input"]
    found = _query_lines(
        case, folder, rows, stream=True, shape="array", nulls="emit", **options
    )
    return [_compared(case, "\n".join(found))]


def _lines(case: dict[str, Any], folder: Path, **options: Any) -> list[str]:
    found = _query_lines(case, folder, case.get("rows", case.get("text")), **options)
    if "error" in case:
        return [f"gave {found}, must fail"]
    if "expected_text" in case:
        text = "".join(f"{line}\n" for line in found)
        return ["" if text == case["expected_text"] else f"gave {text!r}"]
    answers = list(map(json.loads, found))
    return [
        ""
        if same(answers, case["expected"])
        else f"gave {answers}, not {case['expected']}"
    ]


def _divided(case: dict[str, Any], folder: Path) -> list[str]:
    """Run a case through the tasks of the Spark engine, one after the other in this process."""
    if "rows" in case or "text" in case:
        return _lines(case, folder, **SPARK)
    problems = _each_row(case, folder, **SPARK)
    if "stream" in modes_of(case):
        problems += _all_rows(case, folder, **SPARK)
    return problems


RUNS = {
    "document": _document,
    "row": _each_row,
    "stream": _all_rows,
    "lines": _lines,
    "spark": _divided,
}


def _query_lines(
    case: dict[str, Any], folder: Path, rows: Any, **options: Any
) -> list[str]:
    """Return the lines of output of a query over a file."""
    sources = {
        name: _written(folder / f"{name}.jsonl", content)
        for name, content in case.get("names", {}).items()
    }
    path = _written(folder / "main.jsonl", rows)
    chosen = {**options, **case.get("options", {})}
    with headrace.open(path, index=False) as dataset:
        result = dataset.query(case["query"], names=sources or None, **chosen)
        output = b"".join(result.lines()).decode()
        bad = result.stats.bad
    if bad != case.get("bad", 0):
        raise AssertionError(f"{bad} bad rows, not {case.get('bad', 0)}")
    return output.split("\n")[:-1]


def _written(path: Path, content: Any) -> Path:
    """Write rows, or text as it is."""
    if not isinstance(content, str):
        content = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in content)
    path.write_text(content, encoding="utf-8", newline="")
    return path


def _compared(case: dict[str, Any], text: str) -> str:
    if "error" in case:
        return f"gave {text}, must fail"
    if "expected_text" in case:
        wanted = case["expected_text"]
        return "" if text == wanted else f"gave {text}, not {wanted}"
    wanted = case["expected"]
    fits = same(json.loads(text), wanted)
    return "" if fits else f"gave {text}, not {json.dumps(wanted, ensure_ascii=False)}"


def same(left: Any, right: Any) -> bool:
    """Compare values with the order of their keys; two decimals with a tolerance."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-15)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(
            same(left[key], right[key]) for key in left
        )
    return type(left) is type(right) and bool(left == right)
