"""The charts of the README are drawn from the kept runs."""

import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks.candidate import ROOT
from benchmarks.chart import PANELS, medians, pictures


def test_the_kept_pictures_are_drawn_from_the_kept_runs():
    for path, drawn in pictures().items():
        assert path.read_text() == drawn, "run `python -m benchmarks.chart`"


def test_the_readme_shows_both():
    readme = (ROOT / "README.md").read_text()
    for path in pictures():
        assert path.relative_to(ROOT).as_posix() in readme


@pytest.mark.parametrize("drawn", pictures().values(), ids=lambda _drawn: "picture")
def test_every_bar_has_its_name_and_value(drawn):
    root = ElementTree.fromstring(drawn)
    bars = root.findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == sum(len(panel.bars) for panel in PANELS)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_headrace_comes_first(panel):
    (name, value), *others = medians(panel)
    assert name == "Headrace"
    assert others
    assert value > 0
