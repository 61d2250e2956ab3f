"""``headrace demo``: write sample data, read it in every way and run a pipeline over it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.argument import Argument
from headrace.cli.flags import flag

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from headrace.cli.console import Console
    from headrace.demo.demonstration import Step

ABOUT = """\
The data is the same on every machine and has every kind of odd line: broken ones,
blank ones, CRLF, text that is not UTF-8, one line that is too long, a last line
without an end. The demo reads it with the row commands and with Spark, then runs a
pipeline over it, DIR/events.toml, and queries its output. Each answer is compared with
the data; the exit code is 1 if one differs."""

EXAMPLES = """\
headrace demo  # write ./headrace-demo and read it, also with Spark
headrace demo --no-spark  # where there is no Java
"""

ARGUMENTS = (
    Argument(
        "directory",
        "directory",
        "where to write the sample [default: headrace-demo]",
        metavar="DIR",
        arity="optional",
        default="headrace-demo",
    ),
    flag("--rows", default="20000"),
    flag("--no-spark"),
    flag("--master", default="local[*,4]"),
    flag("--force", "in DIR"),
)

# For a run of seconds over a few megabytes.
_SMALL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "4",
}


def run(options: Namespace, console: Console) -> int:
    """Run the steps, and print each."""
    from headrace.demo.demonstration import local_steps, pipeline_steps, spark_steps
    from headrace.demo.sample import write_sample
    from headrace.spark import ensure_java, session

    console.live = True
    if not options.no_spark:
        ensure_java()
    sample = write_sample(Path(options.directory), options.rows, force=options.force)
    failed = _show(local_steps(sample), console)
    if not options.no_spark:
        console.text(f"starting Spark at {options.master}\n\n")
        spark = session(options.master, **_SMALL)
        try:
            failed += _show(spark_steps(sample, spark), console)
            failed += _show(pipeline_steps(sample, spark), console)
        finally:
            spark.stop()
    console.text(f"{failed} checks failed\n" if failed else "all checks hold\n")
    return 1 if failed else 0


def _show(steps: Iterable[Step], console: Console) -> int:
    failed = 0
    for step in steps:
        console.text(f"{step.title}\n")
        for line in step.shown:
            console.text(f"  {line}\n")
        for check in step.checks:
            verdict = "ok" if check.holds else f"WRONG, not {check.expected:,}"
            console.text(f"  {check.claim}: {check.found:,} {verdict}\n")
            failed += not check.holds
        console.text("\n")
    return failed
