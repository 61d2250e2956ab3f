"""The picture of the README: bars of medians that kept runs recorded, as two SVG files.

``python -m benchmarks.chart`` draws ``docs/images/speed-light.svg`` and
``speed-dark.svg`` from ``benchmarks/runs``. GitHub shows the one that fits the reader's
colours. Nothing is typed in by hand: a bar is the median of a candidate of a question.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.candidate import ROOT, Metric
from benchmarks.report import LABELS
from benchmarks.units import seconds_text

RUNS = Path(__file__).parent / "runs"
PICTURES = ROOT / "docs/images"

WIDTH, NAME, VALUE = 720, 150, 90
ROW, GAP, TITLE = 22, 26, 30


@dataclass(frozen=True, slots=True)
class Panel:
    """One question of a kept run; `bars` are its candidates, each with the name shown."""

    title: str
    run: str
    benchmark: str
    question: str
    metric: Metric
    bars: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours of one picture."""

    text: str
    faint: str
    ours: str
    others: str


PANELS = (
    Panel(
        "One field of 1 GB, rows of 50 fields, one thread",
        "0.1.0-query",
        "query",
        "one field, wide rows",
        "cpu",
        (("headrace", "Headrace"), ("DuckDB", "DuckDB"), ("Polars", "Polars")),
    ),
    Panel(
        "Join 5 million orders with 500,000 customers, one thread",
        "0.1.0-keys",
        "joins",
        "orders with their customers",
        "cpu",
        (("headrace", "Headrace"), ("DuckDB", "DuckDB"), ("Polars", "Polars")),
    ),
    Panel(
        "One row of a file of 100 MB by its number",
        "0.1.0",
        "random-row",
        "one row of a smaller narrow file",
        "time",
        (
            ("headrace ds[i]", "Headrace"),
            ("Polars", "Polars"),
            ("plain Python, scan", "plain Python"),
            ("DuckDB", "DuckDB"),
        ),
    ),
    Panel(
        "Sum one field of 1 GB on Spark, local[2]",
        "0.1.0-spark-queries",
        "spark",
        "sum of one field, narrow rows",
        "time",
        (("headrace query", "Headrace"), ("spark.read.json", "spark.read.json")),
    ),
)
LIGHT = Colours("#1f2328", "#59636e", "#0969da", "#afb8c1")
DARK = Colours("#f0f6fc", "#9198a1", "#4493f8", "#59636e")


def medians(panel: Panel) -> list[tuple[str, float]]:
    """Look up the median of each bar in the kept run."""
    kept: dict[str, Any] = json.loads((RUNS / f"{panel.run}.json").read_text())
    (question,) = (
        question
        for benchmark in kept["benchmarks"]
        if benchmark["name"] == panel.benchmark
        for question in benchmark["questions"]
        if question["label"] == panel.question
    )
    found = {each["name"]: each for each in question["candidates"]}
    return [
        (shown, found[name]["summary"][panel.metric]["median"])
        for name, shown in panel.bars
    ]


def text(x: float, y: float, content: str, colour: str, extra: str = "") -> str:
    """Write a line of text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}"{extra}>{escape(content)}</text>'


def panel_lines(panel: Panel, top: int, colours: Colours) -> list[str]:
    """Draw one panel below `top`."""
    metric = LABELS[panel.metric]
    lines = [
        text(0, top + 14, panel.title, colours.text, ' font-weight="600"'),
        text(WIDTH, top + 14, metric, colours.faint, ' text-anchor="end"'),
    ]
    bars = medians(panel)
    most = max(value for _name, value in bars)
    for number, (name, value) in enumerate(bars):
        y = top + TITLE + number * ROW
        colour = colours.ours if number == 0 else colours.others
        length = max(1.0, (WIDTH - NAME - VALUE) * value / most)
        rounded = f'width="{length:.1f}" height="14" rx="2" fill="{colour}"'
        weight = ' font-weight="600"' if number == 0 else ""
        lines += [
            text(
                NAME - 10,
                y + 11,
                name,
                colours.text,
                f' text-anchor="end"{weight}',
            ),
            f'<rect x="{NAME}" y="{y}" {rounded}/>',
            text(NAME + length + 8, y + 11, seconds_text(value), colours.text, weight),
        ]
    return lines


def picture(colours: Colours) -> str:
    """Draw all panels, one below the other."""
    lines, top = [], 0
    for panel in PANELS:
        lines += panel_lines(panel, top, colours)
        top += TITLE + len(panel.bars) * ROW + GAP
    height = top - GAP
    style = (
        'font-family="system-ui, -apple-system, Segoe UI, sans-serif" font-size="13"'
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
    return "\n".join(
        [f'{head}width="{WIDTH}" height="{height}" {style}>', *lines, "</svg>", ""]
    )


def pictures() -> dict[Path, str]:
    """Return the pictures, each with where it belongs."""
    return {
        PICTURES / "speed-light.svg": picture(LIGHT),
        PICTURES / "speed-dark.svg": picture(DARK),
    }


def main() -> None:
    """Write the pictures."""
    PICTURES.mkdir(exist_ok=True)
    for path, content in pictures().items():
        path.write_text(content)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
