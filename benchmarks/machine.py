"""The machine of a run: the facts to judge a figure, without names or paths.

No host names, no user names, no paths.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import tools
from benchmarks.candidate import ROOT

PACKAGES = ("headrace", "duckdb", "polars", "pyarrow", "orjson", "zstandard")
PROGRAMS = ("wc", "rg", "qj", "jq", "gzip", "zstd", "rustc")


def first_match(pattern: str, path: str) -> str | None:
    """Find a fact in one of the kernel's text files."""
    try:
        text = Path(path).read_text()
    except OSError:
        return None
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else None


def package_version(name: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def output(*command: str) -> str | None:
    """Give the first line a program prints, or None if it cannot be run."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(
        command, capture_output=True, check=False, cwd=ROOT, text=True
    )
    lines = done.stdout.splitlines()
    return lines[0] if done.returncode == 0 and lines else None


def program_version(name: str) -> str | None:
    """Return the version in the output of ``NAME --version``."""
    program = str(tools.program(name)) if name in tools.TOOLS else name
    found = re.search(r"\d+(\.\d+)+", output(program, "--version") or "")
    return found[0] if found else None


def facts() -> dict[str, Any]:
    """Collect the facts; an unknown fact is None."""
    memory = first_match(r"^MemTotal:\s+(\d+) kB", "/proc/meminfo")
    programs = {name: program_version(name) for name in PROGRAMS}
    packages = {name: package_version(name) for name in PACKAGES}
    return {
        "cpu": first_match(r"^model name\s*:(.*)$", "/proc/cpuinfo"),
        "cores": os.cpu_count(),
        "memory_bytes": int(memory) * 1024 if memory else None,
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "commit": output("git", "rev-parse", "--short", "HEAD"),
        "versions": programs | packages,
    }
