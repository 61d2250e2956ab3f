"""Append log: segments of lines, each with an index that has an entry for every line.

docs/formats/log.md describes the files and the promises. The core has the loops over lines
and entries; this package names the files and orders the system calls.
"""
