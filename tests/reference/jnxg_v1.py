"""A reader of version 1 of ``.jnx.graph`` files, written from the seed's text alone.

It knows the header, the bytes of a node and of an edge, and the rest of the description: ids lie
after the nodes, predicates have an offset and a length each, and their texts lie after
them. It knows no later part, and has no hash function.
"""

import struct
from pathlib import Path

HEADER = struct.Struct("<4sIIIIIQQQQQ")
NODE = struct.Struct("<QIHIH")
NODE_WITH_INCOMING = struct.Struct("<QIHIHIH")
EDGE = struct.Struct("<HIQ")
PREDICATE = struct.Struct("<IH")
REVERSE = 1


class Graph:
    """All nodes and edges of an index."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        (
            magic,
            version,
            self.flags,
            nodes,
            self.edge_count,
            predicates,
            node_table,
            edge_table,
            predicate_table,
            self.source_size,
            self.source_mtime,
        ) = HEADER.unpack_from(data)
        assert (magic, version, HEADER.size, EDGE.size) == (b"JNXG", 1, 64, 14)
        reverse = bool(self.flags & REVERSE)
        entry = NODE_WITH_INCOMING if reverse else NODE
        assert entry.size == (26 if reverse else 20)
        pool = data[node_table + nodes * entry.size : edge_table]
        texts = predicate_table + predicates * PREDICATE.size
        self.predicates = []
        for number in range(predicates):
            at = predicate_table + number * PREDICATE.size
            offset, length = PREDICATE.unpack_from(data, at)
            start = texts + offset
            self.predicates.append(data[start : start + length].decode())
        entries = [
            entry.unpack_from(data, node_table + number * entry.size)
            for number in range(nodes)
        ]
        self.hashes = [node[0] for node in entries]
        self.ids = [pool[node[1] : node[1] + node[2]].decode() for node in entries]
        edges = list(EDGE.iter_unpack(data[edge_table:predicate_table]))
        self.table_size = len(edges)

        def run(first, count):
            return [
                (self.predicates[predicate], self.ids[node], offset)
                for predicate, node, offset in edges[first : first + count]
            ]

        self.outgoing = {
            name: run(*node[3:5]) for name, node in zip(self.ids, entries, strict=True)
        }
        self.incoming = {
            name: run(*node[5:7])
            for name, node in zip(self.ids, entries, strict=True)
            if reverse
        }
