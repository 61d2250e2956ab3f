"""``headrace functions``: list and explain the functions of the query language."""

from argparse import Namespace

from headrace.cli.argument import Argument
from headrace.cli.console import Console
from headrace.errors import UsageError

ABOUT = """\
Without a name, prints every function on a line; with a name, its description and examples.
docs/functions.md has all of them."""

EXAMPLES = """\
headrace functions  # all functions
headrace functions unique_by  # one function, with examples
"""

ARGUMENTS = (
    Argument(
        "name", "text", "the function to explain", metavar="NAME", arity="optional"
    ),
)


def run(options: Namespace, console: Console) -> int:
    """Print the functions."""
    from headrace.api.functions import explained, functions
    from headrace.kernel.values import builtins
    from headrace.logical.foreign_words import hint_for

    if options.name is None:
        every = functions()
        width = max(len(builtin.name) for builtin in every)
        for builtin in every:
            console.text(f"{builtin.name:{width}}  {builtin.doc}\n")
        return 0
    found = explained(options.name)
    if found is None:
        hint = hint_for(options.name, builtins())
        raise UsageError(
            "; ".join(filter(None, [f"there is no function {options.name}", hint]))
        )
    console.text(found)
    return 0
