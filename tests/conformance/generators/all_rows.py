"""Queries over all rows: the forms `$.rows()` and `--stream`, forwards and in reverse."""

from __future__ import annotations

from collections import Counter
from itertools import dropwhile, pairwise, takewhile
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.conformance.generators.made import Case, over_rows

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]

ROWS: list[Row] = [
    {"id": 1, "city": "Bern", "ms": 40, "tags": ["a", "b"]},
    {"id": 2, "city": "Oslo", "ms": 5},
    {"id": 3, "city": "Bern", "ms": None, "tags": []},
    {"id": 4, "city": "Rome", "ms": 40, "tags": ["b"]},
    {"id": 5, "ms": 120},
    {"id": 6, "city": "Oslo", "ms": 7, "tags": ["a", "c", "c"]},
    {"id": 7, "city": "Bern", "ms": 1},
]
NONE: list[Row] = []
ONE: list[Row] = [{"id": 9, "city": "Ulm", "ms": 3, "tags": ["z"]}]


def slow(row: Row) -> bool:
    """Tell whether a row took more than 10 ms."""
    return row["ms"] is not None and row["ms"] > 10


def times(rows: list[Row]) -> list[int]:
    """Return the numbers of milliseconds, without missing ones."""
    return [row["ms"] for row in rows if row["ms"] is not None]


def first_of(rows: list[Any]) -> Any:
    """Return the first element, None if there is none."""
    return rows[0] if rows else None


