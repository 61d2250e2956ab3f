"""Families of language cases, with answers that Python computes independently of the engine.

``python -m tests.conformance.generators`` writes them to `tests/conformance/cases/`, each
module to the file of its name. A test compares the files with the output of the modules.
"""
