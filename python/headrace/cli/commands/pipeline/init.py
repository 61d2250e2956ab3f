"""``headrace pipeline init``: write a pipeline to start from."""

from argparse import Namespace
from pathlib import Path

from headrace.cli.argument import PIPELINE
from headrace.cli.console import Console
from headrace.errors import UsageError

ABOUT = """\
Writes a file with every stage and every field, each with a comment. Unchanged, the pipeline
checks that rows are JSON and writes them as shards; fill in the rest. An existing file is
never overwritten."""

EXAMPLES = """\
headrace pipeline init nightly.toml  # write nightly.toml
headrace pipeline init -  # print it
"""

ARGUMENTS = (
    PIPELINE._replace(
        help="the file to write, or - for standard output [default: pipeline.toml]",
        arity="optional",
        default="pipeline.toml",
    ),
)


def run(options: Namespace, console: Console) -> int:
    """Write the file, and print its name."""
    import re

    from headrace.pipeline.toml import template
    from headrace.store.files.atomic import unwritable

    if options.pipeline == "-":
        console.text(template("events"))
        return 0
    path = Path(options.pipeline)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem)
    text = template(name if name[:1].isalpha() else "pipeline")
    with unwritable(path, "nothing was written"):
        try:
            with path.open("x") as file:
                file.write(text)
        except FileExistsError:
            raise UsageError(f"{path}: is there already; name another file") from None
    console.text(f"{path}\n")
    return 0
