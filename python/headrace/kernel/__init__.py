"""The only Python that talks to the compiled core, `headrace._native`.

Its functions are typed and raise `headrace.errors`; the layers above need not know that a
part of headrace is compiled.
"""
