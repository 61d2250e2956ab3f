"""Functions that make cases: with a computed answer, or a fragment of an error message."""

from __future__ import annotations

from typing import Any

Case = dict[str, Any]


def gives(topic: str, query: str, document: Any, expected: Any, **more: Any) -> Case:
    """Make a case of a query about a document."""
    return {
        "topic": topic,
        "query": query,
        "input": document,
        "expected": expected,
        **more,
    }


def fails(topic: str, query: str, document: Any, error: str, **more: Any) -> Case:
    """Make a case of a query that fails on a document."""
    return {"topic": topic, "query": query, "input": document, "error": error, **more}


def over_rows(
    topic: str, query: str, rows: list[Any], expected: list[Any], **options: Any
) -> Case:
    """Make a case of a query over the rows of a file; `expected` are all answers."""
    made = {"topic": topic, "query": query, "rows": rows, "expected": expected}
    return made | ({"options": options} if options else {})


def numbered(stem: str, cases: list[Case]) -> list[Case]:
    """Give every case an id: the file, the topic, and a number within the topic."""
    seen: dict[str, int] = {}
    made = []
    for case in cases:
        topic = case.pop("topic")
        seen[topic] = seen.get(topic, 0) + 1
        made.append({"id": f"{stem}/{topic}/{seen[topic]}", **case})
    return made
