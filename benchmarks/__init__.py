"""Measuring Headrace beside the tools people would use instead of it.

Nothing here is part of the package or of its tests' verdict: a benchmark says
how fast, on which machine, and only after everybody measured gave one answer.
"""
