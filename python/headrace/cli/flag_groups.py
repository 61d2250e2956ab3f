"""Groups of flags that commands about indexes, graphs or logs have in common."""

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

EDGE_FIELDS = (
    flag("--from-field", otherwise="that of the graph index, else from"),
    flag(
        "--pred-field",
        otherwise="that of the graph index, else pred; none with --from-field and --to-field",
    ),
    flag("--to-field", otherwise="that of the graph index, else to"),
)

FOLLOWED = (
    flag("--pred"),
    flag("--pred-raw"),
    flag("--direction", default="out"),
)

EDGE_ACCESS = (
    flag("--require-index"),
    flag("--no-index"),
    flag("--index", otherwise="beside FILE"),
    flag("--index-dir"),
    flag("--memory", "for a scan; changes no byte", default="256MiB"),
    flag("--threads", otherwise="one for each core"),
)

DRAWN = flag(
    "--format",
    "lines of JSON, a tree for people, or a picture for Graphviz or Mermaid",
    default="ndjson",
    choices=("ndjson", "tree", "dot", "mermaid"),
)

TIMES_OF_LOGS = (flag("--since"), flag("--until"))

DAMAGED = flag(
    "--on-error",
    "bad rows are damaged lines here",
    default="abort",
    choices=("abort", "skip"),
)
