"""Graphs over edge rows: expansion, paths, export."""
