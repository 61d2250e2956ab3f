"""Rows and queries for which every engine must give the same answer."""

import gzip
import json

import headrace

ROWS = b"".join(
    json.dumps(row).encode() + b"\n"
    for row in [
        {"id": 1, "k": "a", "x": 0.1, "t": [1, 2]},
        {"id": 2, "k": "b", "x": 0.2, "t": []},
        {"id": 3, "k": "a", "x": 1e16, "t": [2, 3]},
        {"id": 4, "k": None, "x": 1, "t": [4]},
        {"id": 5, "k": "c", "x": -1e16, "t": [1, 5, 6]},
        {"id": 6, "k": "b", "x": 3, "t": [0]},
        {"id": 7, "x": "none", "t": [7, 7]},
        {"id": 8, "k": "a", "x": 0.3, "t": [2]},
    ]
)
SPACED = b'{"id": 9,  "k": "\\u0061", "x": 1.50, "t": [ 1 ]}\r\n'
BLANK = b"\n  \n"
BAD = b'{"id": 10, "k": \n'
HALF = ROWS.index(b'{"id": 5')
CONTENT = b"\xef\xbb\xbf" + ROWS[:HALF] + BLANK + SPACED + ROWS[HALF:] + SPACED + ROWS

USERS = (
    b'{"k": "a", "name": "Ada"}\n{"k": "b", "name": "Bo"}\n{"k": "a", "name": "Al"}\n'
)

