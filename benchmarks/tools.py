"""Programs that are measured beside Headrace, in a folder of their own.

``cargo install`` builds those of crates.io once, in the version named here, and the C++ compiler
the one on simdjson. A program that cannot be built is reported as absent by the runner, and the
reason goes to stderr.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.candidate import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = ROOT / "target/bench-tools"
SIMDJSON_WALK = FOLDER / "simdjson" / "walk"


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
    tool = TOOLS[name]
    version = f"{tool.crate}@{tool.version}"
    root = str(program(name).parent.parent)
    return _ran("cargo", "install", "--locked", "--quiet", "--root", root, version)


def _ran(*command: str) -> str | None:
    """Run a command; return why it failed."""
    if shutil.which(command[0]) is None:
        return f"{command[0]} is missing"
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    return done.stderr.strip() if done.returncode != 0 else None


def simdjson() -> Path:
    """Return the program of `simdjson/walk.cpp`, after building it if that is newer."""
    folder, built = ROOT / "benchmarks/simdjson", SIMDJSON_WALK
    changed = max(file.stat().st_mtime for file in folder.iterdir())
    if not built.exists() or built.stat().st_mtime < changed:
        built.parent.mkdir(parents=True, exist_ok=True)
        reason = _compiled(folder, built)
        if reason is not None:
            built.unlink(missing_ok=True)
            print(f"simdjson is left out: {reason}", file=sys.stderr, flush=True)
    return built


def _compiled(folder: Path, built: Path) -> str | None:
    """Compile a program with the sources of simdjson; return why that failed."""
    manifest = ["--locked", "--manifest-path", str(folder / "Cargo.toml")]
    reason = _ran("cargo", "fetch", "--quiet", *manifest)
    if reason is not None:
        return reason
    described = subprocess.check_output(
        ["cargo", "metadata", "--format-version", "1", *manifest]
    )
    sources = next(
        Path(package["manifest_path"]).parent / "vendor/simdjson"
        for package in json.loads(described)["packages"]
        if package["name"] == "simdjson-sys"
    )
    options = ("-std=c++17", "-O3", "-march=native", f"-I{sources}")
    inputs = (str(folder / "walk.cpp"), str(sources / "simdjson.cpp"))
    return _ran("c++", *options, *inputs, "-o", str(built))


def installed(*names: str) -> list[Path]:
    """Return the programs, after building those that are missing."""
    for name in names:
        reason = install(name)
        if reason is not None:
            print(f"{name} is left out: {reason}", file=sys.stderr, flush=True)
    return [program(name) for name in names]
