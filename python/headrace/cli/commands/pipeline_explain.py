"""``headrace pipeline explain``: what a pipeline would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.io.pipeline_text import PIPELINE
from headrace.cli.options.common import OUTPUT_OPTIONS
from headrace.cli.registry import Example

if TYPE_CHECKING:
    from argparse import Namespace

    from headrace.cli.console import Console

ABOUT = """\
Shows the passes that the stages are cut into, what each reads and writes, and what is
left to do. Files are listed, but nothing is started and nothing written."""

EXAMPLES = (Example("headrace pipeline explain events.toml", "before it is run"),)

ARGUMENTS = (PIPELINE, *OUTPUT_OPTIONS)


def run(options: Namespace, console: Console) -> int:
    """Print the plan."""
    from headrace.pipeline.spec import Pipeline

    console.text(f"{Pipeline.from_toml(options.pipeline).explain()}\n")
    return 0
