"""Operators: arithmetic, comparison, truth, kinds, casts, containment, each over a table of operands."""

from __future__ import annotations

import math
from typing import Any

from tests.conformance.generators.made import Case, fails, gives

LEAST, GREATEST = -(2**63), 2**63 - 1

NUMBERS: list[tuple[Any, Any]] = [
    (7, 2),
    (-7, 2),
    (7, -2),
    (6, 3),
    (0, 5),
    (1.5, 2),
    (2, 0.5),
    (-2.5, 0.75),
    (0.1, 0.2),
    (GREATEST, 1),
    (LEAST, -1),
    (3037000500, 3037000500),
    (9007199254740993, 9007199254740992),
    (1e300, 1e10),
    (4, 0),
    (0.5, 0),
]

OF_OTHER_KINDS: list[tuple[Any, Any, str]] = [
    ("a", 1, "string a {} number 1 cannot be computed"),
    (1, "a", "number 1 {} string a cannot be computed"),
    (None, 1, "null {} number 1 cannot be computed"),
    (1, None, "number 1 {} null cannot be computed"),
    (True, 1, "bool true {} number 1 cannot be computed"),
    ([1], 1, "cannot be computed"),
    ({"k": 1}, 2, "cannot be computed"),
    ({"k": 1}, {"k": 2}, "cannot be computed"),
]

VALUES: list[Any] = [
    None,
    False,
    True,
    0,
    0.0,
    3,
    -1.5,
    "",
    "x",
    "0",
    [],
    [0],
    {},
    {"k": None},
]


def is_number(value: Any) -> bool:
    """Tell numbers from bools."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(number: int) -> int | float:
    """Return an integer as the language has it: a decimal beyond 64 bits."""
    return number if LEAST <= number <= GREATEST else float(number)


def computed(sign: str, left: Any, right: Any) -> Any:
    """Compute with two numbers; None where the language gives an error."""
    if sign in "/%" and right == 0:
        return None
    if sign == "/":
        return finite(left / right)
    if sign == "%":
        if isinstance(left, int) and isinstance(right, int):
            return int(math.copysign(abs(left) % abs(right), left))
        return math.fmod(left, right)
    result = {"+": left + right, "-": left - right, "*": left * right}[sign]
    return whole(result) if isinstance(result, int) else finite(result)


def finite(number: float) -> float | None:
    """Return a number, None if it is not finite."""
    return number if math.isfinite(number) else None


def arithmetic() -> list[Case]:
    made = []
    for sign in "+-*/%":
        for left, right in NUMBERS:
            document = {"a": left, "b": right}
            answer = computed(sign, left, right)
            if answer is not None:
                made.append(gives("arithmetic", f"a {sign} b", document, answer))
            elif right == 0:
                made.append(
                    fails("arithmetic", f"a {sign} b", document, "division by zero")
                )
            else:
                made.append(fails("arithmetic", f"a {sign} b", document, "too large"))
    for sign in "+-*/%":
        for left, right, reason in OF_OTHER_KINDS:
            document = {"a": left, "b": right}
            shown = reason.format(sign)
            made.append(fails("arithmetic-kinds", f"a {sign} b", document, shown))
    made += [
        gives("joined", "a + b", {"a": "no", "b": "de"}, "node"),
        gives("joined", "a + b", {"a": "", "b": ""}, ""),
        gives("joined", "a + b", {"a": [1, [2]], "b": [None]}, [1, [2], None]),
        gives("joined", "a + b + a", {"a": [], "b": [0]}, [0]),
        fails("joined", "a - b", {"a": [1], "b": [1]}, "cannot be computed"),
        fails("joined", "a * b", {"a": "x", "b": "y"}, "cannot be computed"),
    ]
    for number in (5, -5, 0, 2.25, -0.5, LEAST):
        answer = whole(-number) if isinstance(number, int) else -number
        made.append(gives("negated", "-n", {"n": number}, answer))
    for value in (None, True, "5", [1], {}):
        made.append(fails("negated", "-v", {"v": value}, "-"))
    return made


def equal(left: Any, right: Any) -> bool:
    """Compare by value: numbers with numbers, keys in any order, never a bool with a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            equal(left[key], right[key]) for key in left
        )
    if is_number(left) and is_number(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def ordered(left: Any, right: Any) -> int | None:
    """Return -1, 0 or 1; None for values without an order."""
    of_one_kind = (
        (is_number(left) and is_number(right))
        or (isinstance(left, str) and isinstance(right, str))
        or (isinstance(left, bool) and isinstance(right, bool))
    )
    return (left > right) - (left < right) if of_one_kind else None


PAIRS: list[tuple[Any, Any]] = [
    (1, 2),
    (2, 1),
    (2, 2.0),
    (-1, 0.5),
    (9007199254740993, 9007199254740992.0),
    (0, -0.0),
    ("a", "b"),
    ("Z", "a"),
    ("10", "9"),
    ("é", "z"),
    ("a", "ab"),
    ("", ""),
    ("x", "x"),
    (False, True),
    (True, True),
    (1, True),
    (0, False),
    ("1", 1),
    (None, None),
    (None, 0),
    (None, False),
    ("", None),
    ([1, 2], [1, 2.0]),
    ([1, 2], [2, 1]),
    ([], []),
    ([1], [1, 1]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1, "b": None}),
    ({"a": [True]}, {"a": [1]}),
    ([], {}),
    ([3], 3),
    ("null", None),
]


