"""Where a query spends its time: ``make profile QUERY='$.rows().sum(ms)' FILE=app.jsonl``.

The query runs once with ``--explain --analyze``, which prints the time of its stages, and once under
``perf``, whose samples name the functions of the core, which is built with their names. Where perf
cannot be used, Python's profiler names the functions of Python only, each call of the core being one.
"""

from __future__ import annotations

import cProfile
import importlib.util
import pstats
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ROOT / "target" / "release"
FREQUENCY = 999
"""Samples in a second."""

MOST_FUNCTIONS = 25


def load_core() -> None:
    """Import the core that was built with the names of its functions."""
    names = ("lib_native.so", "lib_native.dylib")
    path = next((CORE / name for name in names if (CORE / name).exists()), None)
    if path is None:
        raise SystemExit("the core is not built: run make profile")
    name = "headrace._native"
    spec = importlib.util.spec_from_loader(name, ExtensionFileLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def query(arguments: list[str]) -> None:
    """Run ``headrace query`` in this process, with that core."""
    load_core()
    from headrace.cli.app import main

    code = main(["query", *arguments])
    if code:
        raise SystemExit(code)


def command(*arguments: str) -> list[str]:
    """Return the command line of a process that runs a query."""
    return [sys.executable, "-m", __spec__.name, "--query", *arguments]


def with_perf(arguments: list[str], samples: Path) -> str:
    """Run a query under perf; return why that cannot be, or nothing."""
    if shutil.which("perf") is None:
        return "perf is missing (Debian: apt-get install linux-perf)"
    record = ["perf", "record", "--quiet", f"--freq={FREQUENCY}", f"--output={samples}"]
    tried = subprocess.run(
        [*record, "--", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        return "perf may not count here (sysctl kernel.perf_event_paranoid=1 allows it)"
    subprocess.run(
        [*record, "--", *command(*arguments)],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return ""


def top_of(samples: Path) -> list[str]:
    """Return the functions in which most samples are, with their shares."""
    report = ["perf", "report", "--stdio", f"--input={samples}", "--no-children"]
    done = subprocess.run(
        [*report, "--fields=overhead,dso,symbol", "--percent-limit=0.5"],
        capture_output=True,
        text=True,
        check=True,
    )
    return functions_in(done.stdout)


def functions_in(report: str) -> list[str]:
    """Return the lines of a report of perf that name functions."""
    lines = [line.rstrip() for line in report.splitlines()]
    return [line for line in lines if line and line[0] != "#"][:MOST_FUNCTIONS]


def with_python(arguments: list[str]) -> None:
    """Run a query under Python's profiler, and print its functions."""
    load_core()
    from headrace.cli.app import main

    profiler = cProfile.Profile()
    with tempfile.TemporaryFile("w") as nothing, redirect_stdout(nothing):
        profiler.runcall(main, ["query", *arguments])
    pstats.Stats(profiler).sort_stats("tottime").print_stats(MOST_FUNCTIONS)


def main(arguments: list[str]) -> None:
    """Print the plan with its times, then the functions."""
    if arguments[:1] == ["--query"]:
        query(arguments[1:])
        return
    if len(arguments) < 2:
        raise SystemExit(
            "give a query and a file: make profile QUERY='$.rows().sum(ms)' FILE=app.jsonl"
        )
    subprocess.run(command("--explain", "--analyze", *arguments), check=True)
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "perf.data"
        reason = with_perf(arguments, samples)
        if not reason:
            print("\nshare of the samples, library, function")
            print("\n".join(top_of(samples)))
            return
    print(f"\n{reason}; these are functions of Python, with one thread:")
    with_python([*arguments, "--threads", "1"])


if __name__ == "__main__":
    main(sys.argv[1:])
