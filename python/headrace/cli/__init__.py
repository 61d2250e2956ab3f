"""What a person types: the ``headrace`` command.

Nothing is decided here that the Python API could decide: a command turns its
arguments into calls of `headrace.api` and their results into rows on standard
output and messages on standard error.
"""
