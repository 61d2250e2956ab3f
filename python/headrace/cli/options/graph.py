"""The flags that commands about graphs have in common."""

from __future__ import annotations

from headrace.cli.flags import flag

FIELDS = (
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

ACCESS = (
    flag("--require-index"),
    flag("--no-index"),
    flag("--index", otherwise="beside FILE"),
    flag("--index-dir"),
    flag("--memory", "for a scan; changes no byte", default="256MiB"),
    flag("--threads", otherwise="one for each core"),
)

FORMAT = flag(
    "--format",
    "lines of JSON, a tree for people, or a picture for Graphviz or Mermaid",
    default="ndjson",
    choices=("ndjson", "tree", "dot", "mermaid"),
)
