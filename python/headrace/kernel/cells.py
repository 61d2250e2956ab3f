r"""Lines of JSON as cells under columns, and bytes compressed: functions of the core.

>>> cells(b'{"a": 1.50}\n{"b": "x", "c": []}\n', ["a", "b"])
([['1.50', None], [None, 'x']], [(1, 'c')])
>>> new_columns(b'{"a": 1}\n{"b": 2, "a": 3}\n[4]\n')
['a', 'b', 'value']
>>> csv_header(["a", "b,c"]), csv_records(b'{"a": "x,y"}\n{"b": 1}\n', ["a"])
(b'a,"b,c"\r\n', (b'"x,y"\r\n', 1, 'b'))
"""

from __future__ import annotations

from headrace._native import Compressor, cells, csv_header, csv_records, new_columns

__all__ = ["VALUE", "Compressor", "cells", "csv_header", "csv_records", "new_columns"]

VALUE = "value"
"""The column of answers that are no objects."""
