"""The append log: segments of lines, each with an index that has an entry for every line.

What is on disk and what is promised of it: docs/formats/log.md. The loops over lines and
entries are the core's; here is which file is what, and in which order calls are made.
"""