def by_city(rows: list[Row]) -> dict[str, list[Row]]:
    """Group rows by city, in the order of first occurrence."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.get("city", "null"), []).append(row)
    return groups


def distinct(values: list[Any]) -> list[Any]:
    """Keep the first of equal values."""
    return list(dict.fromkeys(values))


def ordered(row: Row) -> Any:
    """Return a sort key in which null comes first."""
    return (row["ms"] is not None, row["ms"])


# The tail of a query whose answer has elements, each a line of output.
ELEMENTS: dict[str, Callable[[list[Row]], list[Any]]] = {
    "map(id)": lambda rows: [row["id"] for row in rows],
    "map({id, ms})": lambda rows: [{k: row[k] for k in ("id", "ms") if row[k] is not None} for row in rows],
    "filter(ms > 10)": lambda rows: [row for row in rows if slow(row)],
    "filter(ms > 10).map(id)": lambda rows: [row["id"] for row in rows if slow(row)],
    "filter(city == 'Bern', ms > 10).map(id)": lambda rows: [r["id"] for r in rows if slow(r) and r.get("city") == "Bern"],
    "take(2).map(id)": lambda rows: [row["id"] for row in rows[:2]],
    "skip(5).map(id)": lambda rows: [row["id"] for row in rows[5:]],
    "skip(1).take(2).map(id)": lambda rows: [row["id"] for row in rows[1:3]],
    "map(id)[1:3]": lambda rows: [row["id"] for row in rows[1:3]],
    "map(id)[-2:]": lambda rows: [row["id"] for row in rows[-2:]],
    "first(2).map(id)": lambda rows: [row["id"] for row in rows[:2]],
    "last(2).map(id)": lambda rows: [row["id"] for row in rows[-2:]],
    "flat_map(tags)": lambda rows: [tag for row in rows for tag in row.get("tags", [])],
    "flat_map(tags).unique()": lambda rows: distinct([tag for row in rows for tag in row.get("tags", [])]),
    "map(city).compact()": lambda rows: [row["city"] for row in rows if "city" in row],
    "map(city).unique()": lambda rows: distinct([row.get("city") for row in rows]),
    "unique_by(city).map(id)": lambda rows: [group[0]["id"] for group in by_city(rows).values()],
    "sort(-id).map(id)": lambda rows: sorted((row["id"] for row in rows), reverse=True),
    "sort(ms, -id).map(id)": lambda rows: [r["id"] for r in sorted(sorted(rows, key=lambda r: -r["id"]), key=ordered)],
    "sort(ms).take(3).map(ms)": lambda rows: [row["ms"] for row in sorted(rows, key=ordered)[:3]],
    "reverse().map(id)": lambda rows: [row["id"] for row in rows[::-1]],
    "take_while(ms != null).map(id)": lambda rows: [r["id"] for r in takewhile(lambda r: r["ms"] is not None, rows)],
    "drop_while(ms != null).map(id)": lambda rows: [r["id"] for r in dropwhile(lambda r: r["ms"] is not None, rows)],
    "chunk(3).map(@.len())": lambda rows: [len(rows[at : at + 3]) for at in range(0, len(rows), 3)],
    "map(id).pairwise()": lambda rows: [[a["id"], b["id"]] for a, b in pairwise(rows)],
    "map(ms).lag()": lambda rows: [None, *(row["ms"] for row in rows)][: len(rows)],
    "enumerate().map([@.index, @.value.id])": lambda rows: [[n, row["id"]] for n, row in enumerate(rows)],
    "group(city, {n: count()}).map(n)": lambda rows: [len(group) for group in by_city(rows).values()],
    "row_number(-id, as: 'n').map(n)": lambda rows: [sum(o["id"] >= r["id"] for o in rows) for r in rows],
}  # fmt: skip

# The tail of a query whose answer is one value.
VALUES: dict[str, Callable[[list[Row]], Any]] = {
    "count()": len,
    "len()": len,
    "count(ms > 10)": lambda rows: sum(map(slow, rows)),
    "sum(ms)": lambda rows: sum(times(rows)),
    "map(ms).sum()": lambda rows: sum(times(rows)),
    "avg(ms)": lambda rows: sum(times(rows)) / len(times(rows)) if times(rows) else None,
    "min(ms)": lambda rows: min(times(rows), default=None),
    "max(ms)": lambda rows: max(times(rows), default=None),
    "max(city)": lambda rows: max((r["city"] for r in rows if "city" in r), default=None),
    "median(ms)": lambda rows: median(times(rows)) if times(rows) else None,
    "first().id": lambda rows: first_of([row["id"] for row in rows]),
    "last().id": lambda rows: first_of([row["id"] for row in rows[::-1]]),
    "nth(2).id": lambda rows: rows[2]["id"] if len(rows) > 2 else None,
    "find(ms > 10).id": lambda rows: first_of([row["id"] for row in rows if slow(row)]),
    "find(ms > 999)": lambda rows: None,
    "any(ms > 100)": lambda rows: any((row["ms"] or 0) > 100 for row in rows),
    "all(id > 0)": lambda rows: True,
    "all(ms > 1)": lambda rows: all(row["ms"] is not None and row["ms"] > 1 for row in rows),
    "min_by(ms).ms": lambda rows: min(rows, key=ordered)["ms"] if rows else None,
    "max_by(id).id": lambda rows: max((row["id"] for row in rows), default=None),
    "count_by(city)": lambda rows: dict(Counter(row.get("city", "null") for row in rows)),
    "group_by(city).transform_values(@.map(id))": lambda rows: {c: [r["id"] for r in g] for c, g in by_city(rows).items()},
    "index_by(city).transform_values(id)": lambda rows: {c: g[-1]["id"] for c, g in by_city(rows).items()},
    "fold(0, (t, r) => t + r.id)": lambda rows: sum(row["id"] for row in rows),
    "map(id).join('-')": lambda rows: "-".join(str(row["id"]) for row in rows),
    "map(id).to_json()": lambda rows: str([row["id"] for row in rows]).replace(" ", ""),
    "count_distinct(city)": lambda rows: len({row["city"] for row in rows if "city" in row}),
    "aggregate({n: count(), top: max(ms)})": lambda rows: {"n": len(rows), "top": max(times(rows), default=None)},
    "filter(ms > 10).count() + 1": lambda rows: sum(map(slow, rows)) + 1,
}  # fmt: skip


# Queries that are more than one chain; `{rows}` stands for the rows.
WHOLE: dict[str, Callable[[list[Row]], list[Any]]] = {
    "[{rows}.count(), {rows}.sum(ms)]": lambda rows: [[len(rows), sum(times(rows))]],
    "{{n: {rows}.count(), top: {rows}.max(ms)}}": lambda rows: [{"n": len(rows), "top": max(times(rows), default=None)}],
    "{rows}.count() -> n | {rows}.map({{id, n}})": lambda rows: [{"id": row["id"], "n": len(rows)} for row in rows],
    "let top = {rows}.max(ms) in {rows}.filter(ms == top).map(id)": lambda rows: [
        row["id"] for row in rows if row["ms"] == max(times(rows), default=None)
    ],
    "let slow = {rows}.filter(ms > 10) in {{n: slow.count(), ids: slow.map(id)}}": lambda rows: [
        {"n": sum(map(slow, rows)), "ids": [row["id"] for row in rows if slow(row)]}
    ],
    "{rows}.sum(ms) / 2 if {rows}.count() > 0 else 'none'": lambda rows: [sum(times(rows)) / 2 if rows else "none"],
    "f\"{{{rows}.count()}} rows\"": lambda rows: [f"{len(rows)} rows"],
    "match {rows}.count() with {{0 -> 'none', 1 -> 'one', _ -> 'many'}}": lambda rows: [
        {0: "none", 1: "one"}.get(len(rows), "many")
    ],
    "try {rows}.avg(ms) + 0 else -1": lambda rows: [sum(times(rows)) / len(times(rows)) if times(rows) else -1],
    "{rows} | map(id) | sum": lambda rows: [sum(row["id"] for row in rows)],
    "[r.id for r in {rows} if r.id > 4]": lambda rows: [row["id"] for row in rows if row["id"] > 4],
    "{rows}[*].id": lambda rows: [row["id"] for row in rows],
    "{rows}[* if ms > 10].id": lambda rows: [row["id"] for row in rows if slow(row)],
    "{rows}{{ms > 10}}.map(id)": lambda rows: [row["id"] for row in rows if slow(row)],
    "{rows}.map(id) + [0]": lambda rows: [*(row["id"] for row in rows), 0],
    "def half(x) = x / 2 in {rows}.map(half(id))": lambda rows: [row["id"] / 2 for row in rows],
    "{rows}.first() ?? 'empty'": lambda rows: [rows[0] if rows else "empty"],
}  # fmt: skip


def cases() -> list[Case]:
    """Return all cases over all rows."""
    made = []
    for topic, rows in (("rows", ROWS), ("no-rows", NONE), ("one-row", ONE)):
        for tail, answer in {**ELEMENTS, **VALUES}.items():
            for form, options, seen in (
                (f"$.rows().{tail}", {}, rows),
                (f"$.{tail}", {"stream": True}, rows),
                (f"$.rows().{tail}", {"reverse": True}, rows[::-1]),
            ):
                if topic != "rows" and options:
                    continue
                found = answer(seen)
                expected = found if tail in ELEMENTS else [found]
                case = over_rows(topic, form, rows, expected, nulls="emit", **options)
                if "reverse" in options:
                    # Spark's tasks begin at the first row; the engine refuses to go back.
                    case["modes"] = ["lines"]
                made.append(case)
        if topic == "rows":
            made += inside_of_values(rows)
        for written, answer in WHOLE.items():
            expected = answer(rows)
            query = written.format(rows="$.rows()")
            made.append(
                over_rows(f"{topic}-whole", query, rows, expected, nulls="emit")
            )
            query = written.format(rows="$")
            made.append(
                over_rows(
                    f"{topic}-whole", query, rows, expected, nulls="emit", stream=True
                )
            )
    return made


def inside_of_values(rows: list[Row]) -> list[Case]:
    """Return each query as a part of a value: its elements are an array there."""
    made = []
    for tail, answer in {**ELEMENTS, **VALUES}.items():
        found = answer(rows)
        made.append(
            over_rows("inside", f"{{all: $.rows().{tail}}}", rows, [{"all": found}])
        )
        made.append(
            over_rows("inside", f"[0, $.{tail}]", rows, [[0, found]], stream=True)
        )
    return made
