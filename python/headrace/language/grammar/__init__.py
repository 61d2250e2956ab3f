"""The grammar of the query language: one function per construct.

Each takes the parser, leaves its cursor behind what it has read and returns a part
of the tree. Those that nest are routines. Nothing is tried and taken back: what a
``(``, ``[`` or ``{`` begins is decided by a few tokens, by the structure that the
cursor knows beforehand, or by parsing an expression first and looking at what
follows it. So the work is linear in the length of the text.
"""
