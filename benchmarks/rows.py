"""Rows of the data sets: each function yields one kind of them, the same for the same `Random`.

Rows are put together from pools of ready pieces. A random number and a format
call for every field would take minutes for a gigabyte of wide rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from random import Random
from typing import TypeAlias, TypeVar

BLOCK = 4096

Item = TypeVar("Item")
RowBlocks: TypeAlias = Iterator[list[str]]
Shape: TypeAlias = Callable[[Random, int], RowBlocks]


def pick(random: Random, items: Sequence[Item]) -> Item:
    """Choose one; of `Random`, only `random()` is promised never to change."""
    return items[int(random.random() * len(items))]


def pool(make: Callable[[], str], size: int = 512) -> list[str]:
    """Make the pieces that rows are put together from."""
    return [make() for _ in range(size)]


def blocks(row: Callable[[int], str]) -> RowBlocks:
    """Hand out rows in blocks, numbered from 0 and without end."""
    for start in count(0, BLOCK):
        yield [row(number) for number in range(start, start + BLOCK)]


LEVELS = ["debug", "info", "info", "info", "warning", "error"]
WORDS = [
    "disk",
    "full",
    "retry",
    "sent",
    "cache",
    "miss",
    "login",
    "slow",
    "page",
    "ready",
    "lost",
    "open",
]
CITIES = ["Århus", "Berlin", "Kraków", "Lyon", "Osaka", "São Paulo", "Tromsø", "Wien"]
COUNTRIES = ["AT", "BR", "DE", "DK", "FR", "JP", "NO", "PL"]


def narrow(random: Random, _rows: int) -> RowBlocks:
    """Yield rows of a log: six plain fields."""

    def tail() -> str:
        level = pick(random, LEVELS)
        latency = round(random.random() * 100, 1)
        user = int(random.random() * 10_000)
        message = f"{pick(random, WORDS)} {pick(random, WORDS)}"
        return f'"level":"{level}","latency":{latency},"user":"u{user:04}","msg":"{message}"}}'

    tails = pool(tail, 4096)

    def row(number: int) -> str:
        clock = 1_700_000_000_123 + 7 * number
        return f'{{"id":{number},"ts":{clock},{tails[int(random.random() * 4096)]}'

    return blocks(row)


def wide(random: Random, _rows: int) -> RowBlocks:
    """Yield rows of a table: 50 short fields of all plain types."""

    def value(column: int) -> object:
        match column % 5:
            case 0:
                return int(random.random() * 1e9)
            case 1:
                return round(random.random() * 1e6, 4)
            case 2:
                return random.random() < 0.5
            case 3:
                return None if random.random() < 0.2 else pick(random, CITIES)
            case _:
                return (
                    f"{pick(random, WORDS)} {pick(random, WORDS)} {random.random():.6f}"
                )

    def fields(columns: range) -> str:
        return json.dumps(
            {f"col_{column:02}": value(column) for column in columns},
            ensure_ascii=False,
            separators=(",", ":"),
        )[1:-1]

    pools = [
        pool(partial(fields, range(start, start + 7))) for start in range(1, 50, 7)
    ]

    def row(number: int) -> str:
        pieces = ",".join([pick(random, pieces) for pieces in pools])
        return f'{{"id":{number},{pieces}}}'

    return blocks(row)


def nested(random: Random, _rows: int) -> RowBlocks:
    """Yield rows of an event store: objects in arrays in objects, six levels deep."""

    def text(words: int) -> str:
        return " ".join(pick(random, WORDS) for _ in range(words))

    def dump(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def user() -> str:
        return dump(
            {
                "name": f"{text(1)} {text(1)}",
                "quote": f'"{text(2)}"\n\t\\{text(2)}',
                "address": {
                    "city": pick(random, CITIES),
                    "country": pick(random, COUNTRIES),
                    "geo": {"lat": random.random() * 90, "lon": random.random() * 180},
                },
                "tags": [text(1) for _ in range(4)],
            }
        )

    def items() -> str:
        return dump(
            [
                {
                    "sku": f"{int(random.random() * 1e6):06}",
                    "price": round(random.random() * 500, 2),
                    "options": {"size": text(1), "stock": [{"shelf": text(1)}, None]},
                }
                for _ in range(14)
            ]
        )

    def trace() -> str:
        return dump({"steps": [{"at": text(2), "ok": True}] * 6, "note": text(40)})

    users, baskets, traces = pool(user), pool(items), pool(trace)

    def row(number: int) -> str:
        return (
            f'{{"id":{number},"user":{pick(random, users)},'
            f'"items":{pick(random, baskets)},"trace":{pick(random, traces)}}}'
        )

    return blocks(row)


def customer_count(rows: int) -> int:
    """Return the number of customers to which `rows` orders refer."""
    return max(1, rows // 10)


def orders(random: Random, rows: int) -> RowBlocks:
    """Yield orders; every one refers to a customer by `customer_id`."""
    customers = customer_count(rows)

    def tail() -> str:
        amount = round(random.random() * 900, 2)
        status = pick(random, ["open", "paid", "sent", "returned"])
        items = 1 + int(random.random() * 9)
        return (
            f'"amount":{amount},"currency":"EUR","status":"{status}","items":{items}}}'
        )

    tails = pool(tail, 4096)

    def row(number: int) -> str:
        customer = int(random.random() * customers)
        clock = 1_700_000_000 + number
        return (
            f'{{"order_id":{number},"customer_id":{customer},"ts":{clock},'
            f"{tails[int(random.random() * 4096)]}"
        )

    return blocks(row)


def customers(random: Random, rows: int) -> RowBlocks:
    """Yield the customers that `rows` orders refer to, each once."""

    def tail() -> str:
        return json.dumps(
            {
                "city": pick(random, CITIES),
                "country": pick(random, COUNTRIES),
                "segment": pick(random, ["home", "office", "school"]),
                "since": 2000 + int(random.random() * 25),
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )[1:]

    tails = pool(tail)

    def row(number: int) -> str:
        return (
            f'{{"customer_id":{number},"email":"c{number}@example.org",'
            f"{pick(random, tails)}"
        )

    wanted = customer_count(rows)
    for block in blocks(row):
        if wanted <= len(block):
            yield block[:wanted]
            return
        yield block
        wanted -= len(block)


def edges(random: Random, rows: int) -> RowBlocks:
    """Yield a graph whose degrees follow a power law with an exponent of 2.3.

    The fourth power of a uniform number makes the node of rank r appear in
    proportion to r**-0.75, which gives that exponent: the one of the web and
    of social networks.
    """
    nodes = max(2, rows // 10)
    predicates = ["knows", "follows", "cites", "likes"]

    def row(_number: int) -> str:
        start = int(nodes * random.random() ** 4)
        end = int(nodes * random.random() ** 4)
        return (
            f'{{"from":"n{start}","pred":"{pick(random, predicates)}","to":"n{end}"}}'
        )

    return blocks(row)


USERS = 54_000
TRACES = 1_000_000_007


def events(random: Random, _rows: int) -> RowBlocks:
    """Yield rows of a log with 7 countries and `USERS` users.

    `trace` is another number in every row, so that an order of it has no ties. The level
    is `fatal` in 1 % of the rows and `panic` in 0.002 %, the first row included.
    """
    countries = ["AT", "BR", "DE", "FR", "JP", "PL", "US"]

    def middle() -> str:
        return f'"country":"{pick(random, countries)}","ms":{round(random.random() * 1000, 1)},'

    middles = pool(middle, 4096)

    def row(number: int) -> str:
        trace = number * 654_188_429 % TRACES
        if trace % 50_000 == 0:
            level = "panic"
        else:
            level = "fatal" if trace % 100 == 1 else pick(random, LEVELS)
        return (
            f'{{"id":{number},"user":"u{int(random.random() * USERS):05}",'
            f'{middles[int(random.random() * 4096)]}"trace":{trace},"level":"{level}"}}'
        )

    return blocks(row)


def users(random: Random, _rows: int) -> RowBlocks:
    """Yield the users of `events`, each once if there are `USERS` rows."""

    def tail() -> str:
        return f'"plan":"{pick(random, WORDS)}","city":"{pick(random, CITIES)}"}}'

    tails = pool(tail)

    def row(number: int) -> str:
        return f'{{"user":"u{number:05}","seats":{number % 97},{pick(random, tails)}'

    return blocks(row)


TWEETED = [
    "おはよう😋✨✨",
    "RT @sent_by: えっそれは・・・一同",
    "no me lo puedo creer",
    'ça va? "très" bien',
    "line\nbreak",
    "C:\\temp",
    "https://t.example/PkCJAcSuYK",
    "#benchmark",
    "照れますがな",
    "Straße",
]


def tweets(random: Random, _rows: int) -> RowBlocks:
    """Yield statuses of a social network: nested, with long texts of many alphabets.

    `filter_level` is `high` in 1 % of the rows, the first one included. Identifiers are below
    2**53, since jq 1.6 rounds larger ones.
    """

    def dump(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def text(pieces: int) -> str:
        return " ".join(pick(random, TWEETED) for _ in range(pieces))

    def below(limit: float) -> int:
        return int(random.random() * limit)

    def person() -> dict[str, object]:
        name = f"{pick(random, WORDS)}_{below(1e6)}"
        image = f"http://images.example/profile_images/{below(1e15)}/normal.jpeg"
        return {
            "id": below(3e9),
            "name": text(1),
            "screen_name": name,
            "location": pick(random, CITIES),
            "description": text(10),
            "url": None if random.random() < 0.5 else f"http://t.example/{name}",
            "entities": {"description": {"urls": []}},
            "protected": False,
            "followers_count": below(1e5),
            "friends_count": below(1e4),
            "listed_count": below(100),
            "created_at": "Sat Feb 16 13:40:25 +0000 2013",
            "favourites_count": below(1e4),
            "utc_offset": None,
            "time_zone": None,
            "geo_enabled": random.random() < 0.5,
            "verified": random.random() < 0.02,
            "statuses_count": below(1e5),
            "lang": pick(random, ["en", "ja", "es", "fr"]),
            "contributors_enabled": False,
            "profile_background_color": "C0DEED",
            "profile_background_image_url": image.replace("profile", "background"),
            "profile_background_tile": False,
            "profile_image_url": image,
            "profile_image_url_https": image.replace("http", "https"),
            "profile_banner_url": image.replace("profile_images", "banners"),
            "profile_link_color": "0084B4",
            "profile_text_color": "333333",
            "default_profile": True,
            "following": False,
            "notifications": False,
        }

    def entities() -> dict[str, object]:
        mention = {"screen_name": "sent_by", "id": below(3e9), "indices": [3, 11]}
        link = {"url": text(1), "expanded_url": text(2), "indices": [20, 42]}
        return {
            "hashtags": [{"text": "benchmark", "indices": [43, 53]}],
            "symbols": [],
            "urls": [link] * (1 + below(2)),
            "user_mentions": [mention] * (1 + below(3)),
        }

    def status() -> dict[str, object]:
        return {
            "created_at": "Sun Aug 31 00:29:14 +0000 2014",
            "text": text(12),
            "source": '<a href="http://t.example/download/iphone" rel="nofollow">phone</a>',
            "truncated": False,
            "in_reply_to_status_id": None,
            "in_reply_to_screen_name": None,
            "user": person(),
            "geo": None,
            "coordinates": None,
            "retweet_count": below(1000),
            "favorite_count": below(1000),
            "entities": entities(),
            "lang": pick(random, ["en", "ja", "es", "fr"]),
        }

    statuses = pool(lambda: dump(status())[1:-1])
    repeated = pool(lambda: dump({"id": below(1e15), **status()}))

    def row(number: int) -> str:
        level = "high" if number * 37 % 100 == 0 else "low"
        whole = f'{{"id":{505_874_924_095_815 + number},{pick(random, statuses)},'
        if random.random() < 0.7:
            whole += f'"retweeted_status":{pick(random, repeated)},'
        return f'{whole}"favorited":false,"filter_level":"{level}"}}'

    return blocks(row)
