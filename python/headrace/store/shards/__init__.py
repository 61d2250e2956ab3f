"""Sets of shards: the files of one data set, and the metadata that makes them one.

A *set* has a name in a directory and *generations*, each written whole and then
committed by the appearance of its metadata; the highest complete one is the set.
Format and protocol: docs/formats/shards.md.
"""
