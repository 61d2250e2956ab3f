"""``headrace index build``: build key indexes and, with ``--graph``, graph indexes."""

from argparse import Namespace

from headrace.cli.argument import TO_INDEX
from headrace.cli.console import Console
from headrace.cli.flag_groups import BUILDING
from headrace.cli.flags import ENGINE, flag

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
    from headrace.cli.io.index_events import build_indexes

    return build_indexes(options, console)
