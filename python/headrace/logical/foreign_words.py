"""Function names of jq, SQL, Python and JavaScript, with the hint for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.suggestion import nearest

if TYPE_CHECKING:
    from collections.abc import Collection

_OURS = {
    "add": "sum", "array_agg": "collect", "ascii_downcase": "lower", "ascii_upcase": "upper",
    "average": "avg", "concat": "chain", "date_add": "add_time", "date_diff": "time_diff",
    "date_format": "format_time", "dateadd": "add_time", "datediff": "time_diff", "dow": "weekday", "endswith": "ends_with", "every": "all", "from_entries": "from_pairs",
    "ifnull": "coalesce", "isnull": "missing", "join_by": "join", "lcase": "lower", "length": "len",
    "limit": "take", "lowercase": "lower", "ltrimstr": "strip_prefix", "map_values": "transform_values", "mean": "avg",
    "fromdateiso8601": "to_epoch", "mktime": "to_epoch", "timestamp": "to_time", "to_datetime": "to_time", "to_timestamp": "to_time",
    "now_ms": "now", "nvl": "coalesce", "offset": "skip", "order_by": "sort",
    "regexp_matches": "re_match", "regexp_replace": "replace_all_re", "rtrimstr": "strip_suffix", "select": "filter",
    "size": "len", "some": "any", "startswith": "starts_with", "strip": "trim",
    "substr": "slice", "substring": "slice", "test": "re_match", "to_entries": "to_pairs", "to_lower": "lower",
    "to_lower_case": "lower", "to_upper": "upper", "to_upper_case": "upper", "tojson": "to_json",
    "tonumber": "to_number", "tostring": "to_string", "typeof": "type", "ucase": "upper", "uniq": "unique",
    "uppercase": "upper", "where": "filter", "with_entries": "transform_values",
}  # fmt: skip

_PHRASES = {
    "date": "to_time",
    "def": "write: def f(x) = x * 2 in f(3)",
    "head": "write .first(3) or .take(3)",
    "if": "write: value if test else other",
    "ilike": "write text ~= part, or .re_match(pattern)",
    "insert": "write .append(x) or .prepend(x); for a field $.a.set(x)",
    "like": "write text ~= part, or .re_match(pattern); ..like({a: 1}) finds objects",
    "pop": "write xs[:-1] for the rest, .last() for the element",
    "push": "write .append(x)",
    "remove_at": "write $.xs[2].delete()",
    "rows": "write $.rows(), at the start of a question about all rows",
    "shift": "write xs[1:] for the rest, .first() for the element",
    "sub": "write .replace_re(pattern, text), or .replace(part, text)",
    "gsub": "write .replace_all_re(pattern, text), or .replace_all(part, text)",
    "tail": "write .last(3)",
    "to_date": "to_time",
    "todate": "to_time",
    "top": "write .sort(-key).take(3)",
    "unshift": "write .prepend(x)",
}
"""Hints for names of other languages; a single word is the name of a builtin."""


def hint_for(name: str, known: Collection[str]) -> str:
    """Return the hint for an unknown function; empty if no name is near.

    >>> hint_for("lenght", ["len", "upper"]), hint_for("toUpperCase", ["len", "upper"])
    ('did you mean len?', 'did you mean upper?')
    """
    phrase = _PHRASES.get(name.lower(), "")
    if phrase and (" " in phrase or phrase in known):
        return f"did you mean {phrase}?" if phrase in known else phrase
    near = nearest(name, [*known, *_OURS])
    ours = None if near is None else _OURS.get(near, near)
    return f"did you mean {ours}?" if ours in known else ""


TOO_MANY = {
    "unique": "write .unique_by(k)",
    "distinct": "write .distinct_by(k)",
    "count_by": "write .count_by([k, v]) for several keys",
    "group_by": "write .group_by([k, v]) for several keys",
    "index_by": "write .index_by([k, v]) for several keys",
    "max_by": "write .max_by([k, v]) for several keys",
    "min_by": "write .min_by([k, v]) for several keys",
    "unique_by": "write .unique_by([k, v]) for several keys",
    "distinct_by": "write .distinct_by([k, v]) for several keys",
    "reverse": "write .sort(-key) to sort the other way round",
    "lower": "write .starts_with(s), .contains(s) or .re_match(pattern) to compare",
    "len": "write .count(test) to count elements",
    "first": "write .find(test) for the first with a condition",
    "round": 'write f"{x:.2f}" for two decimals',
}
"""Hints for functions with too many arguments."""
