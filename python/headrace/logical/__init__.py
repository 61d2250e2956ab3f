"""Meaning of a query: name resolution, one spelling of each construct, planning, programs for the core."""
