"""Errors in the meaning of a query whose syntax is right."""

from __future__ import annotations

from headrace.language.errors import QuerySyntaxError


class QueryMeaningError(QuerySyntaxError):
    """An unknown function or source, or arguments that do not fit it."""
