"""The grammar of the query language: one function per construct.

Each moves the cursor and returns a part of the tree. There is no backtracking: a few tokens, the
matching of brackets that the cursor has computed, or the token after the first expression decide
which construct a ``(``, ``[`` or ``{`` begins. So the work is linear in the length of the text.
"""
