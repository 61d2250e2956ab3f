"""Slow reference of typed columns, with the parsers of other libraries.

Types are the shapes of `headrace.kernel.arrow.columns`. A number is kept as its text, an object
as its pairs, so that parsing loses nothing.
"""

import base64
import json
import math
import re
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Context

EXACT = Context(prec=5000)
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TIMESTAMP = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"([Tt ](?P<hour>\d\d):(?P<minute>\d\d)(:(?P<second>\d\d)(\.(?P<fraction>\d+))?)?"
    r"(?P<zone>[Zz]|[+-]\d\d(:?\d\d)?)?)?",
    re.ASCII,
)
NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Number(str):
    """A number as it is written."""

    __slots__ = ()


class Pairs(list):
    """An object with all its keys."""

    def last(self):
        """Return the last pair of each key."""
        return [
            pair
            for at, pair in enumerate(self)
            if all(pair[0] != later[0] for later in self[at + 1 :])
        ]


class MismatchError(Exception):
    """A value is not of its type."""


def parsed(line):
    return json.loads(
        line,
        parse_int=Number,
        parse_float=Number,
        object_pairs_hook=Pairs,
        parse_constant=lambda name: json.loads(f"<{name}>"),
    )


def slow_columns(lines, fields):
    """Return a row of values for each line that is not blank, None if it is bad.

    And for each ``"good"``, or whether it is at least JSON.
    """
    rows, verdicts = [], []
    for line in lines:
        if not line.strip(b" \t\r\n"):
            continue
        reader = Reader()
        try:
            row = reader.value(parsed(line), {"struct": fields})
        except ValueError:
            rows.append(None)
            verdicts.append(False)
            continue
        is_good = row is not None and not reader.mismatched
        verdicts.append("good" if is_good else True)
        rows.append(row)
    return rows, verdicts


class Reader:
    """Makes values of one row."""

    def __init__(self):
        self.mismatched = False

    def value(self, value, shape):
        if value is None:
            return None
        try:
            return self.typed(value, shape)
        except MismatchError:
            self.mismatched = True
            return None

    def typed(self, value, shape):
        if isinstance(shape, dict):
            ((kind, of),) = shape.items()
            return getattr(self, kind)(value, of)
        return getattr(self, shape)(value)

    def struct(self, value, fields):
        require(isinstance(value, Pairs))
        found = dict(value.last())
        return {name: self.value(found.get(name), shape) for name, shape in fields}

    def array(self, value, of):
        require(isinstance(value, list) and not isinstance(value, Pairs))
        return [self.value(element, of) for element in value]

    def map(self, value, of):
        require(isinstance(value, Pairs))
        return [(key, self.value(element, of)) for key, element in value.last()]

    def integer(self, value, size):
        require(isinstance(value, Number) and not re.search("[.eE]", value))
        number = int(value)
        require(-(1 << 8 * size - 1) <= number < 1 << 8 * size - 1)
        return number

    def decimal(self, value, of):
        precision, scale = of
        require(isinstance(value, str) and NUMBER.fullmatch(value))
        number = EXACT.create_decimal(value)
        scaled = EXACT.scaleb(number, scale)
        require(scaled == scaled.to_integral_value(context=EXACT))
        require(abs(scaled) < 10**precision)
        return number

    def boolean(self, value):
        require(isinstance(value, bool))
        return value

    def double(self, value):
        if isinstance(value, Number):
            require(math.isfinite(float(value)))
            return float(value)
        require(isinstance(value, str) and value in NOT_FINITE)
        return NOT_FINITE[value]

    def float(self, value):
        number = self.double(value)
        try:
            return struct.unpack("f", struct.pack("f", number))[0]
        except OverflowError:
            raise MismatchError from None

    def string(self, value):
        if isinstance(value, str):
            return str(value)
        return written(value)

    def binary(self, value):
        require(isinstance(value, str) and not isinstance(value, Number))
        try:
            return base64.b64decode(
                value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True
            )
        except ValueError:
            raise MismatchError from None

    def date(self, value):
        require(isinstance(value, str) and not isinstance(value, Number))
        require(DATE.fullmatch(value))
        return calendar(date.fromisoformat, value)

    def timestamp(self, value):
        if isinstance(value, Number) and not re.search("[.eE]", value):
            return calendar(
                lambda: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(value))
            )
        return self.instant(value)[0].replace(tzinfo=UTC)

    def timestamp_ntz(self, value):
        instant, zone = self.instant(value)
        require(zone is None)
        return instant

    def instant(self, value):
        require(isinstance(value, str) and not isinstance(value, Number))
        found = TIMESTAMP.fullmatch(value)
        require(found)
        fraction = found["fraction"] or ""
        instant = calendar(
            lambda: datetime.combine(
                date.fromisoformat(found["date"]), datetime.min.time()
            ).replace(
                hour=int(found["hour"] or 0),
                minute=int(found["minute"] or 0),
                second=int(found["second"] or 0),
                microsecond=int(fraction[:6].ljust(6, "0")),
            )
        )
        zone = found["zone"]
        if zone is not None and zone not in "Zz":
            digits = zone[1:].replace(":", "")
            hours, minutes = int(digits[:2]), int(digits[2:] or 0)
            require(hours <= 18 and minutes <= 59)
            offset = timedelta(hours=hours, minutes=minutes)
            instant = calendar(
                lambda: instant - offset if zone[0] == "+" else instant + offset
            )
        return instant, zone


def calendar(make, *args):
    try:
        return make(*args)
    except (ValueError, OverflowError):
        raise MismatchError from None


def require(condition):
    if not condition:
        raise MismatchError


def written(value):
    """Return a value as JSON without space, as it was written."""
    match value:
        case Number():
            return str(value)
        case Pairs():
            inside = (f"{written(key)}:{written(element)}" for key, element in value)
            return "{" + ",".join(inside) + "}"
        case list():
            return "[" + ",".join(map(written, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)
