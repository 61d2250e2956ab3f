"""Queries that are well written but mean nothing."""

from __future__ import annotations

from headrace.language.errors import QuerySyntaxError


class QueryMeaningError(QuerySyntaxError):
    """An unknown function or source, or arguments that do not fit it."""
