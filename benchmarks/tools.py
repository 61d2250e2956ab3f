"""Programs from crates.io that are measured beside Headrace, in a folder of their own.

``cargo install`` builds each once, in the version named here. A program that cannot be
installed is reported as absent by the runner, and the reason goes to stderr.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.candidate import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER = ROOT / "target/bench-tools"


@dataclass(frozen=True, slots=True)
class Tool:
    """A crate, its version, and what it is."""

    crate: str
    version: str
    doc: str


TOOLS: Mapping[str, Tool] = {
    "qj": Tool("qj", "0.3.0", "jq in Rust on simdjson, on all cores"),
    "rg": Tool("ripgrep", "15.2.0", "search for text, not for JSON"),
}


def program(name: str) -> Path:
    """Return where a program is, or would be."""
    return FOLDER / f"{name}-{TOOLS[name].version}" / "bin" / name


def install(name: str) -> str | None:
    """Build one program, unless it is there; return why that failed."""
    if program(name).exists():
        return None
    if shutil.which("cargo") is None:
        return "cargo is missing"
    tool = TOOLS[name]
    version = f"{tool.crate}@{tool.version}"
    root = str(program(name).parent.parent)
    done = subprocess.run(
        ["cargo", "install", "--locked", "--quiet", "--root", root, version],
        capture_output=True,
        check=False,
        text=True,
    )
    return done.stderr.strip() if done.returncode != 0 else None


def installed(*names: str) -> list[Path]:
    """Return the programs, after building those that are missing."""
    for name in names:
        reason = install(name)
        if reason is not None:
            print(f"{name} is left out: {reason}", file=sys.stderr, flush=True)
    return [program(name) for name in names]
