"""Generated stream queries in both spellings: on the array of rows, and after ``$.rows()``."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.reference.generated.queries import (
    KINDS,
    Here,
    Maker,
    is_constant,
    is_refused,
)

COUNTS = ["0", "1", "2", "3", "7", "2000"]


class StreamMaker:
    """Generator of the stages of a query; ``@`` is a row until a `map` changes it."""

    def __init__(self, draw, *, of_rows):
        self.draw = draw
        self.shape = "row"
        # On the array of all rows, ``$`` is that array.
        self.maker = Maker(draw, Here("row", ""), rooted=of_rows)

    def choose(self, *choices):
        return self.maker.one_of(*choices)

    def argument(self, kind):
        if self.maker.rooted and self.draw(st.integers(0, 4)) == 4:
            # After ``$.rows()``, ``$`` is the element.
            return self.about("$." if self.shape == "row" else "$", kind)
        return self.maker.each(
            self.shape, lambda: self.maker.part(kind, 1), outer=False
        )

    def about(self, before, kind):
        with self.maker.inside(self.shape, before):
            made = self.maker.part(kind, 1)
        return f"e => {made}" if is_constant(made) else made

    def row_by_row(self):
        """Make a stage that runs row by row."""
        return self.choose(
            lambda: f"filter({self.argument('truth')})",
            self.mapped,
            lambda: f"{self.choose('take', 'skip')}({self.choose(*COUNTS)})",
            lambda: (
                f"{self.choose('unique_by', 'distinct_by')}({self.argument('text')})"
            ),
            lambda: self.choose("unique()", "compact()"),
        )

    def mapped(self):
        kind = self.draw(st.sampled_from(KINDS))
        method = self.choose("map", "map", "flat_map")
        made = f"{method}({self.argument(kind)})"
        self.shape = "scalar"
        return made

    def of_all(self):
        """Make a stage that needs all elements."""
        return self.choose(
            "sort()",
            "reverse()",
            lambda: f"sort({self.argument('number')})",
            lambda: f"{self.choose('first', 'last')}({self.choose(*COUNTS)})",
            "flatten()",
        )

    def reduced(self):
        """Make a single value of the stream."""
        return self.choose(
            "count()",
            "first()",
            "last()",
            lambda: f"count({self.argument('truth')})",
            lambda: (
                f"{self.choose('sum', 'avg', 'min', 'max')}({self.argument('number')})"
            ),
            lambda: f"{self.choose('min', 'max')}({self.argument('text')})",
            lambda: self.choose("sum()", "avg()", "min()", "max()"),
            lambda: f"{self.choose('find', 'any', 'all')}({self.argument('truth')})",
            lambda: (
                f"{self.choose('group_by', 'count_by', 'index_by')}({self.argument('text')})"
            ),
            lambda: f"{self.choose('min_by', 'max_by')}({self.argument('number')})",
            lambda: f"partition({self.argument('truth')})",
            lambda: f"nth({self.choose(*COUNTS)})",
        )


def stream_queries(*, of_rows):
    """Make a stream query."""
    made = _stream_queries(of_rows=of_rows)
    return made.filter(lambda query: not is_refused(query))


@st.composite
def _stream_queries(draw, *, of_rows):
    maker = StreamMaker(draw, of_rows=of_rows)
    steps = ["rows()"] if of_rows else []
    if of_rows and draw(st.integers(0, 7)) == 7:
        steps.append("reverse()")
    steps += [maker.row_by_row() for _ in range(draw(st.integers(0, 3)))]
    if draw(st.integers(0, 3)) == 3:
        steps.append(maker.of_all())
        if draw(st.booleans()):
            steps.append(maker.row_by_row())
    if draw(st.booleans()) or not steps:
        steps.append(maker.reduced())
        if draw(st.integers(0, 3)) == 3:
            steps.append(
                draw(st.sampled_from(["or(5)", "type()", "to_string()", "id"]))
            )
    return "$." + ".".join(steps)