QUERIES = [
    "$.id",
    "$",
    "{id, k}",
    "k",
    "$.t[*]",
    "x + 1",
    "id / t.len()",
    "$.rows()",
    "$.rows().filter(id > 3)",
    "$.rows().filter(k == 'a').map({id, x})",
    "$.rows().flat_map(t)",
    "$.rows().flat_map(t).map(60 / @)",
    "$.rows().flat_map([$, $]).unique()",
    "$.rows().count()",
    "$.rows().filter(id > 3).count()",
    "$.rows().sum(x)",
    "$.rows().map(x).sum()",
    "$.rows().avg(x)",
    "$.rows().min(x)",
    "$.rows().max(x)",
    "$.rows().map(x).min()",
    "$.rows().sort(x).map(id)",
    "$.rows().sort(-id).take(3)",
    "$.rows().sort()",
    "$.rows().sort(k)",
    "$.rows().sort(-k)",
    "$.rows().sort(k, x).map(id)",
    "$.rows().sort(-k, -x).map([k, id])",
    "$.rows().sort(k, -id).map(id)",
    "$.rows().sort(-k, x).map([k, id])",
    "$.rows().sort(-t, k, -x)",
    "$.rows().sort(id % 2, -t[0], r => -r.x)[*].id",
    "$.rows().sort(-k, 60 / (id - 3))",
    "$.rows().sort($.x).map($.id)",
    "$.rows().sort_by(r => -r.x)[*].id",
    "$.rows().sort((a, b) => a.id > b.id).map(id)",
    "$.rows().map(k).sort()",
    "$.rows().flat_map(t).sort()",
    "$.rows().filter(id > 2).map({k, t}).sort(k).flat_map(t)",
    "$.rows().sort(t).filter(id > 3).map($.t[*])",
    "$.rows().sort(60 / (id - 3)).map(id)",
    "$.rows().sort(x).map(60 / (id - 3))",
    "$.rows().flat_map(t).map(60 / @).sort()",
    "$.rows().sort(x - $.rows().avg(id)).map(id)",
    "$.rows().sort(k).take(2).map(id)",
    "$.rows().min_by(id)",
    "$.rows().max_by(x)",
    "$.rows().group_by(k)",
    "$.rows().group_by($.id % 3)",
    "$.rows().group_by(r => [r.k, r.x])",
    "$.rows().flat_map(t).group_by(@)",
    "$.rows().group_by(60 / (id - 3))",
    "$.rows().filter(id > 100).group_by(k)",
    "$.rows().filter(id > 100).group_by(k).values().map(@.len())",
    "$.rows().index_by(k)",
    "$.rows().index_by(id).values().map({id, k})",
    "$.rows().index_by(id).values().map(60 / (id - 3))",
    "$.rows().group_by(k).transform_values(@.sum(id))",
    "$.rows().group_by(k).transform_values(@.len()).entries().map(@[1])",
    "$.rows().group_by(k).transform_values(60 / (@.len() - 4))",
    "$.rows().group_by(k).values()",
    "$.rows().group_by(k).keys()",
    "$.rows().group_by(k).entries().map({k: @[0], n: @[1].len()})",
    "$.rows().group_by(k).entries().map({k: @[0], n: @[1].len()}).sort(-n).map(k)",
    "$.rows().group_by(k).values().flat_map(@).map(id).take(3)",
    "$.rows().group_by(k).values().map(@.map(60 / (id - 3))).take(1)",
    "$.rows().group_by(k).values().map(@.len()).sum()",
    "$.rows().group_by(k).values().map(@.map(x).find(@ == 3))",
    "$.rows().group_by(k).to_pairs()[*].val",
    "$.rows().group_by(k).values()[*].len()",
    "$.rows().group_by(k).values()[0].len()",
    "$.rows().group_by(k).values().filter(@.len() > $.id)",
    "$.rows().group_by(k).count()",
    "$.rows().group_by(k).a.map(id)",
    "$.rows().count_by(k)",
    "$.rows().flat_map(t).count_by(@)",
    "$.rows().count_by([k, id % 2])",
    "$.rows().count_by(x).entries().sort(-@[1]).map(@[0])",
    "$.rows().count_by(60 / (id - 3)).values().sum()",
    "$.rows().count_by(k).map($.a)",
    "$.rows().approx_count_distinct(k)",
    "$.rows().group(k, {n: count(), s: sum(x), m: avg(id), top: max(x), low: min(id)})",
    "$.rows().group(k, odd: id % 2, {n: count(x > 2), all: @, ids: @.map(id)}).sort(-n)",
    "$.rows().group(k, {s: sum(60 / (id - 3)), n: count()})",
    "$.rows().group(60 / (id - 3), {n: count()})",
    "$.rows().group(k, {m: median(x), q: quantile(id, 0.9), d: count_distinct(x)})",
    "$.rows().group(k, {m: stddev(t)})",
    "$.rows().group($.k, {n: count($.id > 3)}).map(n)",
    "$.rows().filter(id > 100).group(k, {n: count()})",
    "$.rows().filter(id > 100).aggregate({n: count(), s: sum(x), m: median(x)})",
    "$.rows().aggregate({n: count(), per: sum(id) / count(), last: @.last().id})",
    "$.rows().flat_map(t).group(v: @, {n: count()})",
    "$.rows().unique_by(k).group(k, {n: count()})",
    "$.rows().median(x)",
    "$.rows().quantile(id, 0.5)",
    "$.rows().median(t)",
    "$.rows().stddev(60 / (id - 3))",
    "$.rows().histogram(id, 2)",
    "$.rows().mode(k)",
    "$.rows().rank(-x, by: k).map([id, rank])",
    "$.rows().unique_by(k)",
    "$.rows().unique_by(k).map(id)",
    "$.rows().unique()",
    "$.rows().unique().count()",
    "$.rows().unique_by(x).map(60 / (id - 3))",
    "$.rows().unique_by(60 / (id - 3)).map(id)",
    "$.rows().map({k, odd: id % 2}).unique()",
    "$.rows().map(60 / (id - 3)).unique()",
    "$.rows().unique_by(id).filter(x > 0).skip(2).map({id, x})",
    "$.rows().unique_by([k, x]).unique_by(k).map(id)",
    "$.rows().filter(id > 1).unique_by(id).sum(x)",
    "$.rows().unique_by(id).group_by(k)",
    "$.rows().map(k).unique()",
    "$.rows().filter(id > 1).unique_by(k).take(2)",
    "$.rows().flat_map(t).unique()",
    "$.rows().flat_map(t).map(60 / @).unique()",
    "$.rows().take(3)",
    "$.rows().skip(3)",
    "$.rows().filter(id > 2).take(3).map(id)",
    "$.rows().filter(id > 2).skip(2).take(3).map(id)",
    "$.rows().flat_map(t).take(4)",
    "$.rows().flat_map(t).map(60 / @).take(9)",
    "$.rows().map(id).take_while(@ < 5)",
    "$.rows().map(id).drop_while(@ < 5)",
    "$.rows().first()",
    "$.rows().filter(id > 4).first()",
    "$.rows().first(3)",
    "$.rows().last()",
    "$.rows().filter(id < 5).last(2)",
    "$.rows().unique_by(k).last(2)",
    "$.rows().nth(4).id",
    "$.rows().filter(id > 2)[2].id",
    "$.rows()[2:5].map(id)",
    "$.rows()[-3:].map(id)",
    "$.rows().find(k == 'b')",
    "$.rows().any(id > 7)",
    "$.rows().all(id < 5)",
    "$.rows().find_one(id == 4)",
    "$.rows().find_one(k == 'a')",
    "$.rows().reverse().map(id)",
    "$.rows().map(id).reverse()",
    "$.rows().map(x).rolling_sum(2)",
    "$.rows().pairwise()",
    "$.rows().map(id).cummax()",
    "$.rows().filter(id > 3).enumerate()",
    "$.rows().zip_streams($.rows().map(id))",
    "$.rows().filter(id > 4).zip_streams($.rows().map(k), longest: true)",
    "{n: $.rows().count(), s: $.rows().sum(x)}",
    "{f: $.rows().first().id, s: $.rows().max(id)}",
    "$.rows().filter(id > $.rows().avg(id))",
    "$.rows().map(60 / (id - 3)).sum()",
    "{a: $.rows().map(60 / (id - 8)).sum(), b: $.rows().map(60 / (id - 3)).sum()}",
    "$.rows().sum(x).nothing",
    "$.rows().filter(id > 100).sum(x)",
    "$.rows().filter(id > 100).avg(x)",
    "$.rows().filter(id > 100).min(x)",
    "$.rows().filter(id > 100).first()",
]

