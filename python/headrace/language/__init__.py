"""The query language: from text to a tree, and back.

This layer decides the form of a query only. The layers above know the builtins and their results,
and where a stream of rows may stand.
"""
