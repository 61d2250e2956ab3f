"""``headrace completions``: print the completion script of a shell."""

from argparse import Namespace

from headrace.cli.argument import Argument
from headrace.cli.console import Console
from headrace.cli.help.completions import SHELLS

ABOUT = """\
The script completes commands, options, their values and file names. It is generated
from the table of commands of this version, and starts no other program.

    bash   source <(headrace completions bash)           in ~/.bashrc
    zsh    source <(headrace completions zsh)            in ~/.zshrc, after compinit
    fish   headrace completions fish | source            in config.fish"""

EXAMPLES = """\
source <(headrace completions bash)  # complete in this bash
"""

ARGUMENTS = (
    Argument("shell", "choice", "the shell to make it for", choices=tuple(SHELLS)),
)


def run(options: Namespace, console: Console) -> int:
    """Print the script."""
    console.text(SHELLS[options.shell]())
    return 0
