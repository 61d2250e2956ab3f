"""Reference of the query language: slow, obvious, and independent of the engine.

It implements the core of the language. A query that needs more raises
`NotInSubset`, so that every answer is certain.
"""
