"""ARCHITECTURE.md names files that are there, and can be read in a narrow window."""

import re

from tests.docs.markdown import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
BEGINNINGS = (ROOT, ROOT / "python/headrace", ROOT / "crates/headrace-core/src")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:py|rs|md|toml))`")


def test_every_path_that_is_named_exists():
    named = {path for path in PATH.findall(TEXT) if "NAME" not in path}
    named |= set(re.findall(r"\]\((?!https?:)([^)#]+)", TEXT))
    assert len(named) > 80
    missing = {
        path
        for path in named
        if not any((start / path).exists() for start in BEGINNINGS)
    }
    assert missing == set()


def test_a_link_shows_the_path_that_it_leads_to():
    for shown, target in re.findall(r"\[([\w./]+)\]\(([^)#]+)", TEXT):
        assert target.rstrip("/").endswith(shown.rstrip("/")), shown


def test_participants_of_diagrams_exist():
    """A participant that is a file of Python is written as the end of its path."""
    files = [path.as_posix() for path in (ROOT / "python/headrace").rglob("*.py")]
    named = re.findall(r"participant \w+ as (\S+\.py)$", TEXT, re.MULTILINE)
    assert len(named) > 10
    for name in named:
        assert any(path.endswith(f"/{name}") for path in files), name


def test_lines_are_short():
    assert [line for line in TEXT.splitlines() if len(line) > 100] == []