def comparison() -> list[Case]:
    query = "[a == b, a != b, a < b, a <= b, a > b, a >= b]"
    made = []
    for left, right in PAIRS:
        order = ordered(left, right)
        answer = [equal(left, right), not equal(left, right)]
        answer += (
            [False] * 4
            if order is None
            else [order < 0, order <= 0, order > 0, order >= 0]
        )
        made.append(gives("comparison", query, {"a": left, "b": right}, answer))
    return made


def truth() -> list[Case]:
    made = []
    for value in VALUES:
        document = {"v": value}
        made += [
            gives("not", "[not v, not not v]", document, [not value, bool(value)]),
            gives("and", "[v and 1, 1 and v]", document, [bool(value)] * 2),
            gives("or", "v or 'other'", document, value or "other"),
            gives("or", "v or 0", document, value or 0),
            gives(
                "coalesce",
                "v ?? 'other'",
                document,
                "other" if value is None else value,
            ),
            gives(
                "or-method",
                "v.or('other')",
                document,
                "other" if value is None else value,
            ),
            gives("if", "1 if v else 2", document, 1 if value else 2),
            gives("if-without-else", "'yes' if v", document, "yes" if value else None),
            gives("where", "'yes' where v", document, "yes" if value else None),
        ]
    return made


KINDS = {
    "null": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool),
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def kinds() -> list[Case]:
    affirmed = ", ".join(f"v is {kind}" for kind in KINDS)
    denied = ", ".join(f"v is not {kind}" for kind in KINDS)
    made = []
    for value in VALUES:
        answer = [is_kind(value) for is_kind in KINDS.values()]
        (kind,) = (kind for kind, is_kind in KINDS.items() if is_kind(value))
        made += [
            gives("is", f"[{affirmed}]", {"v": value}, answer),
            gives("is-not", f"[{denied}]", {"v": value}, [not each for each in answer]),
            gives("type", "v.type()", {"v": value}, kind),
            gives(
                "match-kind",
                "match v with {"
                + ", ".join(f"{each} -> '{each}'" for each in KINDS)
                + "}",
                {"v": value},
                kind,
            ),
        ]
    return made


