"""A reader of version 1 of ``.jnx`` files, written from the seed's text alone.

It knows the header, the 20 bytes of a key entry, the string pool after them and the table
of u64 offsets, and no later part. It has no hash function: it reads all entries.
"""

import struct
from pathlib import Path

HEADER = struct.Struct("<4sIIIQQQQQQ")
ENTRY = struct.Struct("<QIHIH")
UNIQUE, COMPOSITE = 1, 2


class LookupIndex:
    """All keys of an index, with the offsets of their records in the source."""

    def __init__(self, path):
        data = Path(path).read_bytes()
        (
            magic,
            version,
            self.flags,
            self.key_count,
            key_table,
            key_table_size,
            offset_table,
            offset_table_size,
            self.source_size,
            self.source_mtime,
        ) = HEADER.unpack_from(data)
        assert (magic, version, HEADER.size, ENTRY.size) == (b"JNX\x01", 1, 64, 20)
        pool = data[key_table : key_table + key_table_size][self.key_count * 20 :]
        table = data[offset_table : offset_table + offset_table_size]
        self.all_offsets = [offset for (offset,) in struct.iter_unpack("<Q", table)]
        self.hashes, self.offsets = [], {}
        for number in range(self.key_count):
            entry = ENTRY.unpack_from(data, key_table + number * ENTRY.size)
            key_hash, key_offset, length, posting_offset, posting_count = entry
            key = pool[key_offset : key_offset + length].decode()
            assert key not in self.offsets, "a key has one entry"
            postings = slice(posting_offset, posting_offset + posting_count)
            self.hashes.append(key_hash)
            self.offsets[key] = self.all_offsets[postings]

    def lookup(self, key):
        """Return the offsets of the records with a key."""
        return self.offsets.get(key, [])


def records(source, offsets):
    """Read the lines at some offsets."""
    with Path(source).open("rb") as file:
        for offset in offsets:
            file.seek(offset)
            yield file.readline()
