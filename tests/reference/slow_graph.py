"""Slow reference of graph expansion."""

import json
from collections import deque


def edges_in(data):
    """Yield from, predicate, to and place of each row that is an edge."""
    offset = 0
    for line in data.splitlines(keepends=True):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            texts = [text_of(row.get(name)) for name in ("from", "pred", "to")]
            if None not in texts:
                yield (*texts, offset)
        offset += len(line)


def text_of(value):
    """Return the text of a value, None if it has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return value if isinstance(value, str) else None


def edges_at(edges, node, direction, pred=None):
    """Return the edges of a node: predicate, other end, place, whether they begin there."""
    found = []
    for start, label, end, offset in edges:
        if pred is not None and label not in pred:
            continue
        if direction != "in" and start == node:
            found.append((label, end, offset, True))
        elif direction != "out" and end == node:
            found.append((label, start, offset, False))
    return found


def expand(
    edges,
    seeds,
    *,
    hops=None,
    pred=None,
    direction="out",
    emit="nodes",
    limit=None,
    most_edges=None,
):
    """Return the nodes and edges reached, level by level, and whether a limit cut them."""
    levels, steps, queue, done = {}, [], deque(), set()
    for seed in seeds:
        if seed in levels:
            continue
        if len(levels) == limit:
            return steps, True
        levels[seed] = 0
        steps.append((seed, 0, None))
        queue.append(seed)
    while queue:
        node = queue.popleft()
        if hops is not None and levels[node] >= hops:
            continue
        found = edges_at(edges, node, direction, pred)
        for label, other, offset, outgoing in found[:most_edges]:
            new = other not in levels
            if new and len(levels) == limit:
                return steps, True
            again = direction == "both" and other in done
            if (emit == "edges" and not again) or (emit == "tree" and new):
                ends = (node, other) if outgoing else (other, node)
                steps.append((ends[0], label, ends[1], offset, new))
            if new:
                levels[other] = levels[node] + 1
                steps.append((other, levels[other], label))
                queue.append(other)
        done.add(node)
    return steps, False
