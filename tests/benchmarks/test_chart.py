"""The charts of the README are drawn from the kept runs."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks.candidate import ROOT
from benchmarks.chart import (
    DARK,
    LIGHT,
    PANELS,
    RUNS,
    costs,
    costs_table,
    medians,
    picture,
    pictures,
    plot,
    spread,
)
from benchmarks.suites import linear

SVG = "{http://www.w3.org/2000/svg}"


def tables(text):
    """Return the tables of a Markdown file."""
    return [found.rstrip() for found in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)]


def test_the_kept_pictures_are_drawn_from_the_kept_runs():
    for path, drawn in pictures().items():
        assert path.read_text() == drawn, "run `python -m benchmarks.chart`"


def test_the_readmes_show_all_pictures():
    readme = (ROOT / "README.md").read_text()
    figures = (ROOT / "benchmarks/README.md").read_text()
    for path in pictures():
        name = path.relative_to(ROOT).as_posix()
        shown = name in readme if "speed" in name else f"../{name}" in figures
        assert shown, name


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_bar_has_its_name_and_value(colours):
    root = ElementTree.fromstring(picture(colours))
    assert len(root.findall(f"{SVG}rect")) == sum(len(each.bars) for each in PANELS)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_query_has_a_line_with_a_point_for_each_size(colours):
    root = ElementTree.fromstring(plot(colours))
    lines = root.findall(f"{SVG}polyline")
    assert len(lines) == len(costs()) == len(linear.LABELS)
    sizes = {len(by_size) for by_size in costs().values()}
    assert {len(line.attrib["points"].split()) for line in lines} == sizes
    texts = {text.text for text in root.findall(f"{SVG}text")}
    assert set(linear.LABELS) <= texts


def test_labels_are_moved_apart():
    assert spread([5, 6, 40, 50], 10) == [5, 15, 40, 50]


def test_the_tables_of_the_queries_are_those_of_the_kept_runs():
    figures = (ROOT / "benchmarks/README.md").read_text()
    cpu, time = tables((RUNS / "0.1.0-engine.md").read_text())[:2]
    for expected in (cpu, time, costs_table()):
        assert expected in figures


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_headrace_comes_first(panel):
    (name, value), *others = medians(panel)
    assert name == "Headrace"
    assert others
    assert value > 0
