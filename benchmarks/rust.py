"""The Rust examples of benchmarks, built from the current tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from benchmarks.candidate import ROOT
from benchmarks.runner import BenchmarkError

if TYPE_CHECKING:
    from pathlib import Path


def examples(*names: str) -> list[Path]:
    """Build examples of `headrace-core` and give their programs.

    Without cargo nothing is built; what is not there is left out by the runner
    like any other missing program.
    """
    if shutil.which("cargo") is not None:
        wanted = [word for name in names for word in ("--example", name)]
        command = ["cargo", "build", "--release", "--locked", "-p", "headrace-core"]
        done = subprocess.run(
            [*command, *wanted], capture_output=True, check=False, cwd=ROOT, text=True
        )
        if done.returncode != 0:
            raise BenchmarkError(f"the Rust examples do not build\n{done.stderr}")
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    return [target / "release" / "examples" / name for name in names]
