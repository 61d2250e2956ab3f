"""``headrace pipeline explain``: print the plan of a pipeline."""

from argparse import Namespace

from headrace.cli.argument import PIPELINE
from headrace.cli.console import Console

ABOUT = """\
Prints the passes that the stages are cut into, what each reads and writes, and which of them
would run. Lists files, but starts nothing and writes nothing."""

EXAMPLES = """\
headrace pipeline explain events.toml  # the plan, before a run
"""

ARGUMENTS = (PIPELINE,)


def run(options: Namespace, console: Console) -> int:
    """Print the plan."""
    from headrace.pipeline.spec import Pipeline

    console.text(f"{Pipeline.from_toml(options.pipeline).explain()}\n")
    return 0
