"""The only Python that talks to the compiled core, `headrace._native`.

What comes out of here is typed and raises `headrace.errors`; whoever is above
need not know that part of headrace is compiled.
"""