def casts() -> list[Case]:
    made = []
    for text in ("42", "-7", "0", "0012", "+5"):
        made.append(gives("as-int", "v as int", {"v": text}, int(text)))
        made.append(gives("as-float", "v as float", {"v": text}, float(text)))
    made += [
        gives("as-int", "v as int", {"v": number}, math.trunc(number))
        for number in (3.9, -3.9, 0.5, 1e3, -0.25)
    ]
    for text in ("2.5", "-1e3", ".5", "1e-2"):
        made.append(gives("as-float", "v as float", {"v": text}, float(text)))
        made.append(gives("as-number", "v as number", {"v": text}, float(text)))
        made.append(gives("as-int", "v as int", {"v": text}, math.trunc(float(text))))
    made += [
        gives("as-int", "v as int", {"v": value}, int(value)) for value in (True, False)
    ]
    for value in ("", "x", "1x", "1 2", [1], {"a": 1}):
        made.append(fails("as-int", "v as int", {"v": value}, "cannot be cast to int"))
        made.append(
            fails("as-float", "v as float", {"v": value}, "cannot be cast to float")
        )
    for value in VALUES:
        made.append(gives("as-bool", "v as bool", {"v": value}, bool(value)))
        made.append(gives("as-null", "v as null", {"v": value}, None))
        if isinstance(value, dict):
            made.append(gives("as-object", "v as object", {"v": value}, value))
        else:
            made.append(
                fails("as-object", "v as object", {"v": value}, "cast to object")
            )
    for value, text in (
        (None, "null"),
        (True, "true"),
        (12, "12"),
        (-0.5, "-0.5"),
        ("as is", "as is"),
        ([1, "a"], '[1,"a"]'),
        ({"k": [None]}, '{"k":[null]}'),
    ):
        made.append(gives("as-string", "v as string", {"v": value}, text))
        made.append(gives("as-string", "v.to_string()", {"v": value}, text))
    made += [
        gives("as-array", "v as array", {"v": value}, [value])
        for value in (1, "a", False, {"k": 1})
    ]
    made.append(gives("as-array", "v as array", {"v": [1, [2]]}, [1, [2]]))
    return made


CONTAINERS: list[tuple[Any, Any, bool]] = [
    (["a", "b"], "b", True),
    (["a", "b"], "c", False),
    ([1, 2.0], 2, True),
    ([1, 2], "1", False),
    ([[1], 2], [1], True),
    ([None], None, True),
    ([], None, False),
    ("banana", "nan", True),
    ("banana", "Nan", False),
    ("banana", "", True),
    ({"a": None}, "a", True),
    ({"a": 1}, "b", False),
]


def containment() -> list[Case]:
    made = []
    for container, item, answer in CONTAINERS:
        document = {"c": container, "i": item}
        made += [
            gives("in", "i in c", document, answer),
            gives("includes", "c.includes(i)", document, answer),
            gives("contains", "c.contains(i)", document, answer),
        ]
        if not isinstance(item, list):
            made.append(gives("has", "c has i", document, answer))
            made.append(gives("has", "c.has($.i)", document, answer))
    for container, items in (
        (["a", "b", "c"], ["c", "a"]),
        (["a"], ["a", "b"]),
        (["a"], []),
        ("banana", ["an", "b"]),
        ("banana", ["an", "x"]),
        ({"a": 1, "b": None}, ["a", "b"]),
        ({"a": 1}, ["a", "b"]),
    ):
        answer = all(item in container for item in items)
        document = {"c": container, "i": items}
        made.append(gives("has-all", "c has i", document, answer))
        made.append(gives("has-all", "c.has_all(i)", document, answer))
    for text, part in (
        ("Disk ERROR", "error"),
        ("disk", "DISK"),
        ("error", "Disk ERROR"),
        ("", "x"),
        ("x", ""),
        ("ÄRGER", "ärg"),
        (125, 2),
        (12, "3"),
        (None, "ull"),
    ):
        shown = [str(each) if each is not None else "null" for each in (text, part)]
        answer = shown[1].lower() in shown[0].lower()
        made.append(gives("resembles", "t ~= p", {"t": text, "p": part}, answer))
    return made


def cases() -> list[Case]:
    """Return all cases of operators."""
    return [
        *arithmetic(),
        *comparison(),
        *truth(),
        *kinds(),
        *casts(),
        *containment(),
    ]
