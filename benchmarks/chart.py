"""The pictures of the READMEs: medians that kept runs recorded, as SVG files.

``python -m benchmarks.chart`` draws bars for the README, ``docs/images/speed-light.svg`` and
``speed-dark.svg``, and the cost of a byte in files of several sizes for
``benchmarks/README.md``, ``linear-light.svg`` and ``linear-dark.svg``. GitHub shows the one
that fits the reader's colours. Nothing is typed in by hand: a bar or a point is the median of
a candidate of a question.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from benchmarks.candidate import ROOT, Metric
from benchmarks.report import LABELS, table
from benchmarks.suites.engine import on
from benchmarks.units import bytes_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNS = Path(__file__).parent / "runs"
PICTURES = ROOT / "docs/images"

WIDTH, NAME, VALUE = 720, 150, 90
ROW, GAP, TITLE = 22, 26, 30
LEGEND = 280

LINEAR = "0.1.0-linear"


@dataclass(frozen=True, slots=True)
class Panel:
    """One question of a kept run; `bars` are its candidates, each with the name shown.

    `{size}` in the title stands for the size of the file.
    """

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
    lines: tuple[str, ...]


def engines(threads: int) -> tuple[tuple[str, str], ...]:
    """Return the bars of the engines on a number of threads."""
    return tuple(
        (on(name, threads), name) for name in ("Headrace", "qj", "DuckDB", "Polars")
    )


PANELS = (
    Panel(
        "One field of {size}, rows of 50 fields, one thread",
        "0.1.0-engine",
        "engine",
        "one field, wide",
        "cpu",
        engines(1),
    ),
    Panel(
        "1 % of the rows of {size}, rows of 6 fields, two threads",
        "0.1.0-engine",
        "engine",
        "1 % of the rows, narrow",
        "time",
        engines(2),
    ),
    Panel(
        "Count and sum by 7 groups of {size}, rows of 6 fields, one thread",
        "0.1.0-engine",
        "engine",
        "count and sum by 7 groups, narrow",
        "cpu",
        engines(1),
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
LIGHT_LINES = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989")
DARK_LINES = ("#4493f8", "#db6d28", "#3fb950", "#ab7df8", "#db61a2")
LIGHT = Colours("#1f2328", "#59636e", "#0969da", "#afb8c1", LIGHT_LINES)
DARK = Colours("#f0f6fc", "#9198a1", "#4493f8", "#59636e", DARK_LINES)


def kept_questions(run: str, benchmark: str) -> dict[str, dict[str, Any]]:
    """Return the questions of a benchmark of a kept run, by their labels."""
    kept = json.loads((RUNS / f"{run}.json").read_text())
    return {
        question["label"]: question
        for each in kept["benchmarks"]
        if each["name"] == benchmark
        for question in each["questions"]
    }


def kept_question(panel: Panel) -> dict[str, Any]:
    """Look up the question of a panel in its kept run."""
    return kept_questions(panel.run, panel.benchmark)[panel.question]


def title_of(panel: Panel) -> str:
    """Return the title, with the size of the file."""
    size = kept_question(panel)["size"]
    return panel.title if size is None else panel.title.format(size=bytes_text(size))


def medians(panel: Panel) -> list[tuple[str, float]]:
    """Look up the median of each bar in the kept run."""
    question = kept_question(panel)
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
        text(0, top + 14, title_of(panel), colours.text, ' font-weight="600"'),
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
    return framed(lines, top - GAP)


def framed(lines: Sequence[str], height: int) -> str:
    """Return the file of a picture."""
    style = (
        'font-family="system-ui, -apple-system, Segoe UI, sans-serif" font-size="13"'
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
    return "\n".join(
        [f'{head}width="{WIDTH}" height="{height}" {style}>', *lines, "</svg>", ""]
    )


def costs() -> dict[str, dict[int, float]]:
    """Look up the CPU seconds of each work of the suite `linear`, by the size of the file."""
    found: dict[str, dict[int, float]] = {}
    for label, question in kept_questions(LINEAR, "linear").items():
        (ours,) = question["candidates"]
        work = label.rpartition(", ")[0]
        cpu = ours["summary"]["cpu"]["median"]
        found.setdefault(work, {})[question["size"]] = cpu
    return found


def costs_table() -> str:
    """Write the costs as a table: CPU time, and CPU time for 1 GB at that rate."""
    found = costs()
    sizes = sorted(next(iter(found.values())))
    rows = [
        [
            work,
            *(
                f"{seconds_text(by_size[size])} ({by_size[size] * 1e9 / size:.2f})"
                for size in sizes
            ),
        ]
        for work, by_size in found.items()
    ]
    return "\n".join(table(["CPU time", *map(bytes_text, sizes)], rows))


def spread(wanted: Sequence[float], least: float) -> list[float]:
    """Move values apart, downwards, so that `least` is between any two of them.

    >>> spread([1, 2, 30], 10)
    [1, 11, 30]
    """
    moved: list[float] = []
    for value in wanted:
        moved.append(max(value, moved[-1] + least) if moved else value)
    return moved


def plot(colours: Colours) -> str:
    """Draw a line for each work: its CPU seconds for 1 GB, by the size of the file."""
    found = costs()
    rates = {
        work: {size: cpu * 1e9 / size for size, cpu in by_size.items()}
        for work, by_size in found.items()
    }
    sizes = sorted(next(iter(found.values())))
    most = max(rate for by_size in rates.values() for rate in by_size.values())
    left, right, top, bottom = 40, WIDTH - LEGEND, TITLE + 10, TITLE + 230
    steps = log10(sizes[-1] / sizes[0]) or 1.0

    def x(size: float) -> float:
        return left + (right - left - 20) * log10(size / sizes[0]) / steps

    def y(rate: float) -> float:
        return bottom - (bottom - top) * rate / most

    title = "CPU seconds for 1 GB, on one thread, by the size of the file"
    lines = [text(0, 14, title, colours.text, ' font-weight="600"')]
    for rate in range(int(most) + 1):
        rule = f'stroke="{colours.others}" stroke-width="0.5"'
        lines += [
            f'<line x1="{left}" x2="{right}" y1="{y(rate):g}" y2="{y(rate):g}" {rule}/>',
            text(left - 8, y(rate) + 4, str(rate), colours.faint, ' text-anchor="end"'),
        ]
    lines += [
        text(
            x(size),
            bottom + 18,
            bytes_text(size),
            colours.faint,
            ' text-anchor="middle"',
        )
        for size in sizes
    ]
    by_end = sorted(rates, key=lambda work: -rates[work][sizes[-1]])
    places = spread([y(rates[work][sizes[-1]]) for work in by_end], 18)
    for work, place, colour in zip(by_end, places, colours.lines, strict=True):
        points = " ".join(f"{x(size):g},{y(rates[work][size]):g}" for size in sizes)
        stroke = f'fill="none" stroke="{colour}" stroke-width="2"'
        lines += [
            f'<polyline points="{points}" {stroke}/>',
            text(right + 4, place + 4, work, colour),
        ]
    return framed(lines, bottom + 30)


def pictures() -> dict[Path, str]:
    """Return the pictures, each with where it belongs."""
    return {
        PICTURES / "speed-light.svg": picture(LIGHT),
        PICTURES / "speed-dark.svg": picture(DARK),
        PICTURES / "linear-light.svg": plot(LIGHT),
        PICTURES / "linear-dark.svg": plot(DARK),
    }


def main() -> None:
    """Write the pictures."""
    PICTURES.mkdir(exist_ok=True)
    for path, content in pictures().items():
        path.write_text(content)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
