"""``headrace index build``: build key indexes and, with ``--graph``, graph indexes."""

from argparse import Namespace

from headrace.cli.argument import TO_INDEX
from headrace.cli.console import Console
from headrace.cli.flags import ENGINE, flag
from headrace.cli.options.index import BUILDING
from headrace.errors import UsageError

ABOUT = """\
Every row is checked in full. Lines that are not JSON, and rows whose field is missing, null,
an array or an object, are counted, but not indexed. The index of FILE is FILE.jnx, or
FILE.jnx.KEY if FILE.jnx is the index of another key. It appears when it is complete, and the
same rows give the same bytes. With --graph, each row is an edge: one field names the node that
it comes from, another the node that it goes to, and a third may name its predicate; the index
is FILE.jnx.graph. Of several FILEs, and of a log, each file gets its own index; the command ends
at the first file that cannot have one. A set of shards gets one key index for all its parts, the
directory SET.jnx.KEY; of a set of edges, each part gets a graph index.

With --engine spark, tasks of Spark read the files, on this machine or on the cluster at --master;
they must be able to open FILE and the place of its index. The bytes are the same."""

EXAMPLES = """\
headrace index build app.jsonl --on id  # index the field id
headrace index build app.jsonl --on level,ms --compact
    # index two fields together, in few bytes
headrace index build app.jsonl --on id --mode unique
    # fail if two rows have the same id
headrace index build shards/ --on id --engine spark
    # index a set of shards, with tasks of Spark
headrace index build edges.jsonl --graph --from-field from --pred-field pred --to-field to
    # index edges by the node they come from
headrace index build edges.jsonl --graph --from-field from --to-field to --incoming
    # index edges without predicates by both nodes
headrace index build logs/*.jsonl --on id --engine spark
    # index each file, with tasks of Spark
"""

ARGUMENTS = (
    TO_INDEX,
    flag("--on", "a.b is the field b of the field a, where no field is called a.b"),
    flag("--graph", "give --from-field, --pred-field and --to-field"),
    flag("--from-field"),
    flag("--pred-field", otherwise="edges have no predicate"),
    flag("--to-field"),
    flag("--incoming"),
    flag("--mode", default="multi"),
    flag("--compact"),
    flag("--index-version", otherwise="1, or 2 if version 1 has no room"),
    *BUILDING,
    flag("--max-line", default="64MiB"),
    flag("--index", otherwise="FILE.jnx or FILE.jnx.KEY, FILE.jnx.graph"),
    flag("--index-dir"),
    flag("--force", "such as the index of another key"),
    *ENGINE,
)


def run(options: Namespace, console: Console) -> int:
    """Build the index."""
    if options.index_version is not None:
        options.index_version = int(options.index_version)
    if options.graph:
        from headrace.cli.io.index_events import build

        return build(options, console)
    return _build_keys(options, console)


def _build_keys(options: Namespace, console: Console) -> int:
    from functools import partial

    from headrace.api.index.key import KeyIndex
    from headrace.api.options import KeyIndexBuildOptions
    from headrace.cli.io.index_events import build_indexes
    from headrace.store.index.target import each_with_rows

    edge = (options.from_field, options.pred_field, options.to_field)
    if edge != (None, None, None) or options.incoming:
        raise UsageError(
            "--from-field, --pred-field, --to-field and --incoming are for --graph; give "
            "that too"
        )
    if options.on is None:
        raise UsageError("name the field of the key: --on FIELD, or --graph for edges")
    if options.compact and options.index_version == 1:
        raise UsageError("--compact is --index-version 2; give one of them")
    if options.compact:
        options.index_version = 2

    key = ",".join(options.on)

    def say_start(location: str) -> None:
        console.emit(
            "build_start",
            f"{location}: building the index of {key}",
            source=location,
            key=key,
        )

    def say_mistyped(location: str, seen: str) -> None:
        console.emit(
            "no_keys_indexed",
            f"{location}: no row has the key {key}; fields of the first rows: {seen}",
            source=location,
            key=key,
        )

    build = partial(KeyIndex.build_each, on=options.on)
    sources = each_with_rows(options.files)
    build_indexes(
        options,
        console,
        sources,
        build,
        KeyIndexBuildOptions,
        say_start,
        say_mistyped,
    )
    return 0
