"""The flags that commands about indexes have in common."""

from __future__ import annotations

from headrace.cli.argument import INDEXED
from headrace.cli.flags import flag

PLACES = (flag("--index", otherwise="beside FILE"), flag("--index-dir"))

ONE_INDEX = (
    INDEXED,
    flag("--on", otherwise="the key of the only index of FILE"),
    flag("--graph"),
    *PLACES,
)
"""One index of a file."""

BUILDING = (
    flag("--memory", "each task of Spark as well", default="256MiB"),
    flag("--threads", otherwise="one for each core"),
    flag("--strict"),
    flag("--errors", "those that are not indexed: file, line, offset, reason, cause"),
)
"""How rows are read for an index."""
