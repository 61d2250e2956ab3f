"""``python -m headrace``: the command line, where the script is not on the path."""

import sys

from headrace.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
