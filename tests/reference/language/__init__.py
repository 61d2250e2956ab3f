"""The query language by its definition: slow, obvious, and written without the engine.

What is here is the core of the language. A query that needs more raises
`NotInSubset`, so that nobody takes a guess for an answer.
"""
