"""An object store for tests, and the path with which other processes import it."""

import os
from pathlib import Path

STORES = Path(__file__).parent
ROOT = STORES.parents[1]


def on_path(path):
    """Return a PYTHONPATH with which other processes import the store."""
    return os.pathsep.join(filter(None, [path, str(ROOT), str(STORES)]))
