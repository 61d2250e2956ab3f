"""Edge search by tasks without Spark, with Python's own sort and dictionaries."""

import pickle
from collections import defaultdict

from headrace.engines.spark.graph.edge_task import (
    FoundEdge,
    by_indexes,
    by_scan,
    seen_in,
    thinned,
)
from headrace.engines.spark.graph.expansion import EdgeTasks
from headrace.kernel.graph import EdgeScan

PARTS = 3
"""How many tasks there are where nothing says it."""


def find(hop):
    """Return the edges of a level; data passed between processes is pickled."""
    hop = pickle.loads(pickle.dumps(hop))
    count = len(hop.nodes)
    found = [] if hop.strategy == "index" else scanned(hop)
    for part in range(PARTS):
        first, end = count * part // PARTS, count * (part + 1) // PARTS
        if hop.strategy == "index":
            edges = by_indexes(hop.indexes, hop.wanted, hop.nodes[first:end], first)
        else:
            edges = [edge for edge in found if first <= edge.place < end]
        yield pickle.loads(pickle.dumps(list(thinned(edges, hop.wanted))))


def scanned(hop):
    """Return all edges of the nodes of a level in their order."""
    wanted, rows = hop.wanted, []
    held = hop.nodes if hop.strategy == "broadcast" else None
    places = {node: place for place, node in enumerate(hop.nodes)}
    for task in hop.tasks:
        edge_scan = EdgeScan(
            held, predicates=wanted.predicates, direction=wanted.direction
        )
        for before, found in by_scan(task, wanted.fields, edge_scan):
            if held is None:
                of = [places.get(node) for node in found.ids.listed()]
            else:
                of = memoryview(found.places).cast("Q").tolist()
            columns = (
                of,
                found.predicates.listed(),
                found.nodes.listed(),
                [before + offset for offset in memoryview(found.offsets).cast("Q")],
                map(bool, found.outgoing),
            )
            rows += map(FoundEdge._make, zip(*columns, strict=True))
    by_place = defaultdict(list)
    for edge in rows:
        by_place[edge.place].append(edge)
    by_place.pop(None, None)
    return [edge for place in sorted(by_place) for edge in by_place[place]]


def seen(tasks, fields, doubts):
    """Run the search of each task."""
    tasks, fields, doubts = pickle.loads(pickle.dumps((tasks, fields, doubts)))
    return [seen_in(task, fields, doubts) for task in tasks]


IN_PROCESS = EdgeTasks(find, seen)
"""Tasks that find edges in this process."""