JOINS = [
    "$.lookup(@users, on: k == k)",
    "$.join(@users, on: k == k).map({id, name})",
    "$.left_join(@users, on: k == k).count()",
    "$.filter(id > 2).lookup(@users, on: k == k).sum(x)",
    "$.filter(id > 2).join(@users, on: k == k).take(3)",
    "$.filter(id > 2).join(@users, on: k == k).sort(-id).take(2)",
    "$.diff(@users, on: k == k).map(id)",
    "$.intersect(@users.filter(name == 'Bo'), on: k == k).map(id)",
    "$.filter(id > @users.count())",
    "$.filter(k in @users.map(k)).map({id, all: @users.count()})",
    "$.join($.filter(id < 3), on: k == k).map(id)",
    "@users.count()",
    "@users.map(name)",
    "{users: @users.count(), rows: $.count()}",
    "$.map(id).zip_streams(@users)",
]


LARGE_JOINS = [
    "$.lookup(@rows, on: k == k)",
    "$.lookup(@rows.filter(id > 2), on: k == k, as: 'row').map({k, found: row.id})",
    "$.filter(id > 1).map({k, id}).lookup(@rows.map({k, x}), on: k == k).map(60 / (id - 3))",
    "$.lookup(@rows.flat_map([{k, t}, {k: id, t}]), on: id == k).count_by(t)",
    "$.lookup(@rows.map(k), on: k == @)",
    "$.lookup(@rows.map(k), on: k == @, as: 'row')",
    "$.lookup(@rows.map(60 / (id - 3)), on: k == @, as: 'row')",
    "$.diff(@rows, on: k == k)",
    "$.diff(@rows.filter(id == 3), on: k == k).skip(1).map(60 / (id - 3))",
    "$.intersect(@rows.filter(id > 4), on: [k, x] == [k, x]).sum(id)",
    "$.intersect(@rows, on: id == t[0]).unique_by(k)",
    "$.map(k).intersect(@rows, on: @ == k)",
    "$.flat_map(t).diff(@rows, on: @ == id)",
    "$.join(@rows, on: k == k)",
    "$.join(@rows, on: k == k).map(id)",
    "$.left_join(@rows, on: k == k).count()",
    "$.left_join(@rows.filter(id > 6), on: k == k)",
    "$.left_join(@rows, on: [k, id] == [k, x], as: 'row').filter(row == null)",
    "$.join(@rows, on: k == k, as: 'row').map(60 / (row.id - id))",
    "$.join(@rows, on: k == k, as: 'row').flat_map(t).map(60 / @).count_by(@)",
    "$.join(@rows, on: k == k).filter(id > 3).map({k, x}).sum(x)",
    "$.join(@rows.map({k, x: x * 1e300}), on: k == k).map(x * 1e8).sum()",
    "$.join(@rows, on: k == k, as: 'row').map([row.id, id]).sort(-@).take(4)",
    "$.join(@rows, on: k == k).sort(x).map(id)",
    "$.join(@rows, on: 60 / (id - 3) == id)",
    "$.join(@rows, on: k == 60 / (id - 3))",
    "$.map(60 / (id - 3)).join(@rows.map({id, y: id}), on: @ == id)",
    "$.map({k, x: 60 / (id - 3)}).left_join(@rows.map(k), on: k == @, as: 'row')",
    "$.map(k).join(@rows, on: @ == k)",
    "$.map(k).intersect(@rows, on: @ == k).count_by(@)",
    "$.flat_map([$, $]).join(@rows, on: k == k, as: 'row').map(row.id)",
    "$.flat_map([$, {k}]).left_join(@rows, on: k == k, as: 'row')",
    "$.flat_map([id, $]).join(@rows, on: id == id)",
    "$.join(@rows, on: id == id).map(k)",
    "$.join(@rows, on: k == k).skip(3).map(id)",
    "$.join(@rows, on: k == k).unique_by(id).map(id)",
    "$.lookup(@users, on: k == k).join(@rows, on: k == k).map({id, name})",
    "$.lookup(@rows, on: k == k).take(3)",
    "$.lookup(@rows, on: k == k).diff(@rows, on: id == k).map(id)",
]
"""Joins of rows with others that are more."""


def write_files(folder):
    """Write several files: plain, of blocks, compressed as a whole, empty."""
    plain, second, blocks, squeezed, empty = (
        folder / name
        for name in ["1.jsonl", "2.jsonl", "3.jsonl.zst", "4.jsonl.gz", "5.jsonl"]
    )
    plain.write_bytes(CONTENT)
    second.write_bytes(ROWS + BLANK)
    with headrace.LineWriter(blocks, block_bytes=100) as writer:
        writer.write_lines(ROWS)
    squeezed.write_bytes(gzip.compress(ROWS))
    empty.write_bytes(b"")
    return [plain, second, blocks, squeezed, empty]


def write_bad_rows(folder):
    """Write two files with bad rows in the middle, one of them a long one."""
    first, second = folder / "bad1.jsonl", folder / "bad2.jsonl"
    first.write_bytes(CONTENT[:900] + b"\n" + BAD + ROWS + b"\xff\n" + ROWS)
    second.write_bytes(ROWS + BAD * 3 + b'{"long": "%s"}\n' % (b"x" * 3000) + ROWS)
    return [first, second]


def write_users(folder):
    """Write the right side of joins."""
    users = folder / "users.jsonl"
    users.write_bytes(USERS)
    return users
